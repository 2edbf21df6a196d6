-- rtrain/run/evaluators.lua: asks the script's evaluators for the action on evidence against a node.

local errors = require 'base.errors'

local evaluators = {}

local WEIGHTS = {NOOP = 1, DIAGNOSE = 2, REATTEMPT = 3, EVICT = 4}
local NAMES = {'NOOP', 'DIAGNOSE', 'REATTEMPT', 'EVICT'}

---Returns the heaviest of their actions.
---@param list (fun(evidence: HealthEvidence): string?)[]
---@param evidence HealthEvidence
---@return string action
---Raises their errors, and code 'user' for an unknown action.
function evaluators.decide(list, evidence)
  local heaviest = 'NOOP'
  for i, evaluator in ipairs(list) do
    local action = evaluator(evidence) or 'NOOP'
    if WEIGHTS[action] == nil then
      errors.raise('user', ("health_config.evaluators[%d] returned %s: expected 'NOOP', 'DIAGNOSE', 'REATTEMPT', 'EVICT' or "
        .. 'nil%s'):format(i, tostring(action), errors.suggestion(tostring(action), NAMES)))
    end
    if WEIGHTS[action] > WEIGHTS[heaviest] then heaviest = action end
  end
  return heaviest
end

---Registers the evaluators as answers to the controller's requests.
---@param calls table rtrain.run.script_calls
---@param list? (fun(evidence: HealthEvidence): string?)[]
function evaluators.answer(calls, list)
  if list == nil then return end
  calls:on('health', function(evidence) return evaluators.decide(list, evidence) end)
end

return evaluators
