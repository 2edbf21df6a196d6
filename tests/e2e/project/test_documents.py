"""The documents: their scripts run and print the output that is shown, and the paths and names in them exist.

tests/modules/docs/examples_test.lua runs the Lua blocks without a call of fit().
"""

import re

import pytest

from conftest import SOURCE

# Series of train.log and of rtrain's own sampling: their names look like paths.
SERIES_KEY = re.compile(r"host/\w+_(percent|bytes|per_s)")
# A trainer's fit; a preprocessor's has a dataset as its argument.
TRAINS = re.compile(r":fit(\(\)|\s*\{)")
FOLDERS = ("host", "modules", "tests", "examples", "scripts", "packaging")
DOCUMENTS = sorted([*SOURCE.glob("*.md"), *(path for folder in FOLDERS for path in (SOURCE / folder).rglob("*.md"))])
each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(SOURCE)))


def fences(path):
    """Returns (language, text) of the fenced blocks of a document."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def training_scripts():
    """Returns the Lua blocks that call fit(), each with the following block if that is text."""
    for path in DOCUMENTS:
        blocks = fences(path)
        for number, (language, text) in enumerate(blocks):
            if language == "lua" and TRAINS.search(text):
                shown = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
                yield pytest.param(
                    text, shown[1] if shown[0] == "text" else None, id=f"{path.relative_to(SOURCE)}-{number}"
                )


def commented_scripts():
    """Returns the same blocks of the documentation comments in the library's modules."""
    for path in sorted((SOURCE / "modules").rglob("*.lua")):
        blocks = re.findall(r"^---```lua\n(.*?)^---```$", path.read_text(), re.MULTILINE | re.DOTALL)
        for number, text in enumerate(blocks):
            if TRAINS.search(text):
                yield pytest.param(
                    re.sub(r"^---", "", text, flags=re.MULTILINE), id=f"{path.relative_to(SOURCE)}-{number}"
                )


def masked(text):
    """Removes the parts that differ between runs and machines: numbers, names of runs, folders."""
    text = re.sub(r"\b(\w+)-\d{8}-[0-9a-f]{4}\b", r"\1-NAME", text)
    text = re.sub(r"\S*/(\w+-NAME)", r"FOLDER/\1", text)
    return sorted(re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "N", line) for line in text.splitlines() if line.strip())


def skip_without_trees(script):
    for name in ("xgboost", "lightgbm"):
        if f"require '{name}'" in script:
            pytest.importorskip(name, reason=f"the wheel {name} is not here: scripts/test --oracle installs it")


@pytest.mark.parametrize("script, shown", training_scripts())
def test_a_training_script_runs_and_prints_what_the_document_shows(rtrain, script, shown):
    skip_without_trees(script)
    result = rtrain.run_ok(script)
    assert rtrain.json("show", "last")["status"] == "FINISHED"
    if shown is not None:
        assert masked(result.stdout + result.stderr) == masked(shown)


@pytest.mark.parametrize("script", commented_scripts())
def test_an_example_of_the_reference_runs(rtrain, script):
    skip_without_trees(script)
    rtrain.run_ok(script)


@each_document
def test_the_files_that_a_document_names_exist(path):
    text = path.read_text()
    names = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)", text)
    outside_code = re.sub(r"`[^`\n]*`", "", text)
    links = [link for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", outside_code) if "://" not in link]
    missing = [name for name in names if not (SOURCE / name).exists() and not SERIES_KEY.fullmatch(name)]
    missing += [link for link in links if not (path.parent / link).exists()]
    assert not missing
