-- rtrain/launch/place.lua: the place of this process among those that a launcher has started as the ranks of one run.

local errors = require 'base.errors'

local place = {}

local DEFAULT_TIMEOUT_S = 60

local function seconds(name, text, otherwise)
  if text == nil or text == '' then return otherwise end
  local number = tonumber(text)
  if number and number > 0 and number < math.huge then return number end
  errors.raise('config', ("%s = '%s' in the environment: expected a number of seconds above 0"):format(name, text))
end

local function is_one_host(allocation)
  return allocation.num_nodes == 1 or allocation.is_rank and allocation.tasks_on_node == allocation.world_size
end

-- Raises an error for several nodes, which need `rtrain run` and its agents.
local function refuse_several_hosts(allocation, has_agents)
  if has_agents or is_one_host(allocation) then return end
  local origin = allocation.origins.num_nodes or allocation.origins.world_size or allocation.rule
  errors.raise('unsupported', ('%s has started this on %s nodes (%s): start `rtrain run` on them; --launcher local trains on '
    .. 'each of them alone'):format(allocation.engine, allocation.num_nodes or 'several', origin))
end

---Returns the socket in the runtime folder where the processes of this node connect. It belongs to one start of one
---job: a restart must not reach processes of the start before.
---@param allocation Allocation
---@return string name
function place.socket(allocation)
  local parts = {allocation.engine, allocation.group or '', allocation.world_size or 1, allocation.restart_count or 0}
  return ('job-%s.sock'):format(require('base._system').hash(table.concat(parts, '\n')))
end

-- Returns whether the processes of the launcher are the ranks of the run: in local mode, and if their number is the
-- requested number of workers. Otherwise each process trains alone, which only makes sense on one node.
local function are_ranks(allocation, scaling)
  local wanted, world_size = scaling.num_workers, allocation.world_size
  if wanted == 0 or wanted == world_size then return true end
  if is_one_host(allocation) then return false end
  if type(wanted) == 'table' then wanted = ('{%d, %d}'):format(scaling:min_workers(), scaling:max_workers()) end
  errors.raise('config', ('num_workers = %s: %s has started %d processes on several nodes (%s), each of which is a rank; write '
    .. 'num_workers = %d, or 0 (-n 0) for as many as there are, or start one process on each node'):format(wanted,
    allocation.engine, world_size, allocation.origins.world_size, world_size))
end

---Returns the warning for a launcher whose processes are not the ranks of one run: each process then trains its own
---run.
---@param allocation Allocation
---@param scaling ScalingConfig
---@return string? warning nil for a single process, and for all but the first
function place.warning(allocation, scaling)
  local size = allocation.world_size
  if not allocation.is_rank or size == 1 or allocation.rank > 0 then return nil end
  return ('%s has started %d processes (%s), each of which trains alone with num_workers = %d: num_workers = %d, or 0 (-n 0), '
    .. 'makes them the ranks of one run'):format(allocation.engine, size, allocation.origins.world_size, scaling:max_workers(),
    size)
end

-- Returns whether rank 0 is on another node.
local function is_remote(allocation)
  if allocation.node_rank ~= nil then return allocation.node_rank ~= 0 end
  return allocation.rank ~= allocation.local_rank  -- ranks are usually consecutive by node
end

---Returns the place of this process as a rank.
---@param allocation Allocation
---@param scaling ScalingConfig
---@param has_agents? boolean whether the other nodes have agents of this run
---@param getenv? fun(name: string): string? os.getenv
---@return Place? place nil if this process is not one of several ranks
---Errors: 'unsupported' for several nodes without agents, 'config' for inconsistent ranks.
function place.of(allocation, scaling, has_agents, getenv)
  refuse_several_hosts(allocation, has_agents)
  if not allocation.is_rank or not are_ranks(allocation, scaling) then return nil end
  if is_one_host(allocation) and allocation.local_rank ~= allocation.rank then
    errors.raise('config', ('%s and %s: on one node they are the same'):format(allocation.origins.local_rank,
      allocation.origins.rank))
  end
  ---@class Place
  return {
    rank = allocation.rank,  -- the launcher's number
    local_rank = allocation.local_rank,
    world_size = allocation.world_size,
    num_ranks = allocation.tasks_on_node,  -- number of ranks on this node
    is_remote = is_remote(allocation),
    socket = place.socket(allocation),
    timeout_s = seconds('RTRAIN_JOIN_TIMEOUT_S', (getenv or os.getenv) 'RTRAIN_JOIN_TIMEOUT_S', DEFAULT_TIMEOUT_S),
  }
end

---Returns the device of this process: if each process sees the devices of all ranks, that of its rank; if it sees a
---single device, that one.
---@param local_rank integer
---@param count? integer devices that this process sees
---@return integer[] numbers one device
---Errors: 'environment' if there is no device for it.
function place.gpus(local_rank, count)
  local reason = ''
  if not count then count, reason = require('base._system').cuda() end
  if count == 1 then return {0} end
  if local_rank < count then return {local_rank} end
  errors.raise('environment', ('use_gpu: local rank %d sees %s'):format(local_rank,
    count == 0 and 'no CUDA device: ' .. reason
    or ('%d devices: there is none for it; start as many processes as devices'):format(count)))
end

return place
