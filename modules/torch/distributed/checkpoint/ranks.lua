-- torch/distributed/checkpoint/ranks.lua: the ranks that write or read a checkpoint together.

local class = require 'base.class'
local collectives = require 'torch.distributed.collectives'
local errors = require 'base.errors'
local groups = require 'torch.distributed.groups'
local torch = require 'torch'

---@class checkpoint.Ranks
---@field rank integer
---@field size integer
---@overload fun(options?: {process_group: ProcessGroup|nil, no_dist: boolean|nil}): checkpoint.Ranks
local Ranks = class 'Ranks'

---Without a process group, or with no_dist, this process alone.
---@param options? {process_group: ProcessGroup|nil, no_dist: boolean|nil}
function Ranks:init(options)
  options = options or {}
  self._group = options.process_group
  if options.no_dist or not groups.is_initialized() then
    self.rank, self.size = 0, 1
  else
    self.rank, self.size = groups.get_rank(self._group), groups.get_world_size(self._group)
    if self.rank < 0 then errors.raise('argument', 'checkpoint: process_group: this rank is not in it') end
  end
end

local function tensor_of(self, numbers)
  local device = groups.get_backend(self._group) == 'nccl' and 'cuda' or 'cpu'
  return torch.tensor(numbers, {dtype = 'int64', device = device})
end

---Gives every rank the numbers of all ranks.
---@param numbers integer[] as many on each rank
---@return integer[][] lists by rank: lists[1] is rank 0's
function Ranks:all_gather(numbers)
  if self.size == 1 then return {numbers} end
  local lists = collectives.all_gather(tensor_of(self, numbers), {group = self._group})
  for rank, each in ipairs(lists) do lists[rank] = each:tolist() end
  return lists
end

---Gives every rank the numbers of rank 0.
---@param numbers integer[] as many on each rank
---@return integer[]
function Ranks:broadcast(numbers)
  if self.size == 1 then return numbers end
  local root = self._group and groups.get_global_rank(self._group, 0) or 0
  return collectives.broadcast(tensor_of(self, numbers), {src = root, group = self._group}):tolist()
end

---Gives rank 0 the numbers of all ranks.
---@param numbers integer[] as many on each rank
---@return integer[][]|nil lists nil on other ranks
function Ranks:gather(numbers)
  if self.size == 1 then return {numbers} end
  local root = self._group and groups.get_global_rank(self._group, 0) or 0
  local lists = collectives.gather(tensor_of(self, numbers), {dst = root, group = self._group})
  for rank, each in ipairs(lists or {}) do lists[rank] = each:tolist() end
  return lists
end

---Calls a function that other ranks call at the same time. If it raises an error on one, all raise an error.
---@param what string what a rank could not do, for the others: 'write its part of …'
---@param fn fun()
function Ranks:together(what, fn)
  local ok, problem = xpcall(fn, errors.wrap)
  for rank, each in ipairs(self:all_gather{ok and 0 or 1}) do
    if ok and each[1] ~= 0 then
      errors.raise('checkpoint', ('rank %d could not %s: its own error says why'):format(rank - 1, what))
    end
  end
  if not ok then error(problem, 0) end
end

return Ranks
