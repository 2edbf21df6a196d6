-- rtrain/torch/init.lua: train.torch: a model and a loader made ready for the workers of a TorchTrainer.

local args = require 'rtrain.args'
local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local session = require 'rtrain.session'

---@class rtrain.torch
local train_torch = {}

local STRATEGIES = {'ddp', 'none'}

---The device of this worker. Counterpart: ray.train.torch.get_device.
---@return string device 'cpu' in this version
function train_torch.get_device()
  session.get('train.torch.get_device()')
  return 'cpu'
end

---The devices of this worker. Counterpart: ray.train.torch.get_devices.
---@return string[] devices {'cpu'} in this version
function train_torch.get_devices() return {train_torch.get_device()} end

local function check_strategy(strategy)
  if strategy == nil or strategy == 'ddp' then return 'ddp' end
  if strategy == false or strategy == 'none' then return 'none' end
  if strategy == 'fsdp' then
    errors.raise('unsupported', "prepare_model: parallel_strategy = 'fsdp' is not in this version: 'ddp' or 'none'")
  end
  args.one_of('prepare_model: parallel_strategy', strategy, STRATEGIES)
end

---Makes the model train on all workers: with several, a DistributedDataParallel around it; with one, the model itself.
---@param model nn.Module
---@param options? {move_to_device: boolean, parallel_strategy: string|boolean, parallel_strategy_kwargs: table}
---  strategy 'ddp' (default), 'none' or false
---@return nn.Module model
---Counterpart: ray.train.torch.prepare_model.
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    local rank = train.get_context():get_world_rank()
---    local net = torch.nn.Linear(1, 1, {bias = false})
---    local model = train.torch.prepare_model(net)
---    model(torch.full({1, 1}, rank + 1)):sum():backward()
---    train.report {grad = net.weight.grad:item()}
---  end,
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---assert(result.metrics.grad == 1.5)  -- the mean of 1 and 2
---```
function train_torch.prepare_model(model, options)
  local state = session.get('train.torch.prepare_model()')
  options = args.options(options, {'move_to_device', 'parallel_strategy', 'parallel_strategy_kwargs'}, 'prepare_model')
  local strategy = check_strategy(options.parallel_strategy)
  if strategy == 'none' or state.context.world_size == 1 then return model end
  return require('rtrain.torch.ddp')(model, options.parallel_strategy_kwargs)
end

---The model that prepare_model was given, with any number of workers.
---@param model nn.Module what prepare_model returned
---@return nn.Module
function train_torch.unwrap(model)
  if class.is(model, require 'rtrain.torch.ddp') then return model.module end
  return model
end

local function distributed_sampler(loader, context)
  local data = require 'torch.utils.data'
  local sampler = loader.sampler
  local is_random = class.is(sampler, data.RandomSampler)
  local is_default = is_random or class.is(sampler, data.SequentialSampler)
  if not is_default and context.world_rank == 0 then
    io.stderr:write(('prepare_data_loader: %s is replaced by a DistributedSampler; add_dist_sampler = false keeps it\n')
      :format(tostring(sampler)))
  end
  return data.DistributedSampler(loader.dataset, {
    num_replicas = context.world_size, rank = context.world_rank, shuffle = is_random,
  })
end

---Gives each worker its part of the loader's dataset: with several workers a loader with the same options and a
---DistributedSampler, shuffled where the loader was. Call `loader.sampler:set_epoch(epoch)` before each epoch.
---@param loader data.DataLoader
---@param options? {add_dist_sampler: boolean, move_to_device: boolean, auto_transfer: boolean} all true
---@return data.DataLoader
---Counterpart: ray.train.torch.prepare_data_loader. Raises code 'argument' for a loader with a batch_sampler of its own.
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local data = torch.utils.data
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    local loader = data.DataLoader(data.TensorDataset(torch.arange(10)), {batch_size = 2})
---    local sum = 0
---    for x in train.torch.prepare_data_loader(loader) do sum = sum + x:sum():item() end
---    train.report {sum = sum}
---  end,
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---assert(result.metrics.sum == 0 + 2 + 4 + 6 + 8)
---```
function train_torch.prepare_data_loader(loader, options)
  local context = session.get('train.torch.prepare_data_loader()').context
  options = args.options(options, {'add_dist_sampler', 'move_to_device', 'auto_transfer'}, 'prepare_data_loader')
  local data = require 'torch.utils.data'
  if not class.is(loader, data.DataLoader) then
    errors.raise('argument', ('prepare_data_loader: expected a DataLoader, got a %s'):format(type(loader)))
  end
  local is_split = class.is(loader.sampler, data.DistributedSampler)
  if context.world_size == 1 or options.add_dist_sampler == false or is_split then return loader end
  local given = loader:options()
  if given.batch_sampler then
    errors.raise('argument', 'prepare_data_loader: the loader has a batch_sampler of its own: make it of a DistributedSampler, '
      .. 'or pass add_dist_sampler = false')
  end
  given.shuffle, given.sampler = nil, distributed_sampler(loader, context)
  return data.DataLoader(given)
end

---Seeds torch and Lua's math.random alike on every worker. For numbers that differ between workers, seed with
---`seed + rank` afterwards.
---@param seed? integer default 0
---Counterpart: ray.train.torch.enable_reproducibility.
function train_torch.enable_reproducibility(seed)
  session.get('train.torch.enable_reproducibility()')
  require('torch').manual_seed(seed or 0)
  math.randomseed(seed or 0)
end

return require 'rtrain.namespace'('train.torch', nil, train_torch)
