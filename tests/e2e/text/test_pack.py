"""text.pack: documents as blocks of equal length, and examples/gpt2_pretrain.lua, which trains on them."""

import json
import os
import random

import pytest

from conftest import SOURCE
from test_finetune import KILL

EXAMPLE = (SOURCE / "examples" / "gpt2_pretrain.lua").read_text()
SMALL = {
    "n_layer": 1,
    "n_embd": 32,
    "n_head": 2,
    "length": 32,
    "vocab_size": 280,
    "batch_size": 2,
    "accumulate": 2,
    "steps": 12,
    "warmup_steps": 2,
    "report_steps": 1,
    "save_steps": 4,
}

PACK = """
local data, json, text = require 'rtrain.data', require 'json', require 'text'
local options = json.decode(arg[3])
options.tokenizer, options.folder = text.Tokenizer.from_file(arg[1]), 'tokens'
local packed = text.pack(data.read_json(arg[2]), options)
for row in packed:iter_rows() do
  print(json.encode {row.input_ids:tolist(), row.position_ids:tolist(), row.labels:tolist()})
end
"""


@pytest.fixture(autouse=True)
def cache(rtrain):
    """The folder of tokens, where a script names none."""
    rtrain.env["XDG_CACHE_HOME"] = str(rtrain.folder / "cache")


def tokenizer_of(path, words):
    """Writes a tokenizer of these words; returns their ids."""
    ids = {"?": 0, "<end>": 1, **{word: i + 2 for i, word in enumerate(words)}}
    model = {"type": "WordLevel", "vocab": ids, "unk_token": "?"}
    path.write_text(json.dumps({"model": model, "pre_tokenizer": {"type": "WhitespaceSplit"}}))
    return ids


def documents_of(words, count, seed=7):
    chosen = random.Random(seed)
    return [" ".join(chosen.choices(words, k=chosen.randrange(0, 40))) for _ in range(count)]


def blocks_of(of_words, documents, length, separator):
    """Ids, positions and labels of each block."""
    ids, begins = [], set()
    for document in documents:
        begins.add(len(ids))
        ids += [of_words[word] for word in document.split()] + separator
    out = []
    for start in range(0, len(ids) - length + 1, length):
        positions, at = [], 0
        for place in range(start, start + length):
            at = 0 if place in begins or place == start else at + 1
            positions.append(at)
        block = ids[start : start + length]
        out.append([block, positions, [-100 if at == 0 else each for each, at in zip(block, positions)]])
    return out


def pack(rtrain, path, **options):
    return rtrain("exec", rtrain.script(PACK, "pack.lua"), path, "documents.jsonl", json.dumps(options))


def write_documents(rtrain, documents):
    lines = "".join(json.dumps({"text": each}) + "\n" for each in documents)
    (rtrain.folder / "documents.jsonl").write_text(lines)


@pytest.mark.parametrize("count", [90, 70000], ids=["two bytes an id", "four bytes an id"])
def test_blocks_are_those_of_the_tokens_one_after_another(rtrain, count):
    words = [f"w{i}" for i in range(count)]
    path = rtrain.folder / "tokenizer.json"
    of_words = tokenizer_of(path, words)
    documents = ["w1", *documents_of(words, 200), "", "w2 " * 200]
    write_documents(rtrain, documents)
    for length, separator in ((16, "<end>"), (128, False)):
        result = pack(rtrain, path, length=length, separator=separator)
        assert result.returncode == 0, result.stderr
        found = [json.loads(line) for line in result.stdout.splitlines()]
        assert found == blocks_of(of_words, documents, length, [1] if separator else [])
    for file in (rtrain.folder / "tokens").iterdir():
        header = json.loads(file.read_bytes()[8:1024])
        assert header["tokens"]["dtype"] == ("U16" if count == 90 else "I32") and header["documents"]["shape"] == [203]
        assert file.stat().st_size == 1024 + header["documents"]["data_offsets"][1]


def test_tokens_are_made_once_and_again_when_a_file_has_changed(rtrain):
    words = ["a", "b", "c"]
    path = rtrain.folder / "tokenizer.json"
    tokenizer_of(path, words)
    write_documents(rtrain, documents_of(words, 20))
    options = {"length": 4, "separator": "<end>"}
    first = pack(rtrain, path, **options).stdout
    [file] = (rtrain.folder / "tokens").iterdir()
    made = file.stat()
    assert pack(rtrain, path, **options).stdout == first
    assert file.stat().st_mtime_ns == made.st_mtime_ns and file.stat().st_ino == made.st_ino
    file.write_bytes(file.read_bytes()[:-9])  # a file that was cut is written again
    assert pack(rtrain, path, **options).stdout == first
    write_documents(rtrain, documents_of(words, 20, seed=8))
    assert pack(rtrain, path, **options).stdout != first
    assert len(list((rtrain.folder / "tokens").iterdir())) == 2


WORKERS = """
local data, json, text, train = require 'rtrain.data', require 'json', require 'text', require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config)
    local file = io.open(('rows-%d-%d'):format(config.workers, train.get_context():get_world_rank()), 'w')
    local shard = train.get_dataset_shard 'train'
    local step = 0
    for _ = 1, 2 do
      for batch in shard:iter_torch_batches {batch_size = train.torch.local_batch_size(6)} do
        step = step + 1
        for row = 0, batch.input_ids.shape[1] - 1 do
          file:write(json.encode {step, batch.input_ids[row]:tolist(), batch.position_ids[row]:tolist()}, '\\n')
        end
      end
    end
    file:close()
  end,
  train_loop_config = {workers = 1, shuffle = false},
  datasets = function(config)
    local packed = text.pack(data.read_json 'documents.jsonl', {
      tokenizer = text.Tokenizer.from_file 'tokenizer.json', length = 8, separator = '<end>', seed = 3,
      shuffle = config.shuffle,
    })
    return {train = packed:limit(24)}
  end,
}:fit()
"""


@pytest.mark.parametrize("shuffle", ["false", "true"])
def test_any_number_of_workers_takes_the_same_blocks(rtrain, shuffle):
    words = [f"w{i}" for i in range(50)]
    tokenizer_of(rtrain.folder / "tokenizer.json", words)
    write_documents(rtrain, documents_of(words, 40))
    together = {}
    for workers in (1, 2, 3):
        settings = ["--set", f"workers={workers}", "--set", f"shuffle={shuffle}"]
        rtrain.run_ok(WORKERS, "-n", workers, *settings)
        of_ranks = [(rtrain.folder / f"rows-{workers}-{rank}").read_text().splitlines() for rank in range(workers)]
        rows = [json.loads(line) for lines in of_ranks for line in lines]
        together[workers] = sorted(rows, key=lambda row: row[0])  # by step, then by rank
    assert len(together[1]) == 48 and together[1] == together[2] == together[3]
    first, second = together[1][:24], together[1][24:]
    assert ([row[1] for row in first] == [row[1] for row in second]) == (shuffle == "false")


def test_a_killed_run_of_the_example_has_the_losses_of_a_calm_one(rtrain):
    settings = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
    rtrain.run_ok(EXAMPLE, *settings, "-n", 2, "--name", "calm")
    mark = rtrain.folder / "killed"
    once = f"if state.step == 7 then kill_rank_1 '{mark}' end"
    killed = EXAMPLE.replace("        parts = parts + 1\n", f"        parts = parts + 1\n        {once}\n")
    assert killed != EXAMPLE
    killed = KILL + killed
    rtrain.run_ok(killed, *settings, "-n", 2, "--name", "healed")
    mark.unlink()
    restarted = killed.replace(
        "RunConfig {", "RunConfig {failure_config = train.FailureConfig {max_heals = 0, max_failures = 1}, "
    )
    rtrain.run_ok(restarted, *settings, "-n", 2, "--name", "restarted")
    calm, healed, again = (
        {row["metrics"]["step"]: row["metrics"]["loss"] for row in rtrain.json("metrics", name)}
        for name in ("calm", "healed", "restarted")
    )
    assert mark.exists() and calm == healed == again and list(calm) == list(range(1, 13))
    first = [rtrain.json("show", name)["attempts"][0]["status"] for name in ("healed", "restarted")]
    assert first == ["HEALED", "ERRORED"], first


def test_the_example_trains_alone_and_estimates_its_memory(rtrain):
    settings = [word for name, value in {**SMALL, "steps": 4}.items() for word in ("--set", f"{name}={value}")]
    rtrain.run_ok(EXAMPLE, *settings, "-n", 1, "--name", "alone")
    assert [row["metrics"]["step"] for row in rtrain.json("metrics", "alone")] == [1, 2, 3, 4]
    found = rtrain.json("check", rtrain.folder / "train.lua", "--memory", "8", *settings)
    assert found["model"] == "GPT2LMHeadModel" and found["parameters"] > 10_000


def test_what_cannot_be_packed_is_named(rtrain):
    path = rtrain.folder / "tokenizer.json"
    tokenizer_of(path, ["a"])
    write_documents(rtrain, ["a a", "a"])
    cases = [
        ({"length": 8, "separator": "<end>"}, "2 documents have 5 tokens, and a block has 8"),
        ({"length": 2}, "the tokenizer names no eos_token: give separator"),
        ({"length": 2, "separator": "<stop>"}, "the separator '<stop>' is not a token"),
        ({"length": 1.5, "separator": "<end>"}, "length is a whole number of tokens from 2 on, got 1.5"),
        ({"lenght": 4}, "did you mean 'length'?"),
        ({"length": 2, "separator": "<end>", "column": "words"}, "there is no column 'words'"),
    ]
    for options, words in cases:
        result = pack(rtrain, path, **options)
        assert result.returncode != 0 and words in result.stderr, result.stderr
    (rtrain.folder / "documents.jsonl").write_text('{"text": "a"}\n{"text": null}\n')
    error = pack(rtrain, path, length=2, separator="<end>").stderr
    assert "column 'text': row 2 of its block has no string" in error
    assert not [name for name in os.listdir(rtrain.folder / "tokens") if name.endswith(".partial")]


GONE = """
local data, text, train = require 'rtrain.data', require 'text', require 'rtrain'
local packed = text.pack(data.from_items {{text = 'a a a a'}}, {
  tokenizer = text.Tokenizer.from_file 'tokenizer.json', length = 2, separator = '<end>', folder = 'tokens'})
os.execute 'rm -r tokens'
train.TorchTrainer {
  train_loop_per_worker = function()
    for _ in train.get_dataset_shard 'train':iter_batches {batch_size = 1} do end
  end,
  datasets = {train = packed},
}:fit()
"""


def test_a_node_without_the_file_says_what_to_do(rtrain):
    tokenizer_of(rtrain.folder / "tokenizer.json", ["a"])
    result = rtrain.run(GONE)
    assert result.returncode != 0
    assert "is not on this node: give the option folder, of a file system that all nodes have" in result.stderr


def test_a_function_that_makes_no_datasets_is_named(rtrain):
    script = """
    require('rtrain').TorchTrainer {train_loop_per_worker = function() end, datasets = function() return 7 end}:fit()
    """
    assert "datasets is 7, expected a table name → dataset" in rtrain.run(script).stderr
