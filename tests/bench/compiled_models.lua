-- The training steps of compiled_step.lua and compiled_ddp.lua: each function returns a model, a function that makes its
-- optimizer, and a batch.
local torch = require 'torch'
local nn, optim = torch.nn, torch.optim

local function with(class, options)
  return function(params) return optim[class](params, options) end
end

local steps = {}

function steps.mlp()
  return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)), with('SGD', {lr = 1e-3}), torch.randn(64, 784),
    torch.randint(0, 10, {64})
end

function steps.small_mlp()
  return nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10)),
    with('AdamW', {lr = 1e-3}), torch.randn(8, 32), torch.randint(0, 10, {8})
end

function steps.convnet()
  return require('vision.models').ConvNet(), with('Adadelta', {lr = 1}), torch.randn(64, 1, 28, 28),
    torch.randint(0, 10, {64})
end

-- Models for forwards alone, with their inputs: 30 layers of 32 numbers; 3 layers of a transformer, 64 wide, 16 tokens.
function steps.deep_mlp()
  local net = nn.Sequential()
  for _ = 1, 10 do net:append(nn.Linear(32, 32)):append(nn.LayerNorm(32)):append(nn.SiLU()) end
  return net, torch.randn(1, 32)
end

function steps.small_transformer()
  return nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, {dim_feedforward = 128, batch_first = true,
    activation = 'gelu', norm_first = true}), 3), torch.randn(1, 16, 64)
end

-- 3 layers, 192 wide, 8 × 128 tokens; `dropout` of its layers.
function steps.transformer(dropout)
  local Net = nn.Module:extend 'Net'
  function Net:init()
    self.embed = nn.Embedding(100, 192)
    self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(192, 6, {dim_feedforward = 768, dropout = dropout,
      batch_first = true, activation = 'gelu', norm_first = true}), 3)
    self.head = nn.Linear(192, 100)
  end
  function Net:forward(x) return self.head(self.encoder(self.embed(x))):reshape(-1, 100) end
  return Net(), with('AdamW', {lr = 1e-3}), torch.randint(0, 100, {8, 128}), torch.randint(0, 100, {8 * 128})
end

return steps
