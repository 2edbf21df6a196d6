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
        for key in ("logits", "masked", "packed", "loss", "grad", "step"):
            assert each.get(key, 0) <= 1e-5, each
        assert each["parameters"] >= 10, each
        for key in ("greedy", "greedy_masked", "penalty", "beams", "ended", "looked_up"):
            assert each.get(key, True) is True, each
        assert (
            each.get("static", True) is True or "generate: cache_implementation = 'static': its " in each["static"]
        ), each
    pairs = [path for name in names for path in (folder / name, folder / f"{name}.saved")]
    subprocess.run([transformers_python(), "-c", REREAD, *map(str, pairs)], check=True, timeout=600)
    return found


def test_some_families(rtrain):
    found = compare(rtrain, "gpt2", "llama", "gemma2", "bert-sequence", "t5")
    assert ["greedy" in each for each in found] == [True, True, True, False, True]
    assert ["packed" in each for each in found] == [True, True, True, False, False]
    assert [each.get("static") is True for each in found] == [True, True, True, False, False]


@nightly
def test_all_families(rtrain):
    found = compare(rtrain)
    assert len(found) >= 25
    assert len([each for each in found if each.get("static") is True]) >= 12


@nightly
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


UNTIED = """
local text, torch = require 'text', require 'torch'
local file = arg[1] .. '/model.safetensors'
local tensors = torch.load_safetensors(file)
tensors['lm_head.weight'] = tensors['transformer.wte.weight'] * 2
torch.save_safetensors(tensors, file .. '.new')
os.rename(file .. '.new', file)
local model = text.AutoModelForCausalLM.from_pretrained(arg[1])
model:save_pretrained(arg[1] .. '-again')
local again = text.AutoModelForCausalLM.from_pretrained(arg[1] .. '-again')
for _, each in ipairs {model, again} do print(torch.equal(each.lm_head.weight, each.transformer.wte.weight * 2)) end
"""


def test_a_head_of_its_own_is_kept_though_the_config_ties_it(rtrain, model):
    result = rtrain("exec", rtrain.script(UNTIED), model)
    assert result.stdout == "true\ntrue\n", result.stderr


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


FILTERED = """
local next_token, torch, json = require 'text.generation.next_token', require 'torch', require 'json'
local logits = torch.load_safetensors(arg[1]).logits
for i, options in ipairs(json.decode(arg[2])) do
  torch.save_safetensors({logits = next_token.filtered(logits, options)}, ('%s.%d'):format(arg[1], i))
end
"""
WARPED = """
import json, sys, torch
from safetensors.torch import load_file, save_file
from transformers.generation import logits_process as process
if len(sys.argv) == 2:
    torch.manual_seed(0)
    save_file({"logits": 3 * torch.randn(6, 50)}, sys.argv[1])
    sys.exit()
logits = load_file(sys.argv[1])["logits"]
warpers = {"temperature": process.TemperatureLogitsWarper, "top_k": process.TopKLogitsWarper,
           "top_p": process.TopPLogitsWarper, "min_p": process.MinPLogitsWarper}
for number, options in enumerate(json.loads(sys.argv[2]), 1):
    wanted = logits
    for name, warper in warpers.items():
        if name in options:
            wanted = warper(options[name])(None, wanted)
    found = load_file(f"{sys.argv[1]}.{number}")["logits"]
    assert torch.equal(wanted.isinf(), found.isinf()), options
    assert torch.allclose(wanted.exp(), found.exp(), rtol=1e-5), options
"""


@nightly
def test_sampling_leaves_out_what_transformers_leaves_out(rtrain):
    file = rtrain.folder / "logits.safetensors"
    python = transformers_python()
    subprocess.run([python, "-c", WARPED, file], check=True)
    options = json.dumps(
        [
            {"temperature": 0.7},
            {"top_k": 5},
            {"top_k": 500},
            {"top_p": 0.9},
            {"top_p": 0.01},
            {"min_p": 0.1},
            {"temperature": 1.3, "top_k": 20, "top_p": 0.8, "min_p": 0.02},
        ]
    )
    result = rtrain("exec", rtrain.script(FILTERED), file, options)
    assert result.returncode == 0, result.stderr
    subprocess.run([python, "-c", WARPED, file, options], check=True)


VARIANTS = """
local text, torch = require 'text', require 'torch'
local function difference(a, b) return (a:double() - b:double()):abs():max():item() end
local ids = torch.tensor({{1, 2, 3, 4, 5, 6, 7, 8}, {9, 8, 7, 6, 5, 4, 3, 2}}, {dtype = 'int64'})
local model = text.AutoModelForCausalLM.from_pretrained(arg[1])
-- Activation checkpoints change no gradient.
local function gradients(checkpointing)
  model:train()
  model.transformer.gradient_checkpointing = checkpointing
  model:zero_grad()
  model(ids, {labels = ids}).loss:backward()
  local out = {}
  for _, parameter in ipairs(model:parameters()) do out[#out + 1] = parameter.grad:clone() end
  model:eval()
  return out
end
for _, module in ipairs(model:modules()) do
  if module.__name == 'Dropout' then module.p = 0 end
  if module.__name == 'GPT2Attention' then module.dropout = 0 end
end
local plain, saved = gradients(false), gradients(true)
local worst = 0
for i, grad in ipairs(plain) do worst = math.max(worst, difference(grad, saved[i])) end
-- A cache, tokens one by one, gives the logits of all at once.
local logits = model(ids).logits
local cache, last = text.models.Cache(), nil
for i = 0, ids.shape[2] - 1 do
  last = torch.no_grad(model, ids:narrow(1, i, 1), {past_key_values = cache}).logits
  worst = math.max(worst, difference(last:select(1, 0), logits:select(1, i)))
end
-- Another dtype, and a seed.
local small = text.AutoModelForCausalLM.from_pretrained(arg[1], {dtype = 'bfloat16'})
local sampled = {}
for i, seed in ipairs {3, 3, 4} do
  sampled[i] = model:generate(ids, {max_new_tokens = 6, do_sample = true, seed = seed, eos_token_id = {}})
end
local seen = 0
model:generate(ids, {max_new_tokens = 5, eos_token_id = {}, streamer = function(tokens) seen = seen + tokens.shape[1] end})
local stopped = model:generate(ids, {max_new_tokens = 5, eos_token_id = {}, stop = function(all) return all.shape[2] == 10 end})
print(worst < 1e-5, tostring(small.transformer.wte.weight.dtype), torch.equal(sampled[1], sampled[2]),
  torch.equal(sampled[1], sampled[3]), seen, stopped.shape[2], small:generate(ids, {max_new_tokens = 2}).shape[2])
"""


def test_checkpoints_of_activations_caches_dtypes_and_seeds(rtrain, model):
    result = rtrain("exec", rtrain.script(VARIANTS), model)
    assert result.stdout.split("\t") == ["true", "bfloat16", "true", "false", "10", "10", "10\n"], result.stderr


def test_what_generate_does_not_take_is_said(rtrain, model):
    script = """
local text, torch = require 'text', require 'torch'
local model = text.AutoModelForCausalLM.from_pretrained(arg[1])
local ids = torch.tensor({{1, 2}}, {dtype = 'int64'})
for _, options in ipairs {{top_p = 2}, {temperature = 0}, {max_tokens = 3}, {num_beams = 2, do_sample = true}} do
  print(select(2, pcall(model.generate, model, ids, options)))
end
print(select(2, pcall(model.generate, model, torch.zeros({1, 0}, {dtype = 'int64'}))))
print(select(2, pcall(model, torch.zeros({1, 17}, {dtype = 'int64'}))))
"""
    lines = rtrain("exec", rtrain.script(script), model).stdout
    for words in (
        "generate: top_p = 2: expected a number from 0 to 1",
        "generate: temperature = 0: expected a number from 1e-06",
        "unknown option 'max_tokens': valid names: attention_mask, max_new_tokens",
        "rtrain samples from one beam",
        "expected ids of the shape {n, tokens} with a token, got {1, 0}",
        "there are 17 tokens, and the model takes 16",
    ):
        assert words in lines, lines


FIRST_VALUES = """
local text, torch = require 'text', require 'torch'
local normal_, count = torch.nn.init.normal_, 0
torch.nn.init.normal_ = function(...)
  count = count + 1
  return normal_(...)
end
local function drawn(name)
  count = 0
  text.models[name] {vocab_size = 10, n_embd = 8, n_layer = 2, n_head = 2, n_positions = 16, hidden_size = 8,
    num_hidden_layers = 2, num_attention_heads = 2, intermediate_size = 8}
  return count
end
print(drawn 'GPT2Model' > 8, drawn 'GPT2LMHeadModel' - drawn 'GPT2Model')
print(drawn 'BertModel' > 8, drawn 'BertForSequenceClassification' - drawn 'BertModel')
"""


def test_parameters_below_a_head_get_their_first_values_once(rtrain):
    result = rtrain("exec", rtrain.script(FIRST_VALUES))
    assert result.stdout.splitlines() == ["true\t1", "true\t1"], result.stderr


ADAPTERS = """
local text, torch = require 'text', require 'torch'
local lora = text.lora
local ids = torch.tensor({{1, 2, 3, 4}}, {dtype = 'int64'})
local base = text.AutoModelForCausalLM.from_pretrained(arg[1])
local before = base(ids).logits
local function fill(model, name, value)
  torch.no_grad(function()
    for path, each in model:named_parameters() do
      if path:find('lora_B.' .. name .. '.weight', 1, true) then each:fill_(value) end
    end
  end)
end
local model = lora.get_peft_model(base, lora.LoraConfig {r = 2, target_modules = {'c_attn'}})
model:eval()
print('new', torch.equal(model(ids).logits, before))
model:add_adapter('other', lora.LoraConfig {r = 3, target_modules = {'c_attn', 'c_fc'}})
fill(model, 'default', 0.1)
fill(model, 'other', -0.2)
local first = model(ids).logits
model:set_adapter 'other'
local second = model(ids).logits
print('differ', torch.equal(first, before), torch.equal(first, second))
print('off', torch.equal(model:disable_adapter(function() return model(ids).logits end), before))
model:set_adapter 'default'
print('back', torch.equal(model(ids).logits, first))
local state = {}
for key, value in require('base.ordered').items(model:state_dict()) do state[key] = value:clone() end
fill(model, 'default', 7)
model:load_state_dict(state)
print('state', torch.equal(model(ids).logits, first))
local count = 0
for path, each in model:named_parameters() do
  if each.requires_grad then
    count = count + 1
    assert(path:find '%.default%.', path)
  end
end
print('trained', count)
model:save_pretrained(arg[1] .. '-adapter')
for _, call in ipairs {
  function() model:set_adapter 'third' end, function() model:add_adapter('other', lora.LoraConfig {}) end,
  function() model:load_state_dict {} end,
  function() lora.get_peft_model(base, lora.LoraConfig {target_modules = {'q_proj'}}) end,
  function() lora.LoraConfig {r = 0} end, function() lora.LoraConfig {rank = 3} end,
} do
  print(select(2, pcall(call)))
end
"""


def test_adapters_are_chosen_left_out_and_refused(rtrain, model):
    result = rtrain("exec", rtrain.script(ADAPTERS), model)
    lines = result.stdout.splitlines()
    assert lines[:6] == ["new\ttrue", "differ\tfalse\tfalse", "off\ttrue", "back\ttrue", "state\ttrue", "trained\t4"], (
        result.stderr
    )
    for line, words in zip(
        lines[6:],
        [
            "there is no adapter 'third': there are default, other",
            "there is an adapter 'other'",
            "load_state_dict: missing: base_model.model.transformer.h.0.attn.c_attn.lora_A.weight",
            "no linear layer has a name of target_modules: the model has",
            "LoraConfig: r = 0: expected a positive integer",
            "LoraConfig: unknown option 'rank'",
        ],
        strict=True,
    ):
        assert words in line, line
