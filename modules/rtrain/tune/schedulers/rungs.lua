-- rtrain/tune/schedulers/rungs.lua: Rungs: one bracket of successive halving: at each milestone a trial must be among
-- the best of those that have reached it.
--
-- Li et al., A System for Massively Parallel Hyperparameter Tuning (2020), in the form that Ray Tune documents: a trial
-- is compared when it arrives, with the percentile of the scores so far.

local class = require 'base.class'

local Rungs = class('Rungs')

-- Numbers this close to an integer count as the integer.
local ROUNDING = 1e-9

-- Returns the integer part of the logarithm, correct also for exact powers with rounding errors.
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

---@return number[] ascending
function Rungs:milestones()
  local out = {}
  for i, rung in ipairs(self._rungs) do out[#self._rungs + 1 - i] = rung.milestone end
  return out
end

local function insert_sorted(list, x)
  local low, high = 1, #list + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if list[middle] <= x then low = middle + 1 else high = middle end
  end
  table.insert(list, low, x)
end

-- Returns whether the score is below the percentile, interpolated between the two nearest scores, like numpy's.
local function is_below_percentile(sorted, fraction, score)
  local place = fraction * (#sorted - 1)
  local below = math.floor(place + ROUNDING)
  local low, high = sorted[below + 1], sorted[math.min(below + 2, #sorted)]
  if score < low then return true end
  return low < high and score - low < (high - low) * (place - below - ROUNDING)
end

-- NaN is worse than all other scores, and is not kept for later comparisons.
local function is_below(self, rung, score)
  if #rung.sorted == 0 then return false end
  return score ~= score or is_below_percentile(rung.sorted, 1 - 1 / self._factor, score)
end

---Compares a trial at the last milestone that it has reached, unless it was compared there before.
---@param number integer number of the trial
---@param time number
---@param score number larger is better
---@return number? milestone the milestone at which it is not good enough; nil: it continues
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
