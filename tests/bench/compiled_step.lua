-- One process, one thread: training steps under train.compile, and forwards of models under torch.compile, next to the
-- same ones run eagerly, in turn. Prints "name<TAB>ratio" lines, compiled ÷ eager, and the milliseconds of the first three
-- calls.
--
--   compiled_step.lua quick|full
local torch = require 'torch'
local train = require 'rtrain'
local clock = require 'events'
local models = require 'compiled_models'

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

local function forward(model, x)
  model:eval()
  return function() return model(x) end
end

-- Eight operators over 10⁶ elements.
local function chain()
  local a, b = torch.randn(10 ^ 6), torch.randn(10 ^ 6)
  return function() return (((a + b) * a - b) * 0.5 + a):relu():mul(b):neg() end
end

compare('mlp', models.training(models.mlp()), 30)
compare('small_mlp', models.training(models.small_mlp()), 200)
compare('convnet', models.training(models.convnet()), 2)
compare('transformer', models.training(models.transformer(0.1)), 1)
compare('transformer_plain', models.training(models.transformer(0)), 1)
compare('chain', chain(), 10)
for _, name in ipairs{'gelu', 'layer_norm', 'rms_norm', 'softmax', 'cross_entropy', 'dropout'} do
  compare(name, models.alone(name), 10)
end
torch.no_grad(function()
  compare('forward_mlp', forward(models.deep_mlp()), 500, torch.compile)
  compare('forward_transformer', forward(models.small_transformer()), 100, torch.compile)
end)
