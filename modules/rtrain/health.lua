-- rtrain/health.lua: train.health: evidence against a host, and what may be done about it.

local args = require 'base.args'
local errors = require 'base.errors'
local session = require 'rtrain.session'

local MAX_TEXT_BYTES = 4096

---Evidence against a host of the run, as evaluators of HealthConfig get it.
---@class HealthEvidence
---@field node integer number of the host in the job; 0 is the controller's
---@field host string its name
---@field kind string 'link', 'devices', 'storage', 'xid', 'hang', or 'script' for train.health.report()
---@field text string what was seen
---@field is_conclusive boolean the host is at fault, whatever the script does; never for a hang
---@field rank? integer whose evidence it is, where it is one rank's
---@field is_preflight boolean it was seen before the host was used
---@field default string what is done about it where there are no evaluators

---What may be done about evidence against a host, from the lightest to the heaviest; the names work as strings too.
---Ray equivalent: the actions of the proposal ray.train.health.
---@class rtrain.health
---@field NOOP string it is in the run's record
---@field DIAGNOSE string the stacks of all ranks are saved under `diag/`
---@field REATTEMPT string the attempt ends, and the next one begins from the latest checkpoint; `controller_failure_limit`
---  counts these
---@field EVICT string the same, and the run does without the host from then on; `max_preemption_failures` counts these
local health = {NOOP = 'NOOP', DIAGNOSE = 'DIAGNOSE', REATTEMPT = 'REATTEMPT', EVICT = 'EVICT'}

---What rtrain does by itself: EVICT for conclusive evidence, else NOOP. For a list of evaluators that is to hold it too.
---@param evidence HealthEvidence
---@return string action
---
---```lua
---local health = require('rtrain').health
---assert(health.default_evaluator {kind = 'hang', default = 'NOOP'} == health.NOOP)
---```
function health.default_evaluator(evidence) return evidence.default end

---Tells the controller what this rank has seen that speaks against its host: wrong sums of a device that computes right
---elsewhere, say. It never waits. With `is_conclusive` the run goes on without the host, unless evaluators decide otherwise;
---without it the evidence is in the run's record. Ray equivalent: ray.train.health.report of the proposal.
---@param text string what was seen, at most 4 KiB
---@param options? {is_conclusive: boolean} default false
---
---```lua
---local train = require 'rtrain'
---train.DataParallelTrainer({
---  train_loop_per_worker = function()
---    train.health.report('the check sum of a product differs by 3e-2')
---    train.report {loss = 0.5}
---  end,
---}):fit()
---```
function health.report(text, options)
  session.get('train.health.report()')
  local is_conclusive = args.options(options or {}, {'is_conclusive'}, 'health.report').is_conclusive
  if type(text) ~= 'string' or text == '' or #text > MAX_TEXT_BYTES then
    errors.raise('argument', ('health.report: expected a string of 1 to %d bytes, got %s'):format(MAX_TEXT_BYTES,
      type(text) == 'string' and ('%d bytes'):format(#text) or type(text)))
  end
  if is_conclusive ~= nil and type(is_conclusive) ~= 'boolean' then
    errors.raise('argument', ('health.report: is_conclusive = %s: expected true or false'):format(tostring(is_conclusive)))
  end
  require('rtrain._worker').report_health(text, is_conclusive == true)
end

return require 'base.namespace'('train.health', nil, health)
