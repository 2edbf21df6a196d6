-- torch/distributed/groups.lua: the process group of all ranks, and groups of some ranks.

local args = require 'base.args'
local default_group = require 'torch.distributed.default_group'
local engine = require 'torch.distributed.engine'
local errors = require 'base.errors'
local virtual_ranks = require 'torch.distributed.virtual_ranks'

local groups = {}
local defined = args.definer(groups)

local OUTSIDE = engine.NON_GROUP_MEMBER

---Makes the process group of this process. A trainer does it before the train function runs; a script without a trainer
---may make a group of one rank.
---@param backend? string default 'cpu:shm,cuda:nccl': CPU tensors over shared memory, and over Gloo
---  between nodes, CUDA tensors over NCCL if every rank has its own device, else over Gloo. 'gloo' for all; 'nccl' or
---  'cpu:gloo,cuda:nccl': an error without NCCL; 'shm': only CPU tensors, an error on several nodes
---@param options? {rank: integer, world_size: integer, timeout_s: number, is_high_priority_stream: boolean} timeout_s:
---  seconds, default 1800; is_high_priority_stream: NCCL's work precedes the model's
---Errors: 'argument' if there is one already, 'environment' for 'nccl' without a device and for 'shm' on several nodes,
---'unsupported' for several ranks without a trainer.
---
---```lua
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---assert(dist.get_world_size() == 1)
---dist.destroy_process_group()
---```
function groups.init_process_group(backend, options)
  if type(backend) == 'table' then backend, options = nil, backend end
  options = args.options(options, {'backend', 'rank', 'world_size', 'timeout_s', 'prefix', 'is_high_priority_stream'},
    'init_process_group')
  engine.functions().init_process_group{
    backend = backend or options.backend, rank = options.rank, world_size = options.world_size,
    timeout_s = options.timeout_s, prefix = options.prefix, is_high_priority_stream = options.is_high_priority_stream}
end

---Destroys a process group; without an argument all groups: reducers of DistributedDataParallel, groups of some ranks,
---then the group of all ranks. Does nothing if there is no group.
---@param group? ProcessGroup
function groups.destroy_process_group(group)
  if group == OUTSIDE then return end
  engine.functions().destroy_process_group(group)
  if not engine.functions().is_initialized() then default_group.leave() end
end

-- Returns the properties that this rank knows by itself: for a group that is not formed yet, from its place in it.
local function known(name, group)
  local place = group == nil and default_group.place()
  if place then return place[name]() end
  if group == nil and not default_group.is_formed() then default_group.ensure() end  -- raises the reason
  return engine.functions()['get_' .. name](group)
end

---@return boolean whether this process has a process group; always true in a train function, although the first
---  collective forms it
function groups.is_initialized() return default_group.is_there() end

---@return boolean always true: the wheel's LibTorch has Gloo
function groups.is_available() return true end

---@return boolean true
function groups.is_gloo_available() return true end

---@return boolean whether this process has loaded LibTorch's CUDA library with NCCL: a driver reports a device
function groups.is_nccl_available() return engine.functions().is_nccl_available() end

---@param group? ProcessGroup default: the group of all ranks
---@return string backend for tensors of this rank's device: 'nccl', or 'gloo' if ranks share a device; without a device
---  the backend for CPU tensors: 'shm' or 'gloo'
function groups.get_backend(group)
  if group == OUTSIDE then errors.raise('argument', 'get_backend: this rank does not belong to the given group') end
  return known('backend', group)
end

---@param group? ProcessGroup default: the group of all ranks
---@return integer rank from 0, in the group; -1 if this rank is not in it
function groups.get_rank(group)
  virtual_ranks.note_rank()
  return group == OUTSIDE and -1 or known('rank', group)
end

---@param group? ProcessGroup default: the group of all ranks
---@return integer number of ranks; -1 if this rank is not in the group
function groups.get_world_size(group) return group == OUTSIDE and -1 or known('world_size', group) end

---@param group ProcessGroup
---@param group_rank integer in the group, from 0
---@return integer rank among all ranks
function groups.get_global_rank(group, group_rank) return engine.functions().get_global_rank(group, group_rank) end

---@param group ProcessGroup
---@param global_rank integer among all ranks
---@return integer rank in the group. Raises code 'argument' for a rank that is not in it.
function groups.get_group_rank(group, global_rank) return engine.functions().get_group_rank(group, global_rank) end

---@param group? ProcessGroup default: the group of all ranks
---@return integer[] ranks among all ranks: ranks[1] is rank 0 of the group
function groups.get_process_group_ranks(group)
  local ranks = {}
  for rank = 0, groups.get_world_size(group) - 1 do
    ranks[rank + 1] = group and groups.get_global_rank(group, rank) or rank
  end
  return ranks
end

---Makes a group of some of the ranks, for the `group` of collectives. All ranks must call it, also those outside of the
---group, in the same order. As in PyTorch, ranks in a group are numbered in ascending order of their global ranks.
---Arguments: ranks (integer[]; nil: all), timeout_s (seconds; default: that of the group of all ranks), backend (as in
---init_process_group; default: likewise). Returns the group, or GroupMember.NON_GROUP_MEMBER on a rank outside of the
---group: a call with it only warns.
---
---The members of a group compare their collectives as all ranks do; a collective that some rank does not call ends at
---timeout_s. PyTorch equivalent: torch.distributed.new_group.
---
---```lua
---local torch = require 'torch'
---local dist = require 'torch.distributed'
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local first = dist.new_group{0}
---local x = dist.all_reduce(torch.tensor{3, 4}, {group = first})
---assert(x:sum():item() == 7 and dist.get_world_size(first) == 1)
---dist.destroy_process_group()
---```
defined('new_group', {{'ranks'}, {'timeout_s'}, {'backend'}}, function(p)
  local group = engine.joined().new_group{ranks = p.ranks, timeout_s = p.timeout_s, backend = p.backend}
  return group or OUTSIDE
end)

---Makes a group of each list of ranks. All ranks call it. Arguments: ranks_per_subgroup_list (integer[][]), timeout_s, backend
---(as in new_group). Returns the group of this rank, and the list of all groups.
---PyTorch equivalent: torch.distributed.new_subgroups_by_enumeration.
defined('new_subgroups_by_enumeration', {'ranks_per_subgroup_list', {'timeout_s'}, {'backend'}}, function(p)
  local mine, all, taken = OUTSIDE, {}, {}
  for i, ranks in ipairs(p.ranks_per_subgroup_list) do
    for _, rank in ipairs(ranks) do
      if taken[rank] then
        errors.raise('argument', ('new_subgroups_by_enumeration: rank %d is in two groups'):format(rank))
      end
      taken[rank] = true
    end
    all[i] = groups.new_group{ranks = ranks, timeout_s = p.timeout_s, backend = p.backend}
    if all[i] ~= OUTSIDE then mine = all[i] end
  end
  return mine, all
end)

---Divides all ranks into groups of neighbours. All ranks call it. Arguments: group_size (integer; the number of ranks
---must be a multiple of it), timeout_s, backend (as in new_group). Returns the group of this rank, and the list of all
---groups. PyTorch equivalent: torch.distributed.new_subgroups.
defined('new_subgroups', {'group_size', {'timeout_s'}, {'backend'}}, function(p)
  local size = groups.get_world_size()
  if type(p.group_size) ~= 'number' or p.group_size < 1 or size % p.group_size ~= 0 then
    errors.raise('argument', ('new_subgroups: group_size %s does not divide %d ranks'):format(tostring(p.group_size), size))
  end
  local lists = {}
  for first = 0, size - 1, p.group_size do
    local ranks = {}
    for rank = first, first + p.group_size - 1 do ranks[#ranks + 1] = rank end
    lists[#lists + 1] = ranks
  end
  return groups.new_subgroups_by_enumeration{ranks_per_subgroup_list = lists, timeout_s = p.timeout_s, backend = p.backend}
end)

---`group.WORLD`: the group of all ranks.
groups.group = setmetatable({}, {__index = function(_, name)
  if name == 'WORLD' then return engine.joined().world() end
  args.no_such('torch.distributed.group', name, {'WORLD'})
end})

---`GroupMember.WORLD`: the group of all ranks; `GroupMember.NON_GROUP_MEMBER`: the result of new_group on a rank
---outside of the group.
groups.GroupMember = setmetatable({NON_GROUP_MEMBER = OUTSIDE}, {__index = groups.group})

return groups
