-- rtrain/torch/init.lua: train.torch: prepares models and loaders for the workers of a TorchTrainer.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local number = require 'base.number'
local session = require 'rtrain.session'
local virtual = require 'rtrain.virtual'

---@class rtrain.torch
local train_torch = {}

local STRATEGIES = {'ddp', 'fsdp', 'none'}

local function devices_of(state)
  local names = {}
  for i, gpu in ipairs(state.gpus) do names[i] = ('cuda:%d'):format(gpu) end
  return #names > 0 and names or {'cpu'}
end

---Returns the device of this worker, or the first of several. Ray equivalent: ray.train.torch.get_device.
---@return string device 'cuda:0', 'cuda:1', …; 'cpu' without ScalingConfig.use_gpu
function train_torch.get_device() return devices_of(session.get('train.torch.get_device()'))[1] end

---Returns the devices of this worker. Each worker of a node sees the devices of all of them, so their numbers differ.
---Ray equivalent: ray.train.torch.get_devices.
---@return string[] devices a single device, unless `resources_per_worker.GPU` is more; {'cpu'} without
---  ScalingConfig.use_gpu
function train_torch.get_devices() return devices_of(session.get('train.torch.get_devices()')) end

local function check_strategy(strategy)
  if strategy == nil or strategy == 'ddp' then return 'ddp' end
  if strategy == false or strategy == 'none' then return 'none' end
  return args.one_of('prepare_model: parallel_strategy', strategy, STRATEGIES)
end

-- Returns whether the model has no memory yet: fully_shard divides it first.
local function is_meta(model)
  local first = model:parameters()[1]
  return first ~= nil and first.device == 'meta'
end

---Prepares the model for training on all workers: with several, wraps it in a DistributedDataParallel, or shards it; with
---one, returns the model itself. Moves it to the worker's device first.
---
---With parallel_strategy = 'fsdp' each worker has a part of the parameters, gradients and optimizer state
---(torch.distributed.fsdp.fully_shard). `parallel_strategy_kwargs.wrap` chooses the modules that are gathered by
---themselves: a class of modules, a list of classes, or a function of a module. With `replicas = 1` another worker keeps a
---copy of each worker's rows, for train.elastic. The other keys are options of fully_shard.
---With 'ddp', `parallel_strategy_kwargs = {zero = 1}` divides the optimizer's state alone, `{zero = 2}` the gradients too
---(ZeRO, Rajbhandari et al. 2020). In all three make the optimizer afterwards: its parameters are the worker's rows.
---@param model nn.Module
---@param options? {move_to_device: boolean, parallel_strategy: string|boolean, parallel_strategy_kwargs: table}
---  strategy 'ddp' (default), 'fsdp', 'none' or false
---@return nn.Module model
---Ray equivalent: ray.train.torch.prepare_model.
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
  if strategy ~= 'ddp' or options.parallel_strategy_kwargs and options.parallel_strategy_kwargs.zero then
    virtual.refuse(state, 'prepare_model: another parallel_strategy than ddp', 'they add up whole gradients')
  end
  if #state.gpus > 0 and options.move_to_device ~= false and not is_meta(model) then model:to(train_torch.get_device()) end
  require('rtrain.session.not_finite').add_model(model)
  if state.probe then state.probe:add_model(model) end
  if strategy ~= 'ddp' then require('rtrain.session.replicas').finish() end
  if strategy == 'none' or state.context.world_size == 1 and not state.virtual then return model end
  local kwargs = options.parallel_strategy_kwargs
  if strategy == 'fsdp' then return require('rtrain.torch.shard_model').fsdp(model, kwargs) end
  if type(kwargs) == 'table' and kwargs.zero ~= nil then return require('rtrain.torch.shard_model').zero(model, kwargs) end
  return require('torch.nn.parallel.distributed')(model, kwargs)
end

---Returns the model that was passed to prepare_model, with any number of workers.
---@param model nn.Module a result of prepare_model
---@return nn.Module
function train_torch.unwrap(model)
  if class.is(model, require 'torch.nn.parallel.distributed') then return model.module end
  return model
end

---Gives each worker its part of the loader's dataset: with several workers, returns a loader with the same options and
---a split sampler: a DistributedSampler, shuffled if the loader was, or a DistributedSamplerWrapper around a sampler of
---another kind. Call `loader.sampler:set_epoch(epoch)` before each epoch. An IterableDataset is not split: it must ask
---`train.get_context()` for its rank. Batches are moved to the worker's device if that is not the CPU, the next batch
---while the loop computes (auto_transfer).
---
---If the dataset cannot be divided evenly, a DistributedSampler repeats the first samples, so that all workers make the
---same number of steps; a mean over the workers would count these twice. With `padding = false` each sample is used
---once, for an evaluation: a worker may then have one batch less, so the loop must not wait for the other workers. Where
---the loader has `drop_last` no sample is repeated: an epoch has the whole steps. A step of all workers has the same samples
---for any number of workers with the same global batch (`rtrain doc guide/reproducibility`).
---@param loader data.DataLoader
---@param options? {add_dist_sampler: boolean, move_to_device: boolean, auto_transfer: boolean, padding: boolean} all true
---@return data.DataLoader
---Ray equivalent: ray.train.torch.prepare_data_loader, without `padding`. Raises code 'argument' for a batch_sampler of
---a custom class.
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
  local state = session.get('train.torch.prepare_data_loader()')
  options = args.options(options, {'add_dist_sampler', 'move_to_device', 'auto_transfer', 'padding'}, 'prepare_data_loader')
  return require 'rtrain.torch.prepare_loader'(loader, state.context, train_torch.get_device(), options,
    state.virtual)
end

---Returns this worker's part of a global batch, so that a group that grows or shrinks trains with the same global
---batch. The parts are equal, since unequal parts would lead to unequal numbers of steps. If the number of workers does
---not divide the batch, the parts are rounded; the second result is the actual global batch size, by which to scale a
---learning rate.
---@param global_batch_size integer
---@return integer batch_size for the DataLoader
---@return integer global_batch_size workers * batch_size
---Ray leaves that to the script. Raises code 'argument' for less than one sample for each worker.
---
---```lua
---local train = require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    local batch_size, all = train.torch.local_batch_size(64)
---    train.report {batch_size = batch_size, lr = 0.1 * all / 64}
---  end,
---  scaling_config = train.ScalingConfig {num_workers = 3},
---}):fit()
---assert(result.metrics.batch_size == 21 and result.metrics.lr == 0.1 * 63 / 64)
---```
function train_torch.local_batch_size(global_batch_size)
  local workers = virtual.num_parts(session.get('train.torch.local_batch_size()'))
  if type(global_batch_size) ~= 'number' or global_batch_size % 1 ~= 0 then
    errors.raise('argument', ('local_batch_size: expected a whole number of samples, got %s'):format(
      tostring(global_batch_size)))
  end
  if global_batch_size < workers then
    errors.raise('argument', ('local_batch_size: a batch of %d has no sample for each of %d workers'):format(global_batch_size,
      workers))
  end
  local size = math.floor(global_batch_size / workers + 0.5)
  return size, size * workers
end

-- cuBLAS requires this variable in deterministic mode. A value of the user is kept.
local function fix_cublas_workspace()
  local ffi = require 'ffi'
  ffi.cdef 'int setenv(const char *name, const char *value, int overwrite);'
  ffi.C.setenv('CUBLAS_WORKSPACE_CONFIG', ':4096:8', 0)
end

---Seeds torch and Lua's math.random identically on every worker. For numbers that differ between workers, seed with
---`seed + rank` afterwards. On GPUs operators become deterministic (torch.use_deterministic_algorithms,
---CUBLAS_WORKSPACE_CONFIG), operators without a deterministic version raise errors, and cuDNN chooses kernels without
---timing them. Call it before the first tensor is on the GPU.
---@param seed? integer default 0
---Ray equivalent: ray.train.torch.enable_reproducibility.
function train_torch.enable_reproducibility(seed)
  session.get('train.torch.enable_reproducibility()')
  local torch = require 'torch'
  torch.manual_seed(seed or 0)
  math.randomseed(number.of(seed or 0))
  torch.backends.cudnn.benchmark = false
  if train_torch.get_device() == 'cpu' then return end
  fix_cublas_workspace()
  torch.use_deterministic_algorithms(true)
end

return require 'base.namespace'('train.torch', nil, train_torch)
