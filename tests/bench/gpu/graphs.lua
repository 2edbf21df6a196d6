-- Milliseconds of a training step with batch 64 or 128 on random images, operator by operator and as one CUDA graph, in
-- one process. Prints "name<TAB>number" lines. Twin of graphs.py: change both. Without a GPU the steps run without
-- graphs.
--
--   graphs.lua STEPS REPEATS
local torch = require 'torch'
local train = require 'rtrain'
local models = require 'vision.models'
local F, optim = torch.nn.functional, torch.optim

local steps, repeats = tonumber(arg[1]), tonumber(arg[2])
local device = torch.cuda.is_available() and 'cuda' or 'cpu'
torch.manual_seed(0)

local function wait() if device == 'cuda' then torch.cuda.synchronize() end end

-- Returns the median over the repeats of the time of one step.
local function milliseconds(step, x, y)
  local times = {}
  for i = 0, repeats do
    local start = train.time.perf_counter()
    for _ = 1, steps do step(x, y) end
    wait()
    times[i] = (train.time.perf_counter() - start) * 1e3 / steps
  end
  times[0] = nil  -- the first repeat warms up and captures
  table.sort(times)
  return times[math.ceil(repeats / 2)]
end

local function step_of(model, optimizer)
  return function(x, y)
    optimizer:zero_grad()
    local loss = F.cross_entropy(model(x), y)
    loss:backward()
    optimizer:step()
    return loss
  end
end

local MODELS = {
  {name = 'convnet', batch = 128, shape = {1, 28, 28}, model = function() return models.ConvNet() end,
   optimizer = function(params) return optim.Adadelta(params, {lr = 1, capturable = device == 'cuda'}) end},
  {name = 'vit', batch = 64, shape = {3, 32, 32},
   model = function() return models.VisionTransformer(32, 4, 12, 8, 384, 768, {num_classes = 10}) end,
   optimizer = function(params)
     return optim.AdamW(params, {lr = 1e-3, weight_decay = 1e-2, fused = true, capturable = device == 'cuda'})
   end},
}

for _, it in ipairs(MODELS) do
  local x = torch.randn(it.batch, unpack(it.shape)):to(device)
  local y = torch.randint(0, 10, {it.batch}):to(device)
  for _, form in ipairs{'eager', 'graph'} do
    local model = it.model():to(device)
    local step = step_of(model, it.optimizer(model:parameters()))
    if form == 'graph' then step = train.graph(step) end
    io.write(('%s_%s\t%.4f\n'):format(it.name, form, milliseconds(step, x, y)))
  end
end
