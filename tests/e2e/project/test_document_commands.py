"""The commands in README.md and the guides: those of the first hour run from an empty home, and all of them are there.

RTRAIN_TEST_ALL=1 also runs what takes longer: the first commands of README.md.
"""

import os
import re
import shlex
import subprocess

import pytest

from conftest import ALL, RTRAIN, SOURCE
from test_documents import DOCUMENTS, fences

GUIDES = SOURCE / "modules" / "rtrain" / "guide"
# Options that a command passes on: to the script, to its program, or to a file that is a bundle.
PASSES_ON = {"launch", "bundle", "completion"}
COMMENT = re.compile(r"\s+#.*$")


@pytest.fixture
def empty_home(rtrain, tmp_path):
    """Runs lines of a shell in a home without any file, in which `rtrain` is on the PATH."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    (programs / "rtrain").symlink_to(RTRAIN)
    kept = {name: rtrain.env[name] for name in ("TMPDIR", "RTRAIN_RUNTIME_DIR", "RTRAIN_HOST_SAMPLE_S")}
    env = {**kept, "HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "LANG": "C.UTF-8"}
    env |= {name: value for name, value in os.environ.items() if name.startswith(("OMP_", "RTRAIN_LIB", "RTRAIN_PATH"))}

    def run(lines):
        script = "\n".join(["set -e", *(f"echo {shlex.quote('$ ' + line)} >&2\n{line}" for line in lines)])
        result = subprocess.run(["bash", "-c", script], cwd=home, env=env, capture_output=True, text=True, timeout=600)
        assert result.returncode == 0, result.stdout + result.stderr
        return result

    run.home = home
    return run


def commands_of(path, section=None):
    """The lines of a document's shell blocks, or of one section."""
    text = path.read_text()
    if section:
        text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def test_the_first_hour_is_as_its_guide_tells_it(empty_home):
    result = empty_home(commands_of(GUIDES / "start.md"))
    results = empty_home.home / "rtrain_results"
    assert {"first", "slow", "pair", "copied"} < {path.name for path in results.iterdir()}
    project = empty_home.home / "flats"
    assert (project / "prices.parquet").stat().st_size > 0 and (project / "best.safetensors").stat().st_size > 0
    assert len(re.findall(r'"prediction":', result.stdout)) == 2, "a price for each flat"
    assert "#SBATCH" in result.stdout


@pytest.mark.skipif(not ALL, reason="trains on images for a minute: RTRAIN_TEST_ALL=1")
def test_the_first_commands_of_the_readme_run(empty_home):
    result = empty_home(commands_of(SOURCE / "README.md", "Start"))
    assert "FINISHED" in result.stderr and (empty_home.home / "mnist" / "README.md").exists()


def test_the_readme_is_a_front_page():
    lines = (SOURCE / "README.md").read_text().splitlines()
    assert len(lines) <= 120
    assert "scripts/test      # sets up, builds, runs the tests" in lines, "continuous integration runs this command"
    for picture in re.findall(r"!\[[^\]]+\]\((\S+)\)", "\n".join(lines)):
        assert (SOURCE / picture).stat().st_size < 120_000, picture


def written_commands():
    """{(command, option)} of the shell blocks of all documents, each with a line that has it."""
    found = {}
    for path in DOCUMENTS:
        lines = [line for language, text in fences(path) if language == "sh" for line in text.splitlines()]
        for line in lines:
            for part in re.split(r"&&|\||;|\$\(", COMMENT.sub("", line)):
                words = part.replace(")", " ").split()
                if words[:1] == ["rtrain"] and len(words) > 1 and words[1] not in PASSES_ON:
                    verb = words[2] if words[1] == "checkpoint" else None
                    options = words[: words.index("--")] if "--" in words else words
                    for word in options[2:]:
                        if word.startswith("--"):
                            found.setdefault((words[1], verb, word.split("=")[0]), f"{path.name}: {line}")
                    found.setdefault((words[1], verb, None), f"{path.name}: {line}")
    return found


def test_the_commands_and_options_in_documents_exist(rtrain):
    found, helps = written_commands(), {}
    assert len(found) > 60
    for (command, verb, option), line in found.items():
        words = tuple(word for word in (command, verb) if word)
        if words not in helps:
            result = rtrain(*words, "--help")
            assert result.returncode == 0, line
            helps[words] = result.stdout
        assert option is None or re.search(rf"(^|[\s,]){re.escape(option)}\b", helps[words]), line


# --- the messages of guide/troubleshooting ---


def quoted_messages():
    """The messages in the first column of the tables; a word in capitals stands for a part that differs."""
    rows = re.findall(r"^\| (.+?) \|", (GUIDES / "troubleshooting.md").read_text(), re.MULTILINE)
    return [message for row in rows for message in re.findall(r"`([^`]+)`", row) if " " in message]


def without_joints(text):
    """The text of a source file in which a message of several literals is one."""
    text = re.sub(r"['\"]\s*\n\s*(?:\.\.\s*)?['\"]", "", text)
    return text.replace('\\"', '"').replace("\\'", "'")


@pytest.fixture(scope="module")
def sources():
    folders = (SOURCE / "host", SOURCE / "modules")
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".cpp", ".h", ".lua")]
    return "\n".join(without_joints(path.read_text(errors="replace")) for path in files)


def test_there_are_messages():
    assert len(quoted_messages()) > 20


@pytest.mark.parametrize("message", quoted_messages())
def test_a_quoted_message_is_one_of_rtrains(message, sources):
    parts = [part.strip(" '") for part in re.split(r"\b[A-Z]{2,}\b|\bN\b", message)]
    for part in parts:
        assert len(part) < 5 or part in sources, part
