"""Models of each family compute what Python's transformers computes, and go back to it."""

import json
import subprocess

import pytest

from conftest import SOURCE, nightly
from test_tokenizers import HERE, run_oracle, transformers_python

SCRIPT = SOURCE / "tests" / "e2e" / "scripts" / "compare_models.lua"
# transformers' logits of a folder that rtrain has written, next to those of the folder that it came from.
REREAD = """
import sys, torch, transformers
for first, second in zip(sys.argv[1::2], sys.argv[2::2]):
    name = transformers.AutoConfig.from_pretrained(first).architectures[0]
    assert transformers.AutoConfig.from_pretrained(second).architectures[0] == name
    models = [getattr(transformers, name).from_pretrained(each).eval() for each in (first, second)]
    states = [model.state_dict() for model in models]
    assert states[0].keys() == states[1].keys(), name
    for key, value in states[0].items():
        assert torch.equal(value, states[1][key]), (name, key)
"""


def compare(rtrain, *names):
    folder = rtrain.folder / "models"
    folder.mkdir()
    run_oracle("model_oracle.py", folder, *names)
    names = names or sorted(path.stem for path in folder.glob("*.safetensors"))
    result = rtrain("exec", SCRIPT, folder, *names, timeout=600)
    assert result.returncode == 0, result.stderr
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["name"] for each in found] == [*names]
    for each in found:
        for key in ("logits", "masked", "loss", "grad", "step"):
            assert each[key] <= 1e-5, each
        assert each["parameters"] >= 10, each
        for key in ("greedy", "greedy_masked", "penalty", "beams", "ended"):
            assert each.get(key, True) is True, each
    pairs = [path for name in names for path in (folder / name, folder / f"{name}.saved")]
    subprocess.run([transformers_python(), "-c", REREAD, *map(str, pairs)], check=True, timeout=600)
    return found


def test_some_families(rtrain):
    found = compare(rtrain, "gpt2", "llama", "gemma2", "bert-sequence", "t5")
    assert ["greedy" in each for each in found] == [True, True, True, False, True]


@nightly
def test_all_families(rtrain):
    assert len(compare(rtrain)) >= 25


def test_adapters_of_peft_go_both_ways(rtrain):
    folder = rtrain.folder / "models"
    folder.mkdir()
    run_oracle("model_oracle.py", folder, "gpt2", "llama", "qwen2")
    run_oracle("adapter_oracle.py", folder)
    result = rtrain("exec", SCRIPT.with_name("compare_adapters.lua"), folder, timeout=600)
    assert result.returncode == 0, result.stderr
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["name"] for each in found] == ["gpt2-lora", "llama-lora", "qwen2-dora"]
    for each in found:
        for key in ("logits", "loss", "grad", "merged"):
            assert each[key] <= 1e-5, each
        assert each["unmerged"] == 0 and each["trained"] == each["parameters"], each
    subprocess.run([transformers_python(), HERE / "adapter_oracle.py", folder, "check"], check=True, timeout=600)


# What is wrong with a folder.

SMALL = """
local text, torch = require 'text', require 'torch'
torch.manual_seed(0)
local config = {vocab_size = 20, n_embd = 8, n_layer = 2, n_head = 2, n_positions = 16}
text.models.GPT2LMHeadModel(config):save_pretrained(arg[1], {max_shard_bytes = tonumber(arg[2])})
"""
LOAD = """
local text = require 'text'
local model = text[arg[2] or 'AutoModelForCausalLM'].from_pretrained(arg[1])
print(table.concat(model.loading_info.missing_keys, ' '), table.concat(model.loading_info.unexpected_keys, ' '))
"""


@pytest.fixture
def model(rtrain):
    folder = rtrain.folder / "model"
    result = rtrain("exec", rtrain.script(SMALL, "small.lua"), folder, "1e9")
    assert result.returncode == 0, result.stderr
    return folder


def load(rtrain, folder, *more):
    return rtrain("exec", rtrain.script(LOAD, "load.lua"), folder, *more)


def rewrite(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_a_model_is_read_as_it_was_written(rtrain, model):
    assert load(rtrain, model).stdout == "\t\n"
    config = json.loads((model / "config.json").read_text())
    assert config["model_type"] == "gpt2" and config["architectures"] == ["GPT2LMHeadModel"]
    assert load(rtrain, model, "AutoModel").stdout == "\t\n"


def test_a_large_model_has_shards_and_an_index(rtrain):
    folder = rtrain.folder / "sharded"
    assert rtrain("exec", rtrain.script(SMALL, "small.lua"), folder, "2000").returncode == 0
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    files = sorted(path.name for path in folder.glob("*.safetensors"))
    assert len(files) > 2 and set(index["weight_map"].values()) == set(files)
    assert load(rtrain, folder).returncode == 0
    (folder / files[1]).unlink()
    assert files[1] in load(rtrain, folder).stderr
    (folder / files[1]).write_bytes((folder / files[0]).read_bytes())
    error = load(rtrain, folder).stderr
    assert f"{files[1]}: it has no tensor 'transformer." in error


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda c: c.update(model_type="mamba"), "model_type = 'mamba': rtrain has bert, "),
        (lambda c: c.update(n_embd=12), "has the shape {20, 8}, config.json makes it {20, 12}"),
        (lambda c: c.update(activation_function="gelo"), "the activation 'gelo': rtrain has gelu, "),
    ],
)
def test_a_config_that_does_not_fit_is_named(rtrain, model, change, words):
    rewrite(model / "config.json", change)
    result = load(rtrain, model)
    assert result.returncode != 0 and words in result.stderr


def test_a_layer_that_is_not_there_is_new_and_said_to_be(rtrain, model):
    rewrite(model / "config.json", lambda config: config.update(n_layer=3))
    result = load(rtrain, model)
    assert result.returncode == 0
    assert result.stdout.split("\t")[0].split()[0] == "transformer.h.2.ln_1.weight"
    assert "new parameters, which are to be trained" in result.stderr


def test_a_layer_too_many_is_named(rtrain, model):
    rewrite(model / "config.json", lambda config: config.update(n_layer=1))
    assert load(rtrain, model).stdout.split("\t")[1].split()[0] == "transformer.h.1.ln_1.weight"


def test_a_folder_without_a_file_is_named(rtrain, model):
    (model / "model.safetensors").rename(model / "weights.safetensors")
    assert "there is neither model.safetensors nor model.safetensors.index.json" in load(rtrain, model).stderr
    (model / "config.json").unlink()
    assert "config.json: No such file or directory: expected a folder with config.json" in load(rtrain, model).stderr
    whole = (model / "weights.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(whole[:-100])
    (model / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    assert "model.safetensors" in load(rtrain, model).stderr


def test_the_other_head_is_refused(rtrain, model):
    error = load(rtrain, model, "AutoModelForSeq2SeqLM").stderr
    assert "a model of model_type 'gpt2' has no such head" in error


def test_the_memory_of_the_loss_does_not_grow_with_the_vocabulary(rtrain):
    script = """
local text, torch = require 'text', require 'torch'
local function peak()
  for line in io.lines '/proc/self/status' do
    local kib = line:match '^VmHWM:%s*(%d+)'
    if kib then return tonumber(kib) / 1024 end
  end
end
local rows, classes, width = 4096, 60000, 16
local hidden, weight = torch.randn(rows, width, {requires_grad = true}), torch.randn(classes, width, {requires_grad = true})
local labels = torch.randint(0, classes, {rows})
torch.nn.functional.cross_entropy(hidden:narrow(0, 0, 2):matmul(weight:t()), labels:narrow(0, 0, 2)):backward()
local before = peak()
text.linear_cross_entropy(hidden, weight, labels):backward()
print(peak() - before, rows * classes * 4 / 2 ^ 20)
"""
    used, whole = map(float, rtrain("exec", rtrain.script(script)).stdout.split())
    assert whole > 900 and used < 0.15 * whole, f"{used} MiB of {whole}"
