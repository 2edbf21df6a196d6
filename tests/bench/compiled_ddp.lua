-- Two ranks with one thread each: training steps with DistributedDataParallel under train.compile next to the same steps
-- run eagerly, in turn. Prints "name<TAB>ratio" lines, compiled ÷ eager.
--
--   compiled_ddp.lua quick|full
local train = require 'rtrain'

local NAMES = {'mlp', 'small_mlp', 'convnet', 'transformer'}
local COUNTS = {mlp = 30, small_mlp = 200, convnet = 2, transformer = 1}

local function train_func(config)
  local torch = require 'torch'
  local clock, models = require 'events', require 'compiled_models'
  torch.set_num_threads(1)

  local function median(values)
    table.sort(values)
    return values[math.ceil(#values / 2)]
  end

  local function milliseconds(fn, count)
    torch.distributed.barrier()
    local start = clock.now()
    for _ = 1, count do fn() end
    return (clock.now() - start) * 1e3 / count
  end

  local function step_of(net, ...) return models.training(train.torch.prepare_model(net), ...) end

  local out = {}
  for _, name in ipairs(NAMES) do
    local eager = step_of(models[name](0.1))
    local compiled, eager_ms, compiled_ms = train.compile(eager), {}, {}
    for _ = 1, 5 do compiled() end
    assert(compiled.state == 'compiled', compiled.reason)
    for i = 1, config.rounds do
      eager_ms[i] = milliseconds(eager, COUNTS[name])
      compiled_ms[i] = milliseconds(compiled, COUNTS[name])
    end
    out[name] = median(compiled_ms) / median(eager_ms)
  end
  train.report(out)
end

local result = train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {rounds = arg[1] == 'quick' and 2 or 15},
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
for _, name in ipairs(NAMES) do io.write(('%s\t%.6f\n'):format(name, result.metrics[name])) end
