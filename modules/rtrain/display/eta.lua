-- rtrain/display/eta.lua: Eta: how long a run still takes, where the script has said how far it goes.
--
-- It is known from a metric that counts and its end: RunConfig.stop (`{epoch = 10}`), or a value of train_loop_config with
-- one of the usual names (`epochs` for the metric `epoch`).

local class = require 'base.class'

local Eta = class('Eta')

-- Metrics that count, the one that is looked for first at the front, with the names of their ends.
local EPOCHS = {'epochs', 'num_epochs', 'max_epochs', 'n_epochs'}
local STEPS = {'steps', 'num_steps', 'max_steps', 'total_steps', 'train_steps'}
local ITERATIONS = {'iterations', 'num_iterations', 'max_iterations', 'max_iters', 'iters'}
local COUNTERS = {
  {'epoch', EPOCHS}, {'step', STEPS}, {'global_step', STEPS}, {'iteration', ITERATIONS}, {'iter', ITERATIONS},
  {'training_iteration', ITERATIONS},
}

---@param name string
---@return boolean whether a metric of that name counts what was done
function Eta.counts(name)
  for _, counter in ipairs(COUNTERS) do
    if counter[1] == name then return true end
  end
  return false
end

---@param config? table train_loop_config
---@param stop? any RunConfig.stop
function Eta:init(config, stop)
  self._config, self._stop = config or {}, type(stop) == 'table' and stop or {}
end

-- The end of a metric, and whether it is itself still reached.
local function end_of(self, metric, names)
  local stop = rawget(self._stop, metric)
  if type(stop) == 'number' then return stop, true end
  for _, name in ipairs(names) do
    local last = rawget(self._config, name)
    if type(last) == 'number' then return last, false end
  end
end

local function counter_of(self, metrics)
  for _, counter in ipairs(COUNTERS) do
    local metric, names = counter[1], counter[2]
    if type(metrics[metric]) == 'number' then
      local last, is_reached = end_of(self, metric, names)
      if last then return metric, last, is_reached end
    end
  end
end

---The workers have begun.
---@param now number seconds
function Eta:start(now) self._began, self._first = now, nil end

---@param metrics table a report's
---@param now number seconds
function Eta:add(metrics, now)
  local metric, last, is_reached = counter_of(self, metrics)
  if not metric then return end
  local value = metrics[metric]
  if value == 0 then self._is_from_zero = true end
  if not self._first or value < self._value then
    -- The first unit of all is timed from the start; a run that goes on begins somewhere.
    local is_new = self._began and value == (self._is_from_zero and 0 or 1)
    self._first, self._first_at = is_new and value - 1 or value, is_new and self._began or now
  end
  self._value, self._at = value, now
  self._left = last - value - (self._is_from_zero and not is_reached and 1 or 0)
end

---Seconds until the end; nil where nothing says.
---@param now number seconds
---@return number?
function Eta:seconds(now)
  if not self._first or self._value <= self._first or self._left <= 0 then return nil end
  local each = (self._at - self._first_at) / (self._value - self._first)
  return math.max(0, self._left * each - (now - self._at))
end

return Eta
