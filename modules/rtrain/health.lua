-- rtrain/health.lua: train.health: evidence against a node, and the actions that answer it.

local args = require 'base.args'
local errors = require 'base.errors'
local session = require 'rtrain.session'

local MAX_TEXT_BYTES = 4096

---Evidence against a node of the run, as the evaluators of HealthConfig receive it.
---@class HealthEvidence
---@field node integer number of the node in the job; 0 is the controller's
---@field host string its name
---@field kind string 'link', 'devices', 'storage', 'xid', 'hang', 'straggler', or 'script' for train.health.report()
---@field text string description of the observation
---@field is_conclusive boolean whether the node is at fault, whatever the script does; never true for a hang
---@field rank? integer the rank that the evidence is about, if it is about a single rank
---@field is_preflight boolean whether it was found before the node was used
---@field default string the action that is taken without evaluators

---The actions that answer evidence against a node, from the lightest to the heaviest. Their names work as strings too.
---Ray equivalent: the actions of the proposal ray.train.health.
---@class rtrain.health
---@field NOOP string only records the evidence in the run's record
---@field DIAGNOSE string saves the stacks of all ranks under `diag/`
---@field REATTEMPT string ends the attempt; the next one starts from the latest checkpoint.
---  `controller_failure_limit` limits how often
---@field EVICT string as REATTEMPT, and the run no longer uses the node; `max_preemption_failures` limits how often
local health = {NOOP = 'NOOP', DIAGNOSE = 'DIAGNOSE', REATTEMPT = 'REATTEMPT', EVICT = 'EVICT'}

---Returns rtrain's default action: EVICT for conclusive evidence, else NOOP. For evaluators that want to keep the
---default.
---@param evidence HealthEvidence
---@return string action
---
---```lua
---local health = require('rtrain').health
---assert(health.default_evaluator {kind = 'hang', default = 'NOOP'} == health.NOOP)
---```
function health.default_evaluator(evidence) return evidence.default end

---Reports to the controller something that this rank has seen and that speaks against its node, for example wrong sums
---on a device. Does not wait. With `is_conclusive` the run continues without the node, unless evaluators decide
---otherwise; without it the evidence is only recorded. Ray equivalent: ray.train.health.report of the proposal.
---@param text string description of the observation, at most 4 KiB
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
