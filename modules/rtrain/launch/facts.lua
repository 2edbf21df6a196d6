-- rtrain/launch/facts.lua: Facts: the facts that a launcher states about this process, each with the variable that it
-- was read from.
--
-- Launchers fill it (`facts:integer('num_nodes', 'SLURM_NNODES', 1)`); rtrain.launch.allocation checks it. It reads
-- only through the functions that it was created with. An empty variable counts as absent.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'

-- The fields of an Allocation that a launcher may state.
local FIELDS = {
  'num_nodes', 'node_rank', 'hosts', 'world_size', 'rank', 'tasks_on_node', 'local_rank', 'workers_per_node', 'job_id',
  'step_id', 'restart_count', 'is_batch', 'master', 'port', 'cores', 'devices', 'time_left_command', 'requeue_command',
  'evict_command', 'has_own_disks',
}

local LARGEST = 2 ^ 31 - 1

local Facts = class('Facts')
Facts.FIELDS = FIELDS

---@param launcher string name of the launcher
---@param getenv fun(name: string): string?
---@param parent? fun(): integer returns the process that started this one
function Facts:init(launcher, getenv, parent)
  self.launcher = launcher
  self._getenv = getenv
  self._parent = parent
  self.values = {}
  self.origins = ordered.new()
  self.warnings = {}
end

local function shown(name, value) return ('%s=%s'):format(name, (value:gsub('%s+', ' '))) end

---Returns the value of the first of these variables that is set.
---@param names string|string[]
---@return string? value
---@return string? name name of that variable
function Facts:get(names)
  for _, name in ipairs(type(names) == 'table' and names or {names}) do
    local value = self._getenv(name)
    if value ~= nil and value ~= '' then return value, name end
  end
end

---Returns whether all of these variables are set.
---@param ... string
---@return boolean
function Facts:has(...)
  for i = 1, select('#', ...) do
    if self:get((select(i, ...))) == nil then return false end
  end
  return true
end

---Raises code 'config' for a wrong value of a variable.
---@param name string
---@param text string description of the error
function Facts:refuse(name, text)
  errors.raise('config', ("%s = '%s': %s"):format(name, self._getenv(name) or '', text))
end

---Raises code 'config' because none of these variables is set.
---@param names string|string[]
function Facts:missing(names)
  errors.raise('config', ('launcher %s: %s is not set'):format(self.launcher,
    type(names) == 'table' and table.concat(names, ' or ') or names))
end

---States a fact.
---@param field string of Allocation
---@param value any
---@param origin string source of the fact: 'SLURM_NNODES=2'
function Facts:set(field, value, origin)
  local known = false
  for _, name in ipairs(FIELDS) do known = known or name == field end
  if not known then args.no_such('an allocation', field, FIELDS) end
  self.values[field] = value
  self.origins[field] = origin
end

---Returns the integer in the first of these variables that is set. Raises code 'config' for any other value.
---@param names string|string[]
---@param least integer
---@return integer? value nil if none of them is set
---@return string? name
function Facts:whole(names, least)
  local text, name = self:get(names)
  if text == nil then return nil end
  local number = text:match('^%d+$') and tonumber(text)
  if number and number >= least and number <= LARGEST then return number, name end
  self:refuse(name, ('expected a whole number from %d on'):format(least))
end

---States the integer in the first of these variables, if one is set.
---@param field string
---@param names string|string[]
---@param least integer
---@return integer? value
function Facts:integer(field, names, least)
  local value, name = self:whole(names, least)
  if value ~= nil then self:set(field, value, shown(name, self._getenv(name))) end
  return value
end

---As `integer`, but raises code 'config' if none of the variables is set.
---@param field string
---@param names string|string[]
---@param least integer
---@return integer value
function Facts:needed_integer(field, names, least)
  local value = self:integer(field, names, least)
  if value == nil then self:missing(names) end
  return value
end

---States the text in the first of these variables, if one is set.
---@param field string
---@param names string|string[]
---@return string? value
function Facts:text(field, names)
  local value, name = self:get(names)
  if value ~= nil then self:set(field, value, shown(name, value)) end
  return value
end

---States the result of a function for a variable's text, if it is set. Raises code 'config' if the function returns
---nil.
---@param field string
---@param names string|string[]
---@param parse fun(text: string): any
---@param expected string the expected format, for the message
---@return any value
function Facts:parsed(field, names, parse, expected)
  local text, name = self:get(names)
  if text == nil then return nil end
  local value = parse(text)
  if value == nil then self:refuse(name, 'expected ' .. expected) end
  self:set(field, value, shown(name, text))
  return value
end

---States the devices in CUDA_VISIBLE_DEVICES as allotted to this process.
function Facts:devices()
  self:parsed('devices', 'CUDA_VISIBLE_DEVICES', function(text)
    local devices = {}
    for device in text:gmatch '[^,%s]+' do devices[#devices + 1] = device end
    return devices
  end, 'devices')
end

---Returns the process that started this one.
---@return integer pid
function Facts:parent() return self._parent() end

---Returns a variable and its value, for an origin: 'SLURM_NNODES=2'.
---@param name string
---@return string
function Facts:shown(name) return shown(name, self._getenv(name) or '') end

---Adds a warning for the user; the run continues.
---@param text string
function Facts:warn(text) self.warnings[#self.warnings + 1] = text end

return Facts
