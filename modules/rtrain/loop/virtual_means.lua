-- rtrain/loop/virtual_means.lua: VirtualMeans: weighted means over the batches of all virtual ranks, which are the same for
-- any number of processes.
--
-- The sums of a virtual rank's batches are added up by themselves, and those of all virtual ranks in their order. After
-- `exchange` all processes have the sums of all: none is lost with a process.

local errors = require 'base.errors'
local MeanMetrics = require 'rtrain.loop.mean_metrics'
local ordered = require 'base.ordered'
local session = require 'rtrain.session'
local torch = require 'torch'

local VirtualMeans = MeanMetrics:extend 'VirtualMeans'

---@param ranks rtrain.VirtualRanks
function VirtualMeans:init(ranks)
  self._ranks = ranks
  MeanMetrics.init(self)
end

---Clears all sums.
function VirtualMeans:reset()
  self._of_rank, self._keys, self._totals = {}, nil, nil
end

-- Returns the virtual rank to which a batch counts; nil for none. All processes have the same batches outside of a loop over
-- those of virtual ranks: they count once.
local function counting_rank(self)
  local rank = self._ranks:rank()
  if rank then return rank end
  return session.get('train.loop').context.world_rank == 0 and 0 or nil
end

---@param key string
---@param value number|torch.Tensor
---@param weight number the number of samples
function VirtualMeans:add(key, value, weight)
  local rank = counting_rank(self)
  if rank == nil then return end
  local sums = self._of_rank[rank] or ordered.new()
  self._of_rank[rank] = sums
  self:_add_to(sums, key, value, weight)
end

-- Returns the keys of virtual rank 0, which has a batch in each step.
local function agreed_keys(self)
  if self._keys then return self._keys end
  local own = self._of_rank[0] and ordered.keys(self._of_rank[0]) or {}
  return require('rtrain.functions.collective').broadcast_from_rank_zero(own)
end

local function check_keys(keys, sums, rank)
  local known = {}
  for _, key in ipairs(keys) do known[key] = true end
  for _, key in ipairs(ordered.keys(sums)) do
    if not known[key] then
      errors.raise('argument', ("train.loop: virtual rank %d has the metric '%s' and virtual rank 0 has not: return the same "
        .. 'for each batch'):format(rank, key))
    end
  end
end

local function exchange(self)
  local keys = agreed_keys(self)
  if #keys == 0 then return end
  self._keys = keys
  local numbers, width = {}, 2 * #keys
  for i = 1, self._ranks.count * width do numbers[i] = 0 end
  for rank = 0, self._ranks.count - 1 do
    local sums = self._of_rank[rank]
    if sums then check_keys(keys, sums, rank) end
    for i, key in ipairs(sums and keys or {}) do
      local entry = sums[key] or {sum = 0, weight = 0}
      numbers[rank * width + 2 * i - 1], numbers[rank * width + 2 * i] = self.as_number(entry.sum), entry.weight
    end
  end
  if session.get('train.loop').context.world_size > 1 then
    local all = torch.tensor(numbers, {dtype = torch.float64})
    torch.distributed.all_reduce(all)  -- each number comes from one process, and the others add zeros
    numbers = all:tolist()
  end
  local totals = self._totals or {}
  for i = 1, width do
    totals[i] = totals[i] or 0
    for rank = 0, self._ranks.count - 1 do totals[i] = totals[i] + numbers[rank * width + i] end
  end
  self._totals, self._of_rank = totals, {}
end

---Adds the sums of all virtual ranks to those so far, in all processes. A collective.
function VirtualMeans:exchange() self._ranks:quietly(exchange, self) end

---Returns the sums of all virtual ranks.
---@return table state
function VirtualMeans:state() return {keys = self._keys, totals = self._totals and {unpack(self._totals)}} end

---@param state table a result of state()
function VirtualMeans:load_state(state)
  self:reset()
  self._keys, self._totals = state.keys, state.totals and {unpack(state.totals)}
end

---Returns the means. A collective.
---@return table means ordered, by key
function VirtualMeans:reduce()
  self:exchange()
  local means = ordered.new()
  for i, key in ipairs(self._keys or {}) do means[key] = self._totals[2 * i - 1] / self._totals[2 * i] end
  return means
end

return VirtualMeans
