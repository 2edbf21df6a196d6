-- rtrain/tune/objective.lua: Objective: the metric by which trials are compared, and whether large or small values are
-- better.

local class = require 'base.class'
local number = require 'base.number'

-- Used if a sweep names no metric: the first of these that its trials report.
local USUAL = {
  {'val_loss', 'min'}, {'loss', 'min'}, {'val_accuracy', 'max'}, {'accuracy', 'max'}, {'val_acc', 'max'}, {'acc', 'max'},
}

local Objective = class('Objective')

---@param metric? string
---@param mode? 'min'|'max'
function Objective:init(metric, mode) self.metric, self.mode = metric, mode end

---Returns the given objective, else a usual one among the reported metrics, else nil.
---@param trials rtrain.tune.Trial[]
---@return table? objective
function Objective:found_in(trials)
  if self.metric and self.mode then return self end
  for _, usual in ipairs(USUAL) do
    local is_wanted = self.metric == nil or self.metric == usual[1]
    for _, trial in ipairs(trials) do
      if is_wanted and trial.last and trial.last[usual[1]] then return Objective(usual[1], self.mode or usual[2]) end
    end
  end
  return nil
end

---@param a number
---@param b? number
---@return boolean whether a is better; NaN is never better
function Objective:is_better(a, b)
  if a ~= a then return false end
  if b == nil or b ~= b then return true end
  if self.mode == 'min' then return a < b end
  return a > b
end

---Returns the trial whose last report is best.
---@param trials rtrain.tune.Trial[]
---@return rtrain.tune.Trial? best
function Objective:best_of(trials)
  local best
  for _, trial in ipairs(trials) do
    local value = trial.last and number.of(trial.last[self.metric])
    if value and self:is_better(value, best and best.last[self.metric]) then best = trial end
  end
  return best
end

return Objective
