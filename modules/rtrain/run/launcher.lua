-- rtrain/run/launcher.lua: what torchrun, or another launcher with its variables, says about this process.

local errors = require 'base.errors'

local launcher = {}

local NAMES = {'RANK', 'LOCAL_RANK', 'WORLD_SIZE', 'LOCAL_WORLD_SIZE', 'MASTER_ADDR', 'MASTER_PORT'}
local DEFAULT_TIMEOUT_S = 60

local function whole_number(name, text, least)
  local number = tonumber(text)
  if number and number % 1 == 0 and number >= least then return number end
  errors.raise('config', ("%s = '%s': expected a whole number from %d on"):format(name, text, least))
end

local function seconds(name, text, otherwise)
  if text == nil or text == '' then return otherwise end
  local number = tonumber(text)
  if number and number > 0 and number < math.huge then return number end
  errors.raise('config', ("%s = '%s' in the environment: expected a number of seconds above 0"):format(name, text))
end

local function check(place)
  if place.rank >= place.world_size then
    errors.raise('config', ('RANK = %d: with WORLD_SIZE = %d the ranks are 0 to %d')
      :format(place.rank, place.world_size, place.world_size - 1))
  end
  if place.local_world_size ~= place.world_size then
    errors.raise('unsupported', ('LOCAL_WORLD_SIZE = %d of WORLD_SIZE = %d: this version trains on one host'):format(
      place.local_world_size, place.world_size))
  end
  if place.local_rank ~= place.rank then
    errors.raise('config', ('LOCAL_RANK = %d and RANK = %d: on one host they are the same')
      :format(place.local_rank, place.rank))
  end
end

-- Of one job, and of one start of it, alone: a restart must not reach processes of the start before.
local function socket_name(getenv)
  local parts = {}
  for _, name in ipairs {'MASTER_ADDR', 'MASTER_PORT', 'WORLD_SIZE', 'TORCHELASTIC_RUN_ID', 'TORCHELASTIC_RESTART_COUNT'} do
    parts[#parts + 1] = getenv(name) or ''
  end
  return ('job-%s.sock'):format(require('base._system').hash(table.concat(parts, '\n')))
end

---The place of this process among those that a launcher has started: all of the variables RANK, LOCAL_RANK, WORLD_SIZE,
---LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set.
---@param getenv? fun(name: string): string? os.getenv
---@return {rank: integer, world_size: integer, socket: string, timeout_s: number}? place nil without a launcher, and for a
---  job of one process
function launcher.place(getenv)
  getenv = getenv or os.getenv
  for _, name in ipairs(NAMES) do
    if getenv(name) == nil then return nil end
  end
  local place = {
    rank = whole_number('RANK', getenv 'RANK', 0),
    local_rank = whole_number('LOCAL_RANK', getenv 'LOCAL_RANK', 0),
    world_size = whole_number('WORLD_SIZE', getenv 'WORLD_SIZE', 1),
    local_world_size = whole_number('LOCAL_WORLD_SIZE', getenv 'LOCAL_WORLD_SIZE', 1),
  }
  check(place)
  if place.world_size == 1 then return nil end
  place.socket = socket_name(getenv)
  place.timeout_s = seconds('RTRAIN_JOIN_TIMEOUT_S', getenv 'RTRAIN_JOIN_TIMEOUT_S', DEFAULT_TIMEOUT_S)
  return place
end

---The devices of this process, which its launcher has given it: where each process sees the devices of all, that of its
---rank; where it sees one alone, that one.
---@param place table what place() gave
---@param count? integer devices that this process sees
---@return integer[] numbers one device
function launcher.gpus(place, count)
  local reason = ''
  if not count then count, reason = require('base._system').cuda() end
  if count == 1 then return {0} end
  if place.rank < count then return {place.rank} end
  errors.raise('environment', ('use_gpu: rank %d sees %s'):format(place.rank,
    count == 0 and 'no CUDA device: ' .. reason
    or ('%d devices: there is none for it; start as many processes as devices'):format(count)))
end

return launcher
