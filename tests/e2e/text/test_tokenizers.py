"""Tokenizers of every component give what Python's tokenizers gives, and write files that it reads."""

import json
import os
import pathlib
import subprocess

import pytest

from conftest import ALL, SOURCE, nightly

HERE = pathlib.Path(__file__).parent


def transformers_python():
    """The Python that has tokenizers; skips the test without one."""
    python = (
        os.environ.get("RTRAIN_TRANSFORMERS_PYTHON")
        or subprocess.run(
            [SOURCE / "scripts" / "setup", "--print-transformers"], capture_output=True, text=True, check=True
        ).stdout.strip()
    )
    if not pathlib.Path(python).exists():
        pytest.skip("no tokenizers: scripts/setup --oracle --transformers installs it")
    return python


def run_oracle(script, *args):
    subprocess.run([transformers_python(), HERE / script, *map(str, args)], check=True, timeout=3000)


def compare(rtrain, count):
    folder = rtrain.folder / "tokenizers"
    folder.mkdir()
    run_oracle("tokenizer_oracle.py", folder, count)
    files = sorted(folder.glob("*.json"))
    assert len(files) >= 40
    script = SOURCE / "tests" / "e2e" / "scripts" / "compare_tokenizers.lua"
    result = rtrain("exec", script, folder, *files, timeout=3000)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip().endswith(" 0 different"), result.stdout
    for file in files:
        check = "import sys; from tokenizers import Tokenizer; print(Tokenizer.from_file(sys.argv[1]).to_str())"
        texts = [
            subprocess.run(
                [transformers_python(), "-c", check, path], capture_output=True, text=True, check=True
            ).stdout
            for path in (file, file.with_suffix(".saved"))
        ][: 2 if ALL else 0]
        assert not texts or json.loads(texts[0]) == json.loads(texts[1]), file
    return int(result.stdout.split()[-4])


def test_a_sample_of_strings(rtrain):
    assert compare(rtrain, 25) > 5_000


@nightly
def test_a_hundred_thousand_strings(rtrain):
    assert compare(rtrain, 2_200) > 100_000


def test_chat_templates(rtrain):
    lines = rtrain.folder / "templates"
    run_oracle("template_oracle.py", lines)
    result = rtrain("exec", SOURCE / "tests" / "e2e" / "scripts" / "compare_templates.lua", lines)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "144 compared, 0 different", result.stdout


def test_folders_of_other_formats(rtrain):
    folder = rtrain.folder / "models"
    folder.mkdir()
    run_oracle("pretrained_oracle.py", folder)
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    result = rtrain("exec", SOURCE / "tests" / "e2e" / "scripts" / "compare_pretrained.lua", folder, *names)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "112 compared, 0 different", result.stdout


def test_training_of_bpe(rtrain):
    folder = rtrain.folder / "training"
    folder.mkdir()
    run_oracle("train_oracle.py", folder)
    names = sorted(path.stem for path in folder.glob("*.want"))
    result = rtrain("exec", SOURCE / "tests" / "e2e" / "scripts" / "train_tokenizers.lua", folder, *names)
    assert result.returncode == 0, result.stderr
    assert len(names) == 5
    for name in names:
        want, got = (json.loads((folder / f"{name}.{kind}").read_text()) for kind in ("want", "got"))
        assert got["model"]["merges"] == want["model"]["merges"], name
        assert got["model"] == want["model"], name
        assert got["added_tokens"] == want["added_tokens"], name
