"""fully_shard compared with Python's on the same LibTorch, step by step: losses, norms of gradients and parameters."""

import json
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")

from conftest import ALL
from fsdp_oracle import cases_of

# The twin of fsdp_oracle.py. CASES, RANKS, BACKEND and FOLDER come from the test.
SHARDED = """
local json, torch, train = require 'json', require 'torch', require 'rtrain'
local nn, F, fsdp = torch.nn, torch.nn.functional, torch.distributed.fsdp
local STEPS, VOCABULARY, WIDTH = 6, 13, 10

local Block = nn.Module:extend 'Block'
function Block:init()
  self.norm = nn.LayerNorm(WIDTH)
  self.up, self.down = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(3 * WIDTH, WIDTH)
end
function Block:forward(x) return x + self.down(F.gelu(self.up(self.norm(x)))) end

local Text = nn.Module:extend 'Text'
function Text:init(case)
  self.case = case
  self.embed = nn.Embedding(VOCABULARY, WIDTH)
  self.blocks = nn.ModuleList{Block(), Block(), Block()}
  self.head = nn.Linear(WIDTH, VOCABULARY, {bias = false})
  if case == 'tied' then self.head.weight = self.embed.weight end
  if case == 'frozen' then
    self.blocks[2]:requires_grad_(false)
    self.embed:requires_grad_(false)
  end
end
function Text:forward(x)
  x = self.embed(x)
  for _, block in ipairs(self.blocks) do
    x = self.case == 'checkpoint' and torch.utils.checkpoint.checkpoint(block, x, {use_reentrant = false}) or block(x)
    if self.case == 'twice' then x = block(x) end
  end
  return self.head(x)
end

local Residual = nn.Module:extend 'Residual'
function Residual:init(planes)
  self.conv, self.norm = nn.Conv2d(planes, planes, 3, {padding = 1, bias = false}), nn.BatchNorm2d(planes)
end
function Residual:forward(x) return F.relu(x + self.norm(self.conv(x))) end

local Images = nn.Module:extend 'Images'
function Images:init()
  self.stem = nn.Conv2d(2, 7, 3)
  self.blocks = nn.ModuleList{Residual(7), Residual(7)}
  self.head = nn.Linear(7, VOCABULARY)
end
function Images:forward(x)
  x = F.relu(self.stem(x))
  for _, block in ipairs(self.blocks) do x = block(x) end
  return self.head(x:mean({2, 3}))
end

local function data(case, rank, step)
  if case == 'images' then
    local x = torch.sin(torch.arange(3 * 2 * 8 * 8, {dtype = 'float32'}) * (step + 1) + rank):view(3, 2, 8, 8)
    return x, (torch.arange(3) * (step + 2) + rank) % VOCABULARY
  end
  local x = (torch.arange(12) * (step + 2) + 5 * rank) % VOCABULARY
  return x:view(3, 4), ((x * 3 + 1) % VOCABULARY):view(3, 4)
end

local function run(case, options, rank, folder)
  local python = torch.load(('%s/%s-%d.pt'):format(folder, case, rank))
  local model = case == 'images' and Images() or Text(case)
  model:load_state_dict(python.first)
  local given = {reshard_after_forward = options.reshard ~= false}
  if options.mixed then given.mp_policy = fsdp.MixedPrecisionPolicy{param_dtype = 'bfloat16', reduce_dtype = 'float32'} end
  if options.mesh then
    given.mesh = torch.distributed.init_device_mesh('cpu', {2, 2}, {mesh_dim_names = {'replicate', 'shard'}})
  end
  for _, block in ipairs(model.blocks) do fsdp.fully_shard(block, given) end
  fsdp.fully_shard(model, given)
  local trained = {}
  for _, p in ipairs(model:parameters()) do
    if p.requires_grad then trained[#trained + 1] = p end
  end
  local optimizer = torch.optim.AdamW(trained, {lr = 0.01})
  local micro, count, num_norms, worst = options.micro or 1, 0, 0, {losses = 0, norms = 0, last = 0}
  local function compare(name, ours, theirs) worst[name] = math.max(worst[name], math.abs(ours - theirs)) end
  for step = 0, STEPS - 1 do
    optimizer:zero_grad()
    for part = 0, micro - 1 do
      model:set_requires_gradient_sync(part == micro - 1)
      local x, y = data(case, rank, step * micro + part)
      local loss = F.cross_entropy(model(x):float():view(-1, VOCABULARY), y:view(-1)) / micro
      loss:backward()
      count = count + 1
      compare('losses', loss:item(), python.losses[count])
    end
    if options.clip then
      num_norms = num_norms + 1
      compare('norms', nn.utils.clip_grad_norm_(model:parameters(), options.clip):item(), python.norms[num_norms])
    end
    optimizer:step()
  end
  assert(count == #python.losses and num_norms == #python.norms)
  local num_params = 0
  for name, p in model:named_parameters() do
    num_params = num_params + 1
    compare('last', (p:full_tensor() - python.last[name]):abs():max():item(), 0)
  end
  worst.num_params = num_params
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


@pytest.fixture(scope="module", params=[2, 3, 4] if ALL else [4])
def python(request, tmp_path_factory):
    """The number of ranks, and the folder with what Python has computed."""
    folder = tmp_path_factory.mktemp("python")
    oracle = pathlib.Path(__file__).with_name("fsdp_oracle.py")
    subprocess.run([sys.executable, oracle, folder, str(request.param)], check=True, timeout=500)
    return request.param, folder


@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_steps_equal_those_of_python(rtrain, python, backend):
    ranks, folder = python
    cases = cases_of(ranks)
    config = json.dumps({"cases": cases, "order": list(cases), "folder": str(folder)})
    text = SHARDED.replace("CASES", f"[==[{config}]==]").replace("RANKS", str(ranks)).replace("BACKEND", backend)
    result = rtrain("run", rtrain.script(text), "--oversubscribe", timeout=240)
    assert result.returncode == 0, result.stdout + result.stderr
    for case in cases:
        for rank in range(ranks):
            worst = json.loads((folder / f"{case}-{rank}.json").read_text())
            tolerance = 0.02 if case == "mixed" else 2e-5
            assert worst["num_params"] > 3
            for name in ("losses", "norms", "last"):
                assert worst[name] <= tolerance, (case, rank, name, worst)
