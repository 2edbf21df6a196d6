"""Runs a linter of scripts/ over a tree that is made up."""

import subprocess

import pytest

from conftest import SOURCE


@pytest.fixture
def lint(tmp_path):
    """Runs a script of the lint over a tree of the given files, with this repository's layer table; returns exit code,
    output."""

    def run(script, files):
        table = (SOURCE / "ARCHITECTURE.md").read_text()
        for path, text in {**({"ARCHITECTURE.md": table} if script == "lint-layers" else {}), **files}.items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = subprocess.run([SOURCE / "scripts" / script, tmp_path], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    return run
