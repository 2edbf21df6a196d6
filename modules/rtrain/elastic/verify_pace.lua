-- rtrain/elastic/verify_pace.lua: VerifyPace: at which commits or steps replicas are compared.
--
-- With 'auto' comparisons cost at most a five-hundredth of what is computed. The first rank says when the next one is, by its
-- own times, and all ranks follow it.

local class = require 'base.class'
local monotonic = require('base._system').monotonic

local SHARE = 0.0015  -- of the work: the rest of a five-hundredth is for what a comparison costs the step that follows
local MOST = 1000
local WEIGHT_OF_LAST = 0.25  -- in the mean cost of a comparison

---@class VerifyPace
local VerifyPace = class 'VerifyPace'

---@param every integer|'auto'
---@param uses_device boolean whether a device computes, so that the time of processors says little
function VerifyPace:init(every, uses_device)
  self._every, self._clock = every, uses_device and monotonic or os.clock
end

---Forgets its times, on all ranks: the next count is due.
function VerifyPace:reset() self._next, self._ended, self._cost = nil, nil, nil end

---@param count integer of commits or steps so far, the same on all ranks
---@return boolean
function VerifyPace:is_due(count)
  if self._every ~= 'auto' then return count % self._every == 0 end
  return self._next == nil or count >= self._next
end

---A comparison begins.
---@param count integer
---@return integer every how many counts later the next one should be, if this is the first rank
function VerifyPace:start(count)
  self._started = self._clock()
  if not self._cost then return 1 end
  local work = (self._started - self._ended) / math.max(1, count - self._count)
  return VerifyPace.every_for(self._cost, work)
end

---It has ended.
---@param count integer
---@param every integer what the first rank has said
function VerifyPace:finish(count, every)
  local is_first = self._ended == nil  -- it has loaded what others find there
  self._ended, self._count, self._next = self._clock(), count, count + every
  if is_first then return end
  local cost = self._ended - self._started
  self._cost = self._cost and self._cost + WEIGHT_OF_LAST * (cost - self._cost) or cost
end

---Returns how often to compare.
---@param cost number seconds of a comparison
---@param work number seconds of what is computed between two counts
---@return integer
function VerifyPace.every_for(cost, work)
  if work <= 0 then return MOST end
  return math.max(1, math.min(MOST, math.ceil(cost / (SHARE * work))))
end

return VerifyPace
