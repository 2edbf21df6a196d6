"""Known models with fully_shard, compared with those of torchvision, transformers and peft under Python's fully_shard on the
same LibTorch: losses and norms of each step, parameters, buffers.
"""

import json
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")

from conftest import ALL
from test_tokenizers import transformers_python

# The twin of fsdp_model_oracle.py. CASES, RANKS, BACKEND and FOLDER come from the test.
SHARDED = """
local json, torch, train = require 'json', require 'torch', require 'rtrain'
local nn, F, fsdp = torch.nn, torch.nn.functional, torch.distributed.fsdp
local IMAGE_CLASSES, VOCABULARY, BATCH, TOKENS = 10, 97, 4, 12

local MODELS = {}

function MODELS.resnet18()
  local model, blocks = require('vision.models').resnet18{num_classes = IMAGE_CLASSES}, {}
  for _, stage in ipairs{model.layer1, model.layer2, model.layer3, model.layer4} do
    for _, block in ipairs(stage) do blocks[#blocks + 1] = block end
  end
  return model, blocks
end

function MODELS.vit()
  local model = require('vision.models').VisionTransformer{image_size = 32, patch_size = 8, num_layers = 3, num_heads = 2,
    hidden_dim = 24, mlp_dim = 40, num_classes = IMAGE_CLASSES}
  return model, model.encoder.layers
end

function MODELS.gpt2()
  local model = require('text').models.GPT2LMHeadModel{vocab_size = VOCABULARY, n_embd = 24, n_layer = 3, n_head = 2,
    n_positions = 16, resid_pdrop = 0, embd_pdrop = 0, attn_pdrop = 0}
  assert(rawequal(model.lm_head.weight, model.transformer.wte.weight))
  return model, model.transformer.h
end

function MODELS.llama_lora()
  local text = require 'text'
  local base = text.models.LlamaForCausalLM{vocab_size = VOCABULARY, hidden_size = 24, num_hidden_layers = 3,
    num_attention_heads = 4, num_key_value_heads = 2, intermediate_size = 40, max_position_embeddings = 16}
  local model = text.lora.get_peft_model(base,
    text.lora.LoraConfig{r = 3, lora_alpha = 6, target_modules = {'q_proj', 'v_proj'}})
  return model, base.model.layers
end

local IS_IMAGES = {resnet18 = true, vit = true}

local function data(name, dtype, rank, step)
  if IS_IMAGES[name] then
    local x = torch.sin(torch.arange(BATCH * 3 * 32 * 32, {dtype = 'float64'}) * (step + 1.5) + rank)
    return x:to(dtype):view(BATCH, 3, 32, 32), (torch.arange(BATCH) * (step + 2) + rank) % IMAGE_CLASSES
  end
  local x = (torch.arange(BATCH * TOKENS) * (step + 2) + 5 * rank) % VOCABULARY
  return x:view(BATCH, TOKENS), ((x * 3 + 1) % VOCABULARY):view(BATCH, TOKENS)
end

local function loss_of(name, model, x, y)
  if IS_IMAGES[name] then return F.cross_entropy(model(x), y) end
  if name == 'llama_lora' then return model(x, {labels = x}).loss end
  return F.cross_entropy(model(x).logits:view(-1, VOCABULARY), y:view(-1))
end

-- Copies Python's values to ours of the same name.
local function copy(ours, theirs)
  local count = 0
  torch.no_grad(function()
    for name, value in ours do
      local given = assert(theirs[name], name)
      value:copy_(given)
      count = count + 1
    end
  end)
  for _ in pairs(theirs) do count = count - 1 end
  assert(count == 0, 'Python has other names')
end

local function run(case, options, rank, folder)
  local python = torch.load(('%s/%s-%d.pt'):format(folder, case, rank))
  local model, blocks = MODELS[options.model]()
  model:to(options.dtype):train()
  copy(model:named_parameters(), python.first)
  copy(model:named_buffers(), python.first_buffers)
  local given = {}
  if options.mixed then given.mp_policy = fsdp.MixedPrecisionPolicy{param_dtype = 'bfloat16', reduce_dtype = 'float32'} end
  if options.hybrid then
    given.mesh = torch.distributed.init_device_mesh('cpu', {2, 2}, {mesh_dim_names = {'replicate', 'shard'}})
  end
  for _, block in ipairs(blocks) do fsdp.fully_shard(block, given) end
  fsdp.fully_shard(model, given)
  local trained = {}
  for _, p in ipairs(model:parameters()) do
    if p.requires_grad then trained[#trained + 1] = p end
  end
  local optimizer = torch.optim.AdamW(trained, {lr = options.lr, eps = 1e-3})
  local micro, count = options.micro or 1, 0
  local worst = {losses = 0, norms = 0, sizes = 0, last = 0, buffers = 0, num_params = 0, num_buffers = 0,
                 num_trained = #trained}
  local function compare(name, ours, theirs)
    worst[name] = math.max(worst[name], math.abs(ours - theirs) / math.max(1, math.abs(theirs)))
  end
  for step = 0, options.steps - 1 do
    optimizer:zero_grad()
    for part = 0, micro - 1 do
      model:set_requires_gradient_sync(part == micro - 1)
      local loss = loss_of(options.model, model, data(options.model, options.dtype, rank, step * micro + part)) / micro
      loss:backward()
      count = count + 1
      compare('losses', loss:item(), python.losses[count])
    end
    if options.clip then
      compare('norms', nn.utils.clip_grad_norm_(model:parameters(), options.clip):item(), python.norms[step + 1])
    end
    optimizer:step()
    for name, p in model:named_parameters() do
      compare('sizes', p:full_tensor():norm():item(), python.sizes[step + 1][name])
    end
  end
  assert(count == #python.losses)
  for name, p in model:named_parameters() do
    worst.num_params = worst.num_params + 1
    compare('last', (p:full_tensor() - python.last[name]):abs():max():item(), 0)
  end
  for name, buffer in model:named_buffers() do
    worst.num_buffers = worst.num_buffers + 1
    compare('buffers', (buffer - python.last_buffers[name]):abs():max():item(), 0)
  end
  return worst
end

train.TorchTrainer{
  train_loop_per_worker = function(config)
    local rank = train.get_context():get_world_rank()
    for _, case in ipairs(config.order) do
      local worst = run(case, config.cases[case], rank, config.folder)
      local file = io.open(('%s/%s-%d.json'):format(config.folder, case, rank), 'w')
      file:write(json.encode(worst))
      file:close()
    end
  end,
  train_loop_config = json.decode(CASES),
  scaling_config = train.ScalingConfig{num_workers = RANKS},
  torch_config = train.TorchConfig{backend = 'BACKEND'},
}:fit()
"""

# Counts of parameters, of those that are trained, and of buffers.
COUNTS = {"resnet18": (62, 62, 60), "vit": (44, 44, 0), "gpt2": (40, 40, 0), "llama_lora": (42, 12, 0)}
# ResNet's batch norms make much of a rounding, so it computes in float64.
OPTIONS = {
    "resnet18": {"steps": 4, "lr": 1e-3, "dtype": "float64"},
    "vit": {"micro": 2},
    "gpt2": {"clip": 0.5},
    "llama_lora": {},
}
LIBRARIES = {"torchvision": ["resnet18", "vit"], "transformers": ["gpt2", "llama_lora"]}
VARIANTS = {"plain": {}, "accumulated": {"micro": 3}, "clipped": {"clip": 0.1}, "mixed": {"mixed": True}}
TOLERANCES = {"float64": 1e-8, "float32": 1e-5}


def cases_of(model, ranks):
    """Returns one case of the model, by night all of them."""
    base = {"model": model, "steps": 12, "lr": 3e-3, "dtype": "float32", **OPTIONS[model]}
    cases = {model: base}
    if ALL:
        cases |= {f"{model}-{name}": {**base, **options} for name, options in VARIANTS.items()}
    if model == "resnet18":
        cases.pop(f"{model}-mixed", None)
    if ALL and ranks == 4:
        cases[f"{model}-hybrid"] = {**base, "hybrid": True}
    return cases


@pytest.fixture(scope="module", params=[2, 3, 4] if ALL else [2])
def ranks(request):
    return request.param


@pytest.fixture(scope="module", params=list(LIBRARIES))
def python(request, ranks, tmp_path_factory):
    """The cases, and the folder with what Python has computed."""
    folder = tmp_path_factory.mktemp("python")
    oracle = pathlib.Path(__file__).with_name("fsdp_model_oracle.py")
    interpreter = transformers_python() if request.param == "transformers" else sys.executable
    cases = {}
    for model in LIBRARIES[request.param]:
        cases |= cases_of(model, ranks)
    subprocess.run([interpreter, oracle, folder, str(ranks), json.dumps(cases)], check=True, timeout=500)
    return cases, folder


@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_models_are_trained_as_by_python(rtrain, python, ranks, backend):
    cases, folder = python
    config = json.dumps({"cases": cases, "order": list(cases), "folder": str(folder)})
    text = SHARDED.replace("CASES", f"[==[{config}]==]").replace("RANKS", str(ranks)).replace("BACKEND", backend)
    result = rtrain("run", rtrain.script(text), "--oversubscribe", timeout=500)
    assert result.returncode == 0, result.stdout + result.stderr
    for case, options in cases.items():
        for rank in range(ranks):
            worst = json.loads((folder / f"{case}-{rank}.json").read_text())
            assert (worst["num_params"], worst["num_trained"], worst["num_buffers"]) == COUNTS[options["model"]]
            tolerance = 0.03 if options.get("mixed") else TOLERANCES[options["dtype"]]
            for name in ("losses", "norms", "sizes", "last", "buffers"):
                assert worst[name] <= tolerance, (case, rank, name, worst)
