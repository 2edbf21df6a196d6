-- rtrain/data/executor/context.lua: DataContext: how executions run in this process.

local class = require 'base.class'
local errors = require 'base.errors'

local FIELDS = {'num_threads', 'memory_bytes', 'target_max_block_size'}

-- How many threads are of use is known when the engine is loaded: torch.get_num_threads() at the first execution.
local values = {memory_bytes = 64 * 2 ^ 20, target_max_block_size = 4 * 2 ^ 20}

local LIMITS = {num_threads = 0, memory_bytes = 2 ^ 20, target_max_block_size = 2 ^ 10}

local function check(name, value)
  local least = LIMITS[name]
  if least == nil then
    errors.raise('argument', ("DataContext has no '%s'%s"):format(tostring(name), errors.suggestion(tostring(name), FIELDS)))
  end
  if type(value) ~= 'number' or value % 1 ~= 0 or value < least then
    errors.raise('argument', ('DataContext.%s is a whole number from %d on, got %s'):format(name, least, tostring(value)))
  end
end

-- A table with fields to read and to set.
local current = setmetatable({}, {
  __name = 'DataContext',
  __index = function(_, name)
    if name == 'num_threads' then return values.num_threads or require('torch').get_num_threads() end
    if LIMITS[name] == nil then check(name) end
    return values[name]
  end,
  __newindex = function(_, name, value)
    check(name, value)
    values[name] = value
  end,
})

---How datasets are executed in this process: num_threads (default: those of PyTorch; 0 runs everything where it is used),
---memory_bytes (64 MiB: blocks that wait to be used), target_max_block_size (4 MiB: blocks are read in pieces of at most
---about this size). Ray equivalent: ray.data.DataContext.
---@class rtrain.data.DataContext
---@field num_threads integer
---@field memory_bytes integer
---@field target_max_block_size integer
local DataContext = class('DataContext')

---The context of this process: a table with fields to read and to set.
---@return rtrain.data.DataContext
---
---```lua
---local data = require 'rtrain.data'
---local context = data.DataContext.get_current()
---context.memory_bytes = 64 * 2 ^ 20
---```
function DataContext.get_current() return current end

---What is set, as plain data that travels to the workers of a trainer; num_threads only where somebody set it.
---@return table<string, integer>
function DataContext.settings()
  local out = {}
  for name in next, LIMITS do out[name] = values[name] end
  return out
end

---Sets what `settings` gave.
---@param settings table<string, integer>
function DataContext.apply(settings)
  for name in next, LIMITS do
    if settings[name] ~= nil then current[name] = settings[name] end
  end
end

return DataContext
