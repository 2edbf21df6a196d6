-- One process, one thread: training steps under train.compile, and forwards of models under torch.compile, next to the
-- same ones run eagerly, in turn. Prints "name<TAB>ratio" lines, compiled ÷ eager, and the milliseconds of the first three
-- calls.
--
--   compiled_step.lua quick|full
local torch = require 'torch'
local train = require 'rtrain'
local clock = require 'events'
local models = require 'compiled_models'
local F = torch.nn.functional

torch.set_num_threads(1)
torch.manual_seed(0)
local ROUNDS = arg[1] == 'quick' and 2 or 15

local function median(values)
  table.sort(values)
  return values[math.ceil(#values / 2)]
end

local function milliseconds(fn, count)
  local start = clock.now()
  for _ = 1, count do fn() end
  return (clock.now() - start) * 1e3 / count
end

-- Prints the ratio of the medians of rounds of `count` calls each. `compile`: default train.compile.
local function compare(name, fn, count, compile)
  local compiled, eager_ms, compiled_ms = (compile or train.compile)(fn), {}, {}
  local first = milliseconds(compiled, 3) * 3
  assert(compiled.state == 'compiled', compiled.reason)
  for i = 1, ROUNDS do
    eager_ms[i] = milliseconds(fn, count)
    compiled_ms[i] = milliseconds(compiled, count)
  end
  io.write(('%s\t%.6f\n%s_first\t%.3f\n'):format(name, median(compiled_ms) / median(eager_ms), name, first))
end

local function training(model, optimizer_of, x, y)
  local optimizer = optimizer_of(model:parameters())
  return function()
    optimizer:zero_grad()
    local loss = F.cross_entropy(model(x), y)
    loss:backward()
    optimizer:step()
    return loss
  end
end

local function forward(model, x)
  model:eval()
  return function() return model(x) end
end

-- Eight operators over 10⁶ elements.
local function chain()
  local a, b = torch.randn(10 ^ 6), torch.randn(10 ^ 6)
  return function() return (((a + b) * a - b) * 0.5 + a):relu():mul(b):neg() end
end

-- An operator over 1,024 rows of 768, and its backward.
local function alone(compute, leaves)
  local x, grad = torch.randn(1024, 768):requires_grad_(), torch.randn(1024, 768)
  return function()
    local y = compute(x)
    return y, unpack(torch.autograd.grad(y, {x, unpack(leaves or {})}, {grad_outputs = y:dim() > 0 and grad or nil}))
  end
end

local residual, classes = torch.randn(1024, 768), torch.randint(0, 768, {1024})
local weight, bias = torch.ones(768):requires_grad_(), torch.zeros(768):requires_grad_()

compare('mlp', training(models.mlp()), 30)
compare('small_mlp', training(models.small_mlp()), 200)
compare('convnet', training(models.convnet()), 2)
compare('transformer', training(models.transformer(0.1)), 1)
compare('transformer_plain', training(models.transformer(0)), 1)
compare('chain', chain(), 10)
compare('gelu', alone(function(x) return F.gelu(x, {approximate = 'tanh'}) end), 10)
compare('layer_norm', alone(function(x) return F.layer_norm(x + residual, {768}, weight, bias) end, {weight, bias}), 10)
compare('softmax', alone(function(x) return F.softmax(x, -1) end), 10)
compare('cross_entropy', alone(function(x) return F.cross_entropy(x, classes) end), 10)
compare('dropout', alone(function(x) return F.dropout(x, 0.1) + residual end), 10)
torch.no_grad(function()
  compare('forward_mlp', forward(models.deep_mlp()), 500, torch.compile)
  compare('forward_transformer', forward(models.small_transformer()), 100, torch.compile)
end)
