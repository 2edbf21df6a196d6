-- The steps of compiled_step.lua, compiled_peers.lua and compiled_ddp.lua. Functions with the name of a model return it, a
-- function that makes its optimizer, and a batch.
local torch = require 'torch'
local nn, optim, F = torch.nn, torch.optim, torch.nn.functional

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

-- A training step of what these functions return.
function steps.training(model, optimizer_of, x, y)
  local optimizer = optimizer_of(model:parameters())
  return function()
    optimizer:zero_grad()
    local loss = F.cross_entropy(model(x), y)
    loss:backward()
    optimizer:step()
    return loss
  end
end

-- An operator over 1,024 rows of 768, and its backward, by its name.
function steps.alone(name)
  local x, grad = torch.randn(1024, 768):requires_grad_(), torch.randn(1024, 768)
  local residual, classes = torch.randn(1024, 768), torch.randint(0, 768, {1024})
  local weight, bias = torch.ones(768):requires_grad_(), torch.zeros(768):requires_grad_()
  local compute, leaves = ({
    gelu = function() return F.gelu(x, {approximate = 'tanh'}) end,
    layer_norm = function() return F.layer_norm(x + residual, {768}, weight, bias) end,
    rms_norm = function() return F.rms_norm(x + residual, {768}, {weight = weight}) end,
    softmax = function() return F.softmax(x, -1) end,
    cross_entropy = function() return F.cross_entropy(x, classes) end,
    dropout = function() return F.dropout(x, 0.1) + residual end,
  })[name], ({layer_norm = {x, weight, bias}, rms_norm = {x, weight}})[name] or {x}
  return function()
    local y = compute()
    return y, unpack(torch.autograd.grad(y, leaves, {grad_outputs = y:dim() > 0 and grad or nil}))
  end
end

return steps
