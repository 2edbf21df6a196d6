-- rtrain/config/health.lua: HealthConfig: how the hosts of a run are checked, and what is done about a bad one.

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

---How the hosts of a run are checked before they are used and looked after while they are, and what is done about a bad
---one. Ray equivalent: the proposal ray.train.HealthConfig, which is off unless it is given; ours is on.
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
---@field preflight boolean before a host is used its storage has to write, its devices have to answer, and it exchanges 1 MB
---  with every other host (default true); `rtrain show` has the results. On one machine this goes on while the workers start
---@field preflight_timeout_s number seconds that each of these checks may take (default 2)
---@field monitor boolean of a run on several hosts: their links, devices and storage are watched as long as the run has them,
---  whether workers are there or not (default true)
---@field evaluators? (fun(evidence: HealthEvidence): string?)[] called in the script's process for each piece of evidence, in
---  their order; of what they return (`train.health.NOOP`, `DIAGNOSE`, `REATTEMPT`, `EVICT`, or nil) the heaviest is done.
---  Without them conclusive evidence evicts its host, and anything else is recorded
local HealthConfig = schema.define('HealthConfig', {
  {'preflight', default = true, check = schema.boolean},
  {'preflight_timeout_s', default = 2, check = schema.positive},
  {'monitor', default = true, check = schema.boolean},
  {'evaluators', check = check_evaluators, in_record = false},
})

---What the controller needs to know of it.
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
