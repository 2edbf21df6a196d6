"""guide/deepdive.md: what each row of its tables names exists."""

import re

import pytest

from conftest import SOURCE, Rtrain

GUIDE = SOURCE / "modules/rtrain/guide/deepdive.md"


def tables():
    """Yields (header, [cells of a row, …]) of the second columns, which name places."""
    for block in re.findall(r"(?:^\|.*\n)+", GUIDE.read_text(), re.MULTILINE):
        first, _, *rows = [re.split(r"(?<!\\) \| ", line.strip("| \n")) for line in block.splitlines()]
        yield first[1], [cells[1] for cells in rows]


def named(text):
    return re.findall(r"`([^`]+)`", text)


ROWS = [(header, row) for header, rows in tables() for row in rows]
NAME = re.compile(r"(?:train|torch|data)(?:\.\w+)+")


@pytest.fixture(scope="module")
def exists(tmp_path_factory):
    """The names of rtrain's modules in the tables → whether they are there."""
    rtrain = Rtrain(tmp_path_factory.mktemp("names"))
    names = sorted({name[0] for _, row in ROWS for text in named(row) if (name := NAME.match(text))})
    script = "local train, torch, data = require 'rtrain', require 'torch', require 'rtrain.data'\n" + "".join(
        f"print('{name}', pcall(function() return assert({name}) end))\n" for name in names
    )
    result = rtrain("exec", rtrain.script(script))
    assert result.returncode == 0, result.stderr
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    return {line[0]: line[1] == "true" for line in lines}


def test_there_are_rows():
    assert len(ROWS) > 40


@pytest.mark.parametrize("header, row", ROWS)
def test_the_place_of_a_row_exists(exists, header, row):
    """A place is a piece of the example at the head of the table, a file, a command, or a name of rtrain's modules."""
    places = 0
    for text in named(row):
        if examples := named(header):
            assert text in (SOURCE / examples[0]).read_text()
        elif re.fullmatch(r"[\w./]+/[\w./]+\.\w+", text):
            assert (SOURCE / text).is_file()
        elif text.startswith("rtrain "):
            assert f"| `{text}" in (SOURCE / "modules/rtrain/guide/commands.md").read_text()
        elif name := NAME.match(text):
            assert exists[name[0]]
        else:
            continue
        places += 1
    assert places > 0
