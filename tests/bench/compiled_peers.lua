-- One process, one thread: steps under train.compile. Prints "name<TAB>milliseconds" lines, and the seconds until the plan
-- of the transformer's step ran. Twin of peers/compiled_peers.py: change both.
--
--   compiled_peers.lua quick|full
local torch = require 'torch'
local train = require 'rtrain'
local clock = require 'events'
local models = require 'compiled_models'

torch.set_num_threads(1)
torch.manual_seed(0)
local ROUNDS = arg[1] == 'quick' and 3 or 20

local function report(name, step, count)
  local compiled, times = train.compile(step), {}
  local began = clock.now()
  for _ = 1, 4 do compiled() end
  local first_s = clock.now() - began
  assert(compiled.state == 'compiled', compiled.reason)
  for i = 1, ROUNDS do
    began = clock.now()
    for _ = 1, count do compiled() end
    times[i] = (clock.now() - began) * 1e3 / count
  end
  table.sort(times)
  io.write(('%s\t%.6f\n%s_first\t%.6f\n'):format(name, times[math.ceil(ROUNDS / 2)], name, first_s))
end

report('mlp', models.training(models.mlp()), 30)
report('convnet', models.training(models.convnet()), 1)
report('transformer', models.training(models.transformer(0.1)), 1)
report('transformer_plain', models.training(models.transformer(0)), 1)
for _, name in ipairs{'gelu', 'layer_norm', 'rms_norm', 'softmax', 'cross_entropy', 'dropout'} do
  report(name, models.alone(name), 10)
end
