-- rtrain/data/executor/context.lua: DataContext: settings for executions in this process.

local class = require 'base.class'
local errors = require 'base.errors'

local FIELDS = {'num_threads', 'memory_bytes', 'target_max_block_size'}

-- num_threads is not set here: its default, torch.get_num_threads(), is known once the engine is loaded, at the first
-- execution.
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

-- The context: fields can be read and set.
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

---Settings for the execution of datasets in this process: num_threads (default: those of PyTorch; 0 runs everything in
---the consuming thread), memory_bytes (64 MiB: blocks that wait to be used), target_max_block_size (4 MiB: blocks are
---read in pieces of about this size at most). Ray equivalent: ray.data.DataContext.
---@class rtrain.data.DataContext
---@field num_threads integer
---@field memory_bytes integer
---@field target_max_block_size integer
local DataContext = class('DataContext')

---Returns the context of this process: a table whose fields can be read and set.
---@return rtrain.data.DataContext
---
---```lua
---local data = require 'rtrain.data'
---local context = data.DataContext.get_current()
---context.memory_bytes = 64 * 2 ^ 20
---```
function DataContext.get_current() return current end

---Returns the settings as plain data, to be sent to the workers of a trainer; num_threads is included only if it was
---set.
---@return table<string, integer>
function DataContext.settings()
  local out = {}
  for name in next, LIMITS do out[name] = values[name] end
  return out
end

---Applies the result of `settings`.
---@param settings table<string, integer>
function DataContext.apply(settings)
  for name in next, LIMITS do
    if settings[name] ~= nil then current[name] = settings[name] end
  end
end

return DataContext
