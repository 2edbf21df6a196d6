-- Two ranks with one thread each: epochs of as many virtual workers next to epochs of plain workers, in turn, in the same
-- processes. Prints "name<TAB>ratio" lines, virtual ÷ plain.
--
--   virtual_workers.lua quick|full
local train = require 'rtrain'

local NAMES = {'mlp', 'convnet'}

local function train_func(config)
  local torch, clock = require 'torch', require 'events'
  local registry = require 'torch.distributed.virtual_ranks'
  local nn, data = torch.nn, torch.utils.data
  local ranks = registry.get()
  torch.set_num_threads(1)
  torch.manual_seed(1)

  local NETS = {
    mlp = function()
      return nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10)), {512}, 64
    end,
    convnet = function()
      return nn.Sequential(nn.Conv2d(3, 32, 3, {padding = 1}), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, {stride = 2}), nn.BatchNorm2d(64), nn.ReLU(),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 10)), {3, 32, 32}, 16
    end,
  }

  -- Returns a function that trains an epoch, and the number of its steps.
  local function epoch_of(name, is_virtual)
    registry.set(is_virtual and ranks or nil)
    local net, shape, batch_size = NETS[name]()
    local samples = 2 * batch_size * config.steps
    local x, y = torch.randn(samples, unpack(shape)), torch.randint(0, 10, {samples})
    local model = nn.parallel.DistributedDataParallel(net)
    local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.01, momentum = 0.9})
    local set = data.TensorDataset(x, y)
    local loader = is_virtual
      and train.torch.prepare_data_loader(data.DataLoader(set, {batch_size = batch_size, shuffle = true}))
      or data.DataLoader(set, {batch_size = batch_size, sampler = data.DistributedSampler(set)})
    return function()
      registry.set(is_virtual and ranks or nil)
      train.collective.barrier()
      local start = clock.now()
      for bx, by in loader do
        optimizer:zero_grad()
        nn.functional.cross_entropy(model(bx), by):backward()
        optimizer:step()
      end
      return clock.now() - start
    end
  end

  local function median(values)
    table.sort(values)
    return values[math.ceil(#values / 2)]
  end

  local out = {}
  for _, name in ipairs(NAMES) do
    local virtual, plain, ratios = epoch_of(name, true), epoch_of(name, false), {}
    virtual()
    plain()
    for i = 1, config.rounds do ratios[i] = virtual() / plain() end
    out[name] = median(ratios)
  end
  registry.set(ranks)
  train.report(out)
end

local is_quick = arg[1] == 'quick'
local result = train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {rounds = is_quick and 2 or 25, steps = is_quick and 3 or 15},
  scaling_config = train.ScalingConfig{num_workers = 2, virtual_workers = 2},
}:fit()
for _, name in ipairs(NAMES) do io.write(('%s\t%.6f\n'):format(name, result.metrics[name])) end
