-- rtrain/tune/schedulers/rungs.lua: Rungs: one bracket of successive halving: at each milestone a trial has to be among the
-- best of those that have come there before it.
--
-- Li et al., A System for Massively Parallel Hyperparameter Tuning (2020), in the form that Ray Tune documents: a trial is
-- compared when it comes, and what it is compared with is the percentile of the scores that are there.

local class = require 'base.class'

local Rungs = class('Rungs')

-- What is that near to an integer was one before it was rounded.
local ROUNDING = 1e-9

-- The whole part of the logarithm; powers that rounding has put below it are found.
local function whole_log(x, base) return math.floor(math.log(x) / math.log(base) + ROUNDING) end

---@param options {grace_period: number, max_t: number, reduction_factor: number, skipped: integer, compares_once: boolean}
---  `skipped`: how many of the first milestones this bracket leaves out; `compares_once`: a trial that is beyond a milestone
---  where it was compared is not compared at an earlier one
function Rungs:init(options)
  self._factor, self._compares_once = options.reduction_factor, options.compares_once
  self._rungs = {}
  local most = whole_log(options.max_t / options.grace_period, options.reduction_factor)
  for k = most, options.skipped, -1 do
    self._rungs[#self._rungs + 1] = {milestone = options.grace_period * options.reduction_factor ^ k, scores = {}, sorted = {}}
  end
end

---@return integer
function Rungs:count() return #self._rungs end

local function insert_sorted(list, x)
  local low, high = 1, #list + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if list[middle] <= x then low = middle + 1 else high = middle end
  end
  table.insert(list, low, x)
end

-- Whether the score is below the percentile, which lies between the two nearest scores, as numpy's.
local function is_below_percentile(sorted, fraction, score)
  local place = fraction * (#sorted - 1)
  local below = math.floor(place + ROUNDING)
  local low, high = sorted[below + 1], sorted[math.min(below + 2, #sorted)]
  if score < low then return true end
  return low < high and score - low < (high - low) * (place - below - ROUNDING)
end

-- A score that is NaN counts as worse than all, and no other is compared with it.
local function is_below(self, rung, score)
  if #rung.sorted == 0 then return false end
  return score ~= score or is_below_percentile(rung.sorted, 1 - 1 / self._factor, score)
end

---Compares a trial at the last milestone that it has come to and was not compared at.
---@param number integer of the trial
---@param time number
---@param score number the larger the better
---@return number? milestone where it is not good enough; nil: it goes on
function Rungs:add(number, time, score)
  for _, rung in ipairs(self._rungs) do
    if time >= rung.milestone then
      if not rung.scores[number] then
        local is_bad = is_below(self, rung, score)
        rung.scores[number] = true
        if score == score then insert_sorted(rung.sorted, score) end
        return is_bad and rung.milestone or nil
      end
      if self._compares_once then return nil end
    end
  end
  return nil
end

return Rungs
