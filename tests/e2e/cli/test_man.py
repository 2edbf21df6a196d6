"""Manual pages: the text that man shows, without warnings."""

import re
import subprocess

import pytest

from conftest import SOURCE


def listed_commands(rtrain):
    return re.findall(r"^  ([a-z][a-z-]*)  ", rtrain("--help").stdout, re.M)


def shown(rtrain, page, columns=80, locale="C.UTF-8"):
    """Returns the text that man makes of a page. A warning of groff fails the test."""
    env = {**rtrain.env, "MANWIDTH": str(columns), "LC_ALL": locale, "MANROFFSEQ": ""}
    done = subprocess.run(
        ["man", "--warnings", "-P", "cat", "-l", page], env=env, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, ""), page
    return re.sub(".\b", "", done.stdout)


@pytest.fixture
def pages(rtrain):
    folder = rtrain.folder / "man1"
    written = rtrain("man", "-o", folder)
    assert (written.returncode, written.stdout) == (0, ""), written.stderr
    return folder


def test_every_command_has_a_page_with_all_its_options(rtrain, pages):
    commands = listed_commands(rtrain)
    assert {path.name for path in pages.iterdir()} == {"rtrain.1", *(f"rtrain-{name}.1" for name in commands)}
    for command in commands:
        text = shown(rtrain, pages / f"rtrain-{command}.1")
        assert f"rtrain {command} [OPTIONS]" in text
        for line in re.findall(r"^  (-\S+)", rtrain(command, "--help").stdout, re.M):
            for option in line.split(","):
                assert re.search(rf"^ +(-[\w-]+, )?{re.escape(option)}\b", text, re.M), (command, option)


def test_the_page_of_rtrain_lists_commands_statuses_and_variables(rtrain, pages):
    text = shown(rtrain, pages / "rtrain.1")
    assert re.findall(r"^       rtrain-([\w-]+)\(1\)", text, re.M) == listed_commands(rtrain)
    table = (SOURCE / "modules/rtrain/guide/failures.md").read_text().split("| exit | meaning |")[1].split("\n\n")[0]
    flat = " ".join(text.split())
    for status, meaning in re.findall(r"^\| (\d+) \| (.+) \|$", table, re.M):
        assert f" {status} {meaning.replace('`', '')} " in flat.replace("`", ""), status
    for variable in rtrain.json("env", "--variables"):
        assert re.search(rf"^       {variable['name']}\b", text, re.M), variable


def test_a_page_needs_neither_a_wide_terminal_nor_utf8(rtrain, pages):
    assert "never, auto or must" in " ".join(shown(rtrain, pages / "rtrain-run.1", columns=200, locale="C").split())


def test_one_page_goes_to_the_output(rtrain, pages):
    assert rtrain("man", "run").stdout == (pages / "rtrain-run.1").read_text()
    assert rtrain("man").stdout == (pages / "rtrain.1").read_text()


def test_a_command_that_there_is_not(rtrain):
    refused = rtrain("man", "rnu")
    assert refused.returncode == 2
    assert "did you mean 'run'?" in refused.stderr
