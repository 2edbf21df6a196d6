#!/usr/bin/env python3
"""Which sources a compiler may read together, as one file that includes them: most of its time goes into headers.

    scripts/source_groups.py      CMake code that says so of the sources in host/ and tests/, for scripts/build

Sources of one folder are read together, so that a new one changes few groups. What is left of small folders is read with
that of their neighbours. Files that define the same name are kept apart: the second file would see the first one's.
"""

import itertools
import pathlib
import re

MOST_FILES = 8  # in a group: limits the time to compile a change of one of them
# A name that another file may define too, on a line without indentation: of a type, or the last word before ( { = ;
TYPE = re.compile(r"^(?:class|struct|union|enum(?: class)?) (\w+)", re.MULTILINE)
DEFINED = re.compile(
    r"^(?:\[\[\w+\]\] )?(?!(?:namespace|class|struct|union|enum|TEST\w*|TYPED_TEST\w*|INSTANTIATE_\w+|static_assert)\b)(?=\w)"
    r"(?:[\w:<>,&*\[\] ]+ )?[*&]?(\w+)(?:\[.*\])? ?[({=;]",
    re.MULTILINE,
)


def names_of(source):
    """The names that a file defines, according to its lines without indentation."""
    text = pathlib.Path(source).read_text()
    return set(DEFINED.findall(text)) | set(TYPE.findall(text))


def packed(groups, most):
    """Joins (sources, names) pairs into such pairs of at most that many sources, in their order, without a common name."""
    made = []
    for sources, names in groups:
        for members, defined in made:
            if len(members) + len(sources) <= most and not names & defined:
                members += sources
                defined |= names
                break
        else:
            made.append(([*sources], {*names}))
    return made


def together(sources, most):
    """Lists of at most that many of the sources, in their order, without two that define the same name."""
    return [members for members, _ in packed((([source], names_of(source)) for source in sources), most)]


def part_of(folder):
    """The folder whose sources are compiled alike: host/engine for host/engine/files, and tests/unit."""
    parts = folder.parts
    return pathlib.Path(*parts[: 2 if parts[0] == "host" or parts[1] == "unit" else 3])


def main():
    root = pathlib.Path(__file__).parent.parent.resolve()
    sources = itertools.chain((root / "host").rglob("*.cpp"), (root / "tests").rglob("*.cpp"))
    folders = sorted((source.parent.relative_to(root), source.name, source) for source in sources)
    for part, inner in itertools.groupby(folders, key=lambda row: part_of(row[0])):
        groups = []
        for _, members in itertools.groupby(inner, key=lambda row: row[0]):
            groups += packed((([source], names_of(source)) for _, _, source in members), MOST_FILES)
        for number, (members, _) in enumerate(packed(groups, MOST_FILES)):
            files = "\n  ".join(f"${{PROJECT_SOURCE_DIR}}/{source.relative_to(root)}" for source in members)
            print(f"set_source_files_properties(\n  {files}\n  PROPERTIES UNITY_GROUP {'-'.join(part.parts)}-{number})")


if __name__ == "__main__":
    main()
