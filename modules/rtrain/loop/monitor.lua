-- rtrain/loop/monitor.lua: Monitor: reads the metric that a callback follows, and compares its values.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local number = require 'base.number'
local ordered = require 'base.ordered'

local Monitor = class('Monitor')

---@param owner string name of the callback, for messages
---@param key any name of the metric
---@param mode any 'min' or 'max'
function Monitor:init(owner, key, mode)
  if type(key) ~= 'string' or key == '' then
    errors.raise('argument', ("%s: monitor is the name of a metric, such as 'val_loss', got %s"):format(owner, tostring(key)))
  end
  self._owner, self.key = owner, key
  self.mode = args.one_of(owner .. ': mode', mode, {'min', 'max'})
end

---Returns the metric's value. Raises code 'argument' with the existing names if the loop has no such metric.
---@param metrics table the loop's callback_metrics
---@return number
function Monitor:value(metrics)
  local value = number.of(metrics[self.key])
  if value then return value end
  errors.raise('argument', ("%s: monitor = '%s' is not a metric of this loop%s"):format(self._owner, self.key,
    errors.suggestion(self.key, ordered.keys(metrics))))
end

---Returns whether a value is better than another by more than min_delta; never true for NaN.
---@param value number
---@param best number
---@param min_delta? number
---@return boolean
function Monitor:is_better(value, best, min_delta)
  local delta = min_delta or 0
  if self.mode == 'min' then return value + delta < best end
  return value - delta > best
end

---Returns the worst value.
---@return number
function Monitor:worst() return self.mode == 'min' and math.huge or -math.huge end

return Monitor
