-- rtrain/functions/reported_checkpoints.lua: get_all_reported_checkpoints(), for the train function.

local args = require 'base.args'
local Checkpoint = require 'rtrain.results.checkpoint'
local class = require 'base.class'
local errors = require 'base.errors'
local session = require 'rtrain.session'

local reported = {}

---A reported checkpoint that is kept. Ray equivalent: ray.train.ReportedCheckpoint.
---@class ReportedCheckpoint
---@field checkpoint Checkpoint
---@field metrics table the metrics of its report and of its validation
---@field status string one of train.ReportedCheckpointStatus
local ReportedCheckpoint = class('ReportedCheckpoint')

function ReportedCheckpoint:init(row)
  self.checkpoint, self.metrics, self.status = Checkpoint(row.path), row.metrics, row.status
end

function ReportedCheckpoint:__tostring()
  return ('ReportedCheckpoint(%s, status=%s)'):format(self.checkpoint, self.status)
end

---Returns the kept checkpoints of all reports that this rank has made, the oldest first. Waits until every rank has
---made those reports, and their checkpoints are committed and validated. Ranks that ask after the same report get the
---same answer. Ray equivalent: ray.train.get_all_reported_checkpoints.
---@param options? {consistency_mode: string, timeout_s: number} consistency_mode: 'VALIDATED' (default) or
---  'COMMITTED', which does not wait for validations; timeout_s: after that many seconds return the present state
---@return ReportedCheckpoint[]
---Without timeout_s, raises code 'timeout' after TorchConfig.timeout_s.
---
---```lua
---local train = require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    for epoch = 1, 2 do
---      train.tempdir(function(dir)
---        train.report({epoch = epoch}, {checkpoint = train.Checkpoint.from_directory(dir)})
---      end)
---    end
---    local all = train.get_all_reported_checkpoints {consistency_mode = train.CheckpointConsistencyMode.COMMITTED}
---    assert(#all == 2 and all[1].metrics.epoch == 1 and all[2].status == 'COMMITTED')
---  end,
---}):fit()
---assert(result.error == nil)
---```
function reported.get_all_reported_checkpoints(options)
  local name = 'get_all_reported_checkpoints'
  session.get(('train.%s()'):format(name))
  options = args.options(options, {'consistency_mode', 'timeout_s'}, name)
  local mode = args.one_of(name .. ': consistency_mode', options.consistency_mode or 'VALIDATED', {'COMMITTED', 'VALIDATED'})
  local timeout_s = options.timeout_s
  if timeout_s ~= nil and (type(timeout_s) ~= 'number' or timeout_s ~= timeout_s or timeout_s < 0) then
    errors.raise('argument', ('%s: timeout_s is %s, expected seconds'):format(name, tostring(timeout_s)))
  end
  local out = {}
  for i, row in ipairs(require('rtrain._worker').reported_checkpoints(mode == 'VALIDATED', timeout_s)) do
    out[i] = ReportedCheckpoint(row)
  end
  return out
end

return reported
