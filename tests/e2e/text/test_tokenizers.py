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
    for file in files if ALL else []:
        check = "import sys; from tokenizers import Tokenizer; print(Tokenizer.from_file(sys.argv[1]).to_str())"
        texts = [
            subprocess.run(
                [transformers_python(), "-c", check, path], capture_output=True, text=True, check=True
            ).stdout
            for path in (file, file.with_suffix(".saved"))
        ]
        assert json.loads(texts[0]) == json.loads(texts[1]), file
    return int(result.stdout.split()[-4])


def test_a_sample_of_strings(rtrain):
    assert compare(rtrain, 25) > 5_000


@nightly
def test_a_hundred_thousand_strings(rtrain):
    assert compare(rtrain, 2_200) > 100_000


def test_what_truncation_cuts_off(rtrain):
    folder = rtrain.folder / "truncation"
    folder.mkdir()
    run_oracle("truncation_oracle.py", folder, 600 if ALL else 60)
    result = rtrain("exec", SOURCE / "tests" / "e2e" / "scripts" / "compare_truncation.lua", folder, timeout=600)
    assert result.returncode == 0, result.stderr
    compared, parts, different = (int(word) for word in result.stdout.split() if word.isdigit())
    assert compared >= 1050 and parts > 10_000 and different == 0, result.stdout


def test_patterns_with_sets_in_sets(rtrain):
    """Oniguruma loses characters of several bytes in a few intersections of negated sets, such as [^[[^']]&&[^\\H]]."""
    lines = rtrain.folder / "patterns"
    run_oracle("pattern_oracle.py", lines, 2000 if ALL else 150)
    result = rtrain("exec", SOURCE / "tests" / "e2e" / "scripts" / "compare_patterns.lua", lines, timeout=600)
    assert result.returncode == 0, result.stderr
    compared, different = (int(word) for word in result.stdout.split("\n")[-2].split() if word.isdigit())
    assert compared >= 164 * 12 and different <= (compared / 1000 if ALL else 0), result.stdout


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


@pytest.fixture(scope="module")
def learnt_by_tokenizers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    run_oracle("train_oracle.py", folder)
    return folder


def trained(rtrain, folder, prefix):
    """Learns the cases whose names begin so. Of each: its name, the two files, and the tokens of the texts with them."""
    names = sorted(path.stem for path in folder.glob(f"{prefix}-*.want"))
    result = rtrain("exec", SOURCE / "tests" / "e2e" / "scripts" / "train_tokenizers.lua", folder, *names)
    assert result.returncode == 0, result.stderr
    for name, line in zip(names, result.stdout.splitlines(), strict=True):
        want, got = (json.loads((folder / f"{name}.{kind}").read_text()) for kind in ("want", "got"))
        yield name, want, got, [int(count) for count in line.split("\t")[1:]]


def test_training_of_bpe(rtrain, learnt_by_tokenizers):
    cases = list(trained(rtrain, learnt_by_tokenizers, "bpe"))
    assert len(cases) == 5
    for name, want, got, _ in cases:
        assert got["model"]["merges"] == want["model"]["merges"], name
        assert got["model"] == want["model"], name
        assert got["added_tokens"] == want["added_tokens"], name


def test_training_of_word_piece(rtrain, learnt_by_tokenizers):
    """With the same order of "##x" all ids are equal, else nearly as many tokens cover the texts."""
    cases = list(trained(rtrain, learnt_by_tokenizers, "word"))
    assert len(cases) == 72
    for name, want, got, counts in cases:
        if not name.endswith("-own"):
            assert got["model"] == want["model"], name
            continue
        tokens, tokens_wanted = got["model"]["vocab"].keys(), want["model"]["vocab"].keys()
        assert {t for t in tokens if len(t) == 1} == {t for t in tokens_wanted if len(t) == 1}, name
        assert abs(len(tokens) - len(tokens_wanted)) <= max(1, 0.01 * len(tokens_wanted)), name
        assert abs(counts[0] - counts[1]) <= max(3, 0.005 * counts[1]), name


def test_training_of_unigram(rtrain, learnt_by_tokenizers):
    """Pieces and scores are equal, but for characters that were left out: tokenizers gives them the lowest score, plus
    0.0001, 0.0002 and so on, in the order of a hash table."""
    cases = list(trained(rtrain, learnt_by_tokenizers, "unigram"))
    assert len(cases) == 36
    for name, want, got, _ in cases:
        assert got["model"]["unk_id"] == want["model"]["unk_id"], name
        (pieces, scores), (pieces_wanted, scores_wanted) = (zip(*made["model"]["vocab"]) for made in (got, want))
        assert sorted(pieces) == sorted(pieces_wanted), name
        if None in scores_wanted:  # infinities, which tokenizers itself cannot read
            assert name == "unigram-lines-empty"
            continue
        assert scores == pytest.approx(scores_wanted, abs=1e-9, rel=0), name
        longer, longer_wanted = (
            {piece: score for piece, score in made["model"]["vocab"] if len(piece) > 1} for made in (got, want)
        )
        assert longer == pytest.approx(longer_wanted, abs=1e-9, rel=0), name
