#!/usr/bin/env python3
"""Which sources a compiler may read together, as one file that includes them: most of its time goes into headers.

    scripts/source_groups.py      CMake code that says so of the sources in host/ and tests/, for scripts/build

Sources of one folder are read together, so that a new one changes few groups. Files that define the same name are kept
apart: what one file keeps for itself, the next one would see.
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


def together(sources, most):
    """Lists of at most that many of the sources, in their order, without two that define the same name."""
    made = []  # sources, names
    for source in sources:
        names = names_of(source)
        for members, defined in made:
            if len(members) < most and not names & defined:
                members.append(source)
                defined |= names
                break
        else:
            made.append(([source], names))
    return [members for members, _ in made]


def main():
    root = pathlib.Path(__file__).parent.parent.resolve()
    sources = itertools.chain((root / "host").rglob("*.cpp"), (root / "tests").rglob("*.cpp"))
    by_folder = sorted(sources, key=lambda source: (source.parent, source.name))
    for folder, members in itertools.groupby(by_folder, key=lambda source: source.parent):
        for number, group in enumerate(together(members, MOST_FILES)):
            name = "-".join([*folder.relative_to(root).parts, str(number)])
            files = "\n  ".join(f"${{PROJECT_SOURCE_DIR}}/{source.relative_to(root)}" for source in group)
            print(f"set_source_files_properties(\n  {files}\n  PROPERTIES UNITY_GROUP {name})")


if __name__ == "__main__":
    main()
