"""The documents: their scripts run and print what stands there, and what they name exists.

Blocks of Lua without a call of fit() are run by tests/modules/examples_test.lua.
"""

import os
import pathlib
import re
import subprocess

import pytest
from conftest import script_module

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("host", "modules", "tests", "examples", "scripts", "packaging")
DOCUMENTS = sorted([*SOURCE.glob("*.md"), *(path for folder in FOLDERS for path in (SOURCE / folder).rglob("*.md"))])
each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(SOURCE)))


def fences(path):
    """(language, text) of the fenced blocks of a document."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def training_scripts():
    """Blocks of Lua that call fit(), with the block behind it if that is text."""
    for path in DOCUMENTS:
        blocks = fences(path)
        for number, (language, text) in enumerate(blocks):
            if language == "lua" and ":fit" in text:
                shown = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
                yield pytest.param(
                    text, shown[1] if shown[0] == "text" else None, id=f"{path.relative_to(SOURCE)}-{number}")


def commented_scripts():
    """The same in the documentation comments of the library's modules."""
    for path in sorted((SOURCE / "modules").rglob("*.lua")):
        blocks = re.findall(r"^---```lua\n(.*?)^---```$", path.read_text(), re.MULTILINE | re.DOTALL)
        for number, text in enumerate(blocks):
            if ":fit" in text:
                yield pytest.param(re.sub(r"^---", "", text, flags=re.MULTILINE), id=f"{path.relative_to(SOURCE)}-{number}")


def masked(text):
    """The text without what differs between runs and machines: numbers, names of runs, folders."""
    text = re.sub(r"\b(\w+)-\d{8}-[0-9a-f]{4}\b", r"\1-NAME", text)
    text = re.sub(r"\S*/(\w+-NAME)", r"FOLDER/\1", text)
    return sorted(re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "N", line) for line in text.splitlines() if line.strip())


@pytest.mark.parametrize("script, shown", training_scripts())
def test_a_training_script_runs_and_prints_what_the_document_shows(rtrain, script, shown):
    result = rtrain.run_ok(script)
    assert rtrain.json("show", "last")["status"] == "FINISHED"
    if shown is not None:
        assert masked(result.stdout + result.stderr) == masked(shown)


@pytest.mark.parametrize("script", commented_scripts())
def test_an_example_of_the_reference_runs(rtrain, script):
    rtrain.run_ok(script)


@each_document
def test_the_files_that_a_document_names_exist(path):
    text = path.read_text()
    names = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)", text)
    links = [link for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in link]
    missing = [name for name in names if not (SOURCE / name).exists()]
    missing += [link for link in links if not (path.parent / link).exists()]
    assert not missing


LINT = script_module("lint-texts")
num_words = LINT.num_words


def cells_of(text):
    """The cells of the tables, outside of fenced blocks."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [cell for line in text.splitlines() for cell in LINT.cells_of(line)]


@each_document
def test_a_cell_of_a_table_holds_at_most_fifteen_words(path):
    if path.name != "ABSENT.md":  # generated: lists of names
        assert [cell for cell in cells_of(path.read_text()) if num_words(cell) > 15] == []


def test_long_cells_are_found():
    assert num_words("`a b c` is one, this cell has seven") == 7
    assert cells_of("| a | " + "word " * 16 + "|\n```\n| b |\n```")[0] == "a"
    assert [num_words(cell) for cell in cells_of("| a | " + "word " * 16 + "|")] == [1, 16]


def test_the_architecture_fits_100_columns():
    assert [line for line in (SOURCE / "ARCHITECTURE.md").read_text().splitlines() if len(line) > 100] == []


@each_document
def test_the_commands_and_options_that_a_document_names_exist(rtrain, path):
    commands = re.findall(r"^  (\w+)", rtrain("--help").stdout.partition("Subcommands:")[2], re.MULTILINE)
    helps = {command: rtrain(command, "--help").stdout for command in commands}
    for line in path.read_text().splitlines():
        row = re.match(r"\| `rtrain (\w+)", line)
        if row:  # of a table: the options that it names anywhere are this command's
            assert row[1] in commands, line
            parts = [(row[1], line)]
        else:
            parts = [part for part in re.findall(r"\brtrain (\w+)([^`#|]*)", line) if part[0] in commands]
        for command, text in parts:
            text = text.partition(" -- ")[0]  # behind it stands what is the script's own
            for option in re.findall(r"(?<![\w-])(--[a-z][a-z-]*|-[a-z])(?![\w-])", text):
                assert re.search(rf"(?<![\w-]){option}(?![\w-])", helps[command]), f"{command} has no {option}: {line}"


def test_the_pytest_command_works_whichever_python_comes_first(tmp_path):
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho No module named pytest >&2\nexit 1\n")
    other.chmod(0o755)
    (command,) = re.findall(r"`(RTRAIN=\S+ [^`]*-m pytest [^`]*)`", (SOURCE / "CONTRIBUTING.md").read_text())
    command = command.replace("-k name", "--collect-only -q -p no:cacheprovider")
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(command, shell=True, cwd=SOURCE, env=env, capture_output=True, text=True)
    assert result.returncode == 0 and "test_ddp.py::" in result.stdout, result.stdout + result.stderr


def test_the_first_example_of_the_readme_is_short():
    script, *_ = [text for language, text in fences(SOURCE / "README.md") if language == "lua"]
    assert len(script.splitlines()) <= 30
