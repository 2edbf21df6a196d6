-- rtrain/run/place.lua: the place of this process among those that a launcher has started as the ranks of one run, on
-- one host.

local errors = require 'base.errors'

local place = {}

local DEFAULT_TIMEOUT_S = 60

local function seconds(name, text, otherwise)
  if text == nil or text == '' then return otherwise end
  local number = tonumber(text)
  if number and number > 0 and number < math.huge then return number end
  errors.raise('config', ("%s = '%s' in the environment: expected a number of seconds above 0"):format(name, text))
end

-- Several hosts need one process on each, and `rtrain run`: it makes agents of those on the other hosts.
local function refuse_several_hosts(allocation, has_agents)
  if allocation.num_nodes == 1 or has_agents then return end
  local origin = allocation.origins.num_nodes or allocation.origins.world_size or allocation.rule
  errors.raise('unsupported', ('%s has started this on %s hosts (%s): start one process of `rtrain run` on each, which then '
    .. 'starts its workers; --launcher local trains on each of them alone'):format(allocation.engine,
    allocation.num_nodes or 'several', origin))
end

-- Of one job, and of one start of it, alone: a restart must not reach processes of the start before.
local function socket_name(allocation)
  local parts = {allocation.engine, allocation.group or '', allocation.world_size, allocation.restart_count or 0}
  return ('job-%s.sock'):format(require('base._system').hash(table.concat(parts, '\n')))
end

---The place of this process as a rank, in local mode.
---@param allocation Allocation
---@param has_agents? boolean the processes on the other hosts are agents of this one
---@param getenv? fun(name: string): string? os.getenv
---@return {rank: integer, world_size: integer, socket: string, timeout_s: number}? place nil where this process is the only one
---Errors: 'unsupported' for several hosts, 'config' for ranks that make no sense.
function place.of(allocation, has_agents, getenv)
  refuse_several_hosts(allocation, has_agents)
  if not allocation.is_rank then return nil end
  if allocation.local_rank ~= allocation.rank then
    errors.raise('config', ('%s and %s: on one host they are the same'):format(allocation.origins.local_rank,
      allocation.origins.rank))
  end
  return {
    rank = allocation.rank,
    world_size = allocation.world_size,
    socket = socket_name(allocation),
    timeout_s = seconds('RTRAIN_JOIN_TIMEOUT_S', (getenv or os.getenv) 'RTRAIN_JOIN_TIMEOUT_S', DEFAULT_TIMEOUT_S),
  }
end

---The devices of this process, which its launcher has given it: where each process sees the devices of all, that of its
---rank; where it sees one alone, that one.
---@param rank integer on this host
---@param count? integer devices that this process sees
---@return integer[] numbers one device
---Errors: 'environment' when there is none for it.
function place.gpus(rank, count)
  local reason = ''
  if not count then count, reason = require('base._system').cuda() end
  if count == 1 then return {0} end
  if rank < count then return {rank} end
  errors.raise('environment', ('use_gpu: rank %d sees %s'):format(rank,
    count == 0 and 'no CUDA device: ' .. reason
    or ('%d devices: there is none for it; start as many processes as devices'):format(count)))
end

return place
