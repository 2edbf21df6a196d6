-- rtrain/tune/objective.lua: Objective: which metric of a trial counts, and whether a large or a small value is better.

local class = require 'base.class'
local number = require 'base.number'

-- Of a sweep that names no metric: the first of these that its trials report.
local USUAL = {
  {'val_loss', 'min'}, {'loss', 'min'}, {'val_accuracy', 'max'}, {'accuracy', 'max'}, {'val_acc', 'max'}, {'acc', 'max'},
}

local Objective = class('Objective')

---@param metric? string
---@param mode? 'min'|'max'
function Objective:init(metric, mode) self.metric, self.mode = metric, mode end

---The given one, else the usual one among what the trials have reported, else nil.
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
---@return boolean whether a is better; nothing is better than a NaN's place
function Objective:is_better(a, b)
  if a ~= a then return false end
  if b == nil or b ~= b then return true end
  if self.mode == 'min' then return a < b end
  return a > b
end

---The trial whose last report is best.
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
