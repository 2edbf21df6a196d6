-- torch/compile/policy.lua: decides the next call of a step under train.compile: run it eagerly, record it, or run its
-- plan.
--
-- Only decisions, without tensors. The first call is eager, since optimizers make their state in it; with virtual ranks
-- those of the first step are.

local class = require 'base.class'

-- More sets of shapes than this run eagerly; of a dynamic step as many are kept as the second number.
local MOST_PLANS, MOST_DYNAMIC_PLANS = 8, 64
-- A step whose calls differ from one to the next this often stays eager.
local MOST_RECORDINGS = 6

---@class torch.compile.CompilePolicy
---@field state string 'warming up', 'compiled' or 'eager'
---@field reason? string why it is 'eager'
---@field most_plans integer that are kept
local CompilePolicy = class 'CompilePolicy'

---@param is_dynamic boolean|nil each set of shapes gets a plan, in the place of the one that was not used for longest
function CompilePolicy:init(is_dynamic)
  self._is_dynamic, self.most_plans = is_dynamic, is_dynamic and MOST_DYNAMIC_PLANS or MOST_PLANS
  self.state, self._is_warm, self._is_full, self._num_waited = 'warming up', false, false, 0
end

---The facts about a call before it runs.
---@class torch.compile.Facts
---@field now? string why this call cannot use one
---@field fits? boolean a plan is the step for this call
---@field is_pending? boolean a recording for such arguments has begun
---@field num_plans integer with those that are being recorded
---@field is_held? boolean the step of optimizers is left out, since batches of other virtual ranks follow

---Makes every later call eager.
---@param reason string
---@return string action 'eager'
---@return string note text for the user
function CompilePolicy:fail(reason)
  self.state, self.reason = 'eager', reason
  return 'eager', 'it runs eagerly from here on: ' .. reason
end

---@param facts torch.compile.Facts
---@return 'eager'|'record'|'run' action
---@return string|nil note text for the user, once
function CompilePolicy:next(facts)
  if self.state == 'eager' then return 'eager' end
  if facts.now then return 'eager', 'this call runs eagerly: ' .. facts.now end
  if facts.fits then return 'run' end
  if not self._is_warm then
    self._is_warm = not facts.is_held
    return 'eager'
  end
  if self._is_dynamic or facts.is_pending or facts.num_plans < MOST_PLANS then return 'record' end
  local note = not self._is_full and ('it has plans for %d sets of arguments: calls with others run eagerly'):format(MOST_PLANS)
  self._is_full = true
  return 'eager', note or nil
end

---Called after a recording in which optimizers made or arranged their state, as behind load_state_dict.
---@return boolean waits the recording does not count: false if there were too many
function CompilePolicy:waits()
  self._num_waited = self._num_waited + 1
  return self._num_waited < MOST_RECORDINGS
end

---Called after a recording. The first one of a set of arguments has nothing to be compared with.
---@param count integer recordings for these arguments, with this one
---@param difference? string how it differs from the one before
---@return boolean has_plan
---@return string|nil note text for the user, once
function CompilePolicy:recorded(count, difference)
  if count == 1 then return false end
  if not difference then
    self.state, self._num_waited = 'compiled', 0
    return true
  end
  if count < MOST_RECORDINGS then return false end
  return false, (select(2, self:fail('its calls differ: ' .. difference)))
end

return CompilePolicy
