-- rtrain/config/health.lua: HealthConfig: how the nodes of a run are checked, and what happens with a bad node.

local schema = require 'rtrain.config.schema'

local function check_evaluators(value)
  if type(value) ~= 'table' then return 'expected a list of functions' end
  local count = 0
  for _ in next, value do count = count + 1 end
  if count ~= #value then return 'expected a list of functions, got a table with names' end
  for i, each in ipairs(value) do
    if type(each) ~= 'function' then return ('[%d] is a %s: expected a function'):format(i, type(each)) end
  end
end

---How the nodes of a run are checked before and during their use, and what happens with a bad node. Ray equivalent: the
---proposal ray.train.HealthConfig, which is off by default; in rtrain it is on.
---
---```lua
---local train = require 'rtrain'
---local config = train.HealthConfig {
---  evaluators = {train.health.default_evaluator, function(evidence)
---    if evidence.kind == 'hang' then return train.health.DIAGNOSE end
---  end},
---}
---assert(config.preflight and config.monitor and #config.evaluators == 2)
---```
---@class HealthConfig
---@overload fun(fields?: table): HealthConfig
---@field preflight boolean checks a node before it is used: its storage must write, its devices must answer, and it
---  exchanges 1 MB with every other node (default true); `rtrain show` prints the results. On a single machine the
---  checks run while the workers start
---@field preflight_timeout_s number seconds that each of these checks may take (default 2)
---@field monitor boolean watches the links, devices and storage of the nodes of a run on several nodes, also while no
---  workers run (default true)
---@field evaluators? (fun(evidence: HealthEvidence): string?)[] called in order in the script's process for each
---  piece of evidence; the heaviest of the actions that they return (`train.health.NOOP`, `DIAGNOSE`, `REATTEMPT`,
---  `EVICT`, or nil) is taken. Without evaluators, conclusive evidence evicts its node and other evidence is recorded
local HealthConfig = schema.define('HealthConfig', {
  {'preflight', default = true, check = schema.boolean},
  {'preflight_timeout_s', default = 2, check = schema.positive},
  {'monitor', default = true, check = schema.boolean},
  {'evaluators', check = check_evaluators, in_record = false},
})

---Returns the fields that the controller uses.
---@return HealthSpec
function HealthConfig:to_spec()
  return {
    preflight = self.preflight,
    preflight_timeout_s = self.preflight_timeout_s,
    monitor = self.monitor,
    has_evaluators = self.evaluators ~= nil and #self.evaluators > 0,
  }
end

return HealthConfig
