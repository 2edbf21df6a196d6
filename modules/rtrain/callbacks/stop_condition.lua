-- rtrain/callbacks/stop_condition.lua: StopCondition: decides by RunConfig.stop when a run has trained enough.

local at_path = require 'rtrain.metrics.at_path'
local class = require 'base.class'
local errors = require 'base.errors'
local number = require 'base.number'

local StopCondition = class('StopCondition')

---Returns the error in a value of RunConfig.stop as text, or nil.
---@param value any
---@return string? problem
function StopCondition.problem(value)
  if type(value) == 'function' then return nil end
  if type(value) ~= 'table' or class.of(value) then
    return 'expected function(metrics) → boolean, or a table metric → threshold'
  end
  for name, threshold in next, value do
    if type(name) ~= 'string' then return ('the key %s is not a name of a metric'):format(tostring(name)) end
    if type(threshold) ~= 'number' or threshold ~= threshold then
      return ("the threshold of '%s' is not a number: the run ends when the metric is at least that"):format(name)
    end
  end
end

local function names_of(metrics)
  local names = {}
  for name in next, metrics do names[#names + 1] = tostring(name) end
  table.sort(names)
  return names
end

local function sorted_thresholds(thresholds)
  local names = names_of(thresholds)
  return function(metrics)
    for _, name in ipairs(names) do
      local value = at_path(metrics, name)
      if value == nil then
        local known = names_of(metrics)
        errors.raise('config', ("the report has no metric '%s'%s; it has: %s"):format(name, errors.suggestion(name, known),
          table.concat(known, ', ')))
      end
      if number.of(value) and number.of(value) >= thresholds[name] then return true end
    end
    return false
  end
end

---@param value function|table RunConfig.stop
function StopCondition:init(value)
  self._test = type(value) == 'function' and value or sorted_thresholds(value)
  self._has_come = false
end

---Returns whether the condition holds for this report and did not hold before.
---@param metrics table those of rank 0
---@return boolean
---Raises the error of the user's function, and code 'config' when a metric with a threshold was not reported.
function StopCondition:comes_true(metrics)
  if self._has_come then return false end
  self._has_come = self._test(metrics) and true or false
  return self._has_come
end

return StopCondition
