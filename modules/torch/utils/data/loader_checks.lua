-- torch/utils/data/loader_checks.lua: checks the combination of a DataLoader's arguments.

local errors = require 'base.errors'
local torch = require 'torch'
local warnings = require 'base.warnings'

local function refuse(...) errors.raise('argument', 'DataLoader: ' .. string.format(...)) end

local function is_count(value, least)
  return type(value) == 'number' and value >= least and value % 1 == 0
end

local function check_flags(a)
  for _, name in ipairs{'pin_memory', 'drop_last', 'persistent_workers', 'in_order', 'shuffle'} do
    local value = a[name]
    if value ~= nil and type(value) ~= 'boolean' then refuse('%s is true or false, got %s', name, tostring(value)) end
  end
  for _, name in ipairs{'collate_fn', 'worker_init_fn'} do
    local value = a[name]
    local is_callable = type(value) == 'function' or (getmetatable(value) or {}).__call
    if value ~= nil and not is_callable then refuse('%s is a function, got a %s', name, type(value)) end
  end
end

local function check_workers(a)
  if not is_count(a.num_workers, 0) then
    refuse('num_workers is a number from 0 on, got %s; with 0 the batches are made in the training thread',
      tostring(a.num_workers))
  end
  if type(a.timeout) ~= 'number' or a.timeout < 0 or a.timeout ~= a.timeout then
    refuse('timeout is a number of seconds from 0 on, got %s', tostring(a.timeout))
  end
  if a.timeout > 0 and a.num_workers == 0 then
    refuse('timeout needs num_workers > 0: without workers nobody waits')
  end
  if a.prefetch_factor ~= nil and a.num_workers == 0 then
    refuse('prefetch_factor needs num_workers > 0: there is nobody who could load in advance')
  end
  if a.prefetch_factor ~= nil and not is_count(a.prefetch_factor, 1) then
    refuse('prefetch_factor is a number from 1 on, got %s', tostring(a.prefetch_factor))
  end
  if a.persistent_workers and a.num_workers == 0 then refuse('persistent_workers needs num_workers > 0') end
  if a.num_workers > 0 and a.dataset.batch_device then
    refuse('the dataset lies on %s, where this thread makes its batches fastest: leave num_workers out, got %d',
      a.dataset.batch_device, a.num_workers)
  end
  if a.multiprocessing_context ~= nil then
    refuse('multiprocessing_context must be nil: workers are threads of this process, so there is no way to start processes '
      .. 'to choose')
  end
end

local function check_iterable(a)
  for _, name in ipairs{'sampler', 'batch_sampler'} do
    if a[name] ~= nil then
      refuse('an IterableDataset has an order of its own: leave %s out', name)
    end
  end
  if a.shuffle then refuse('an IterableDataset has an order of its own: leave shuffle out') end
end

local function check_samplers(a)
  for _, name in ipairs{'sampler', 'batch_sampler'} do
    local kind = type(a[name])
    if kind ~= 'nil' and kind ~= 'userdata' and kind ~= 'table' then
      refuse('%s is a Sampler or a list, got a %s', name, kind)
    end
  end
end

local function check_batches(a)
  if a.batch_sampler and (a.batch_size ~= nil and a.batch_size ~= 1 or a.shuffle or a.sampler or a.drop_last) then
    refuse('batch_sampler excludes batch_size, shuffle, sampler and drop_last')
  end
  if a.sampler and a.shuffle then refuse('sampler excludes shuffle') end
  if a.batch_size == torch.none then
    if a.drop_last then refuse('batch_size = torch.none makes no batches and excludes drop_last') end
  elseif a.batch_size ~= nil and not is_count(a.batch_size, 1) then
    refuse('batch_size is a positive integer, or torch.none for samples without batches, got %s', tostring(a.batch_size))
  end
end

local has_warned = false

-- Python's torch also continues without pinned memory.
local function check_pinning(a)
  if not a.pin_memory or has_warned or torch.cuda.is_available() then return end
  has_warned = true
  warnings.warn('DataLoader: pin_memory has no effect: there is no GPU to copy to')
end

---Raises code 'argument' for arguments of the wrong kind and for arguments that exclude each other.
---@param a table the bound arguments
---@param is_iterable boolean
local function check(a, is_iterable)
  local kind = type(a.dataset)
  if kind ~= 'userdata' and kind ~= 'table' then refuse('the dataset is a Dataset, a Tensor or a list, got a %s', kind) end
  check_flags(a)
  check_workers(a)
  if is_iterable then check_iterable(a) end
  check_samplers(a)
  check_batches(a)
  check_pinning(a)
end

return check
