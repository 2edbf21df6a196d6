"""The phrases that scripts/lint finds: each row of scripts/words.txt matches its example and not its ordinary text."""

import subprocess

import pytest

from conftest import SOURCE, script_module

SCRIPT = SOURCE / "scripts" / "check_words"


def rows():
    return list(script_module("check_words").phrases())


@pytest.mark.parametrize(
    "pattern, instead, found, ordinary", rows(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_phrase_is_found_and_ordinary_words_are_not(pattern, instead, found, ordinary):
    assert instead and pattern.search(found) and not pattern.search(ordinary)


def test_a_planted_phrase_fails_with_its_line_and_what_to_write(tmp_path):
    good, bad = tmp_path / "good.lua", tmp_path / "bad.h"
    good.write_text("-- The name is taken.\n")
    bad.write_text("// One.\n// The ranks meet here, beside the file.\n")
    assert subprocess.run([SCRIPT, good]).returncode == 0
    result = subprocess.run([SCRIPT, good, bad], capture_output=True, text=True)
    assert result.returncode == 1
    assert f"{bad}:2: 'meet': write synchronize, rendezvous: // The ranks meet here" in result.stdout
    assert f"{bad}:2: 'beside': write next to, alongside" in result.stdout and str(good) not in result.stdout


def test_the_lint_reads_the_list():
    assert "scripts/check_words" in (SOURCE / "scripts" / "lint").read_text()
