-- torch/distributed/engine.lua: the engine's process groups, and the ranks that take part in a call.

local default_group = require 'torch.distributed.default_group'
local errors = require 'base.errors'
local warnings = require 'base.warnings'

local engine = {}

---A group of ranks: a result of new_group, or `group.WORLD`.
---@class ProcessGroup

---The operation that a collective with async_op, isend or irecv has begun.
---@class Work
---@field wait fun(self: Work): boolean waits until it has ended, or is queued on the device; raises its error
---@field is_completed fun(self: Work): boolean
---@field is_success fun(self: Work): boolean completed without an error
---@field result fun(self: Work): torch.Tensor[] the output tensors
---@field get_future fun(self: Work): Future of the output tensors
---@field source_rank fun(self: Work): integer for a message: the sender's rank

---The result of new_group on a rank that is not in the group.
engine.NON_GROUP_MEMBER = setmetatable({}, {__tostring = function() return 'GroupMember.NON_GROUP_MEMBER' end})

local function get_future(work) return require('torch.futures')._of_work(work) end

---Returns the engine's functions; a group is not required.
---@return table
function engine.functions()
  local functions = require('torch._C').distributed
  functions.Work.get_future = get_future
  return functions
end

---Returns the engine's functions. In a train function the group is formed by the first call that needs it.
---@return table
function engine.joined()
  default_group.ensure()
  return engine.functions()
end

---Returns this rank and the number of ranks. A rank that takes a lost one's place knows them before there is a group.
---@param group ProcessGroup|nil nil: all ranks
---@return integer rank
---@return integer world_size
function engine.place(group)
  local place = group == nil and default_group.is_joining() and default_group.place()
  if place then return place.rank(), place.world_size() end
  local dist = engine.joined()
  return dist.get_rank(group), dist.get_world_size(group)
end

---Returns whether this rank is outside of the group. Then it warns, as PyTorch does, and the call does nothing.
---@param name string the function
---@param group any argument of the call
---@return boolean
function engine.is_outside(name, group)
  if group ~= engine.NON_GROUP_MEMBER then return false end
  warnings.warn(('%s: rank %d does not belong to the given group'):format(name, engine.joined().get_rank()))
  return true
end

---Returns the global rank given by `src` or `group_src`; nil if neither is given.
---@param name string the function
---@param p table its arguments
---@param key string 'src' or 'dst'
---@return integer?
function engine.rank_of(name, p, key)
  local in_group = p['group_' .. key]
  if in_group == nil then return p[key] end
  if p[key] ~= nil then errors.raise('argument', ('%s: give %s or group_%s'):format(name, key, key)) end
  return engine.joined().get_global_rank(p.group, in_group)
end

return engine
