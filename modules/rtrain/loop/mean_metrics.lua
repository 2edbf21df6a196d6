-- rtrain/loop/mean_metrics.lua: MeanMetrics: weighted means over the batches of all ranks.

local class = require 'base.class'
local collective = require 'rtrain.functions.collective'
local errors = require 'base.errors'
local get_context = require('rtrain.functions.context').get_context
local number = require 'base.number'
local ordered = require 'base.ordered'
local torch = require 'torch'

local MeanMetrics = class('MeanMetrics')

function MeanMetrics:init() self:reset() end

---Clears all sums.
function MeanMetrics:reset() self._sums = ordered.new() end

-- 0-dim tensors stay tensors: reading the number would wait for the device at every batch.
local function as_double(key, value)
  if number.of(value) then return number.of(value) end
  if type(value) == 'userdata' and torch.is_tensor(value) and value:numel() == 1 then
    return value:detach():reshape({}):double()
  end
  errors.raise('argument', ('train.loop: the metric %s is a %s: expected a number or a tensor of one element'):format(key,
    torch.is_tensor(value) and 'tensor of shape {' .. table.concat(value.shape, ', ') .. '}' or type(value)))
end

---@param key string
---@param value number|torch.Tensor
---@param weight number the number of samples
function MeanMetrics:add(key, value, weight) self:_add_to(self._sums, key, value, weight) end

-- Adds to one of the sums.
function MeanMetrics:_add_to(sums, key, value, weight)
  local entry = sums[key]
  if not entry then
    entry = {sum = 0, weight = 0}
    sums[key] = entry
  end
  entry.sum, entry.weight = entry.sum + as_double(key, value) * weight, entry.weight + weight
end

---Returns a sum as a number. It may wait for the device.
---@param sum number|torch.Tensor
---@return number
function MeanMetrics.as_number(sum) return type(sum) == 'number' and sum or sum:item() end

local as_number = MeanMetrics.as_number

---Returns this rank's sums, as a part of train.state that each rank saves separately.
---@return table state
function MeanMetrics:state()
  local sums = ordered.new()
  for key, entry in ordered.items(self._sums) do sums[key] = {sum = as_number(entry.sum), weight = entry.weight} end
  return {rank = get_context():get_world_rank(), sums = sums}
end

---Loads this rank's sums. Those of other ranks, from a checkpoint with another number of workers, are left out so that
---they are not counted twice.
---@param state table a result of state()
function MeanMetrics:load_state(state)
  self:reset()
  if state.rank ~= get_context():get_world_rank() then return end
  for key, entry in ordered.items(state.sums) do self._sums[key] = {sum = entry.sum, weight = entry.weight} end
end

-- Returns the keys of rank 0, since a rank without batches has none. Keys that only other ranks have are lost.
local function agreed_keys(self, context)
  local own = ordered.keys(self._sums)
  if context:get_world_size() == 1 then return own end
  local keys = collective.broadcast_from_rank_zero(own)
  local known = {}
  for _, key in ipairs(keys) do known[key] = true end
  for _, key in ipairs(own) do
    if not known[key] then
      errors.raise('argument', ("train.loop: rank %d has the metric '%s' and rank 0 has not: return the same on every rank")
        :format(context:get_world_rank(), key))
    end
  end
  return keys
end

---Returns the means over all ranks. A collective: all ranks must call it.
---@return table means ordered, by key
function MeanMetrics:reduce()
  local context = get_context()
  local keys, numbers = agreed_keys(self, context), {}
  for i, key in ipairs(keys) do
    local entry = self._sums[key] or {sum = 0, weight = 0}
    numbers[2 * i - 1], numbers[2 * i] = as_number(entry.sum), entry.weight
  end
  local means = ordered.new()
  if #keys == 0 then return means end
  local totals = torch.tensor(numbers, {dtype = torch.float64})
  if context:get_world_size() > 1 then torch.distributed.all_reduce(totals) end
  local values = totals:tolist()
  for i, key in ipairs(keys) do means[key] = values[2 * i - 1] / values[2 * i] end
  return means
end

return MeanMetrics
