-- rtrain/display/eta.lua: Eta: estimates the remaining time of a run whose script announces its end.
--
-- The estimate needs a metric that counts and its final value: from RunConfig.stop (`{epoch = 10}`), or from a value of
-- train_loop_config with one of the usual names (`epochs` for the metric `epoch`).

local class = require 'base.class'

local Eta = class('Eta')

-- Metrics that count, in order of preference, with the names of their final values.
local EPOCHS = {'epochs', 'num_epochs', 'max_epochs', 'n_epochs'}
local STEPS = {'steps', 'num_steps', 'max_steps', 'total_steps', 'train_steps'}
local ITERATIONS = {'iterations', 'num_iterations', 'max_iterations', 'max_iters', 'iters'}
local COUNTERS = {
  {'epoch', EPOCHS}, {'step', STEPS}, {'global_step', STEPS}, {'iteration', ITERATIONS}, {'iter', ITERATIONS},
  {'training_iteration', ITERATIONS},
}

---@param name string
---@return boolean whether a metric of that name counts epochs, steps or iterations
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

-- Returns the final value of a metric, and whether the metric itself reaches it.
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

---@return number? epochs of the run, where its configuration says it
function Eta:epochs() return (end_of(self, 'epoch', EPOCHS)) end

---Called when the workers have begun.
---@param now number seconds
function Eta:start(now) self._began, self._first = now, nil end

---@param metrics table the metrics of a report
---@param now number seconds
function Eta:add(metrics, now)
  local metric, last, is_reached = counter_of(self, metrics)
  if not metric then return end
  local value = metrics[metric]
  if value == 0 then self._is_from_zero = true end
  if not self._first or value < self._value then
    -- In a new run the first unit is timed from the start. A continued run is timed from its first report.
    local is_new = self._began and value == (self._is_from_zero and 0 or 1)
    self._first, self._first_at = is_new and value - 1 or value, is_new and self._began or now
  end
  self._value, self._at = value, now
  self._left = last - value - (self._is_from_zero and not is_reached and 1 or 0)
end

---Returns the seconds until the end; nil if unknown.
---@param now number seconds
---@return number?
function Eta:seconds(now)
  if not self._first or self._value <= self._first or self._left <= 0 then return nil end
  local each = (self._at - self._first_at) / (self._value - self._first)
  return math.max(0, self._left * each - (now - self._at))
end

return Eta
