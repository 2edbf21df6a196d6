-- rtrain/functions/busy.lua: train.busy: announces long work without visible progress, so that it is not taken for a
-- hang.

local errors = require 'base.errors'
local session = require 'rtrain.session'

---Announces that this rank works for up to `seconds` without any operator, batch, collective or report: until then the
---watchdog neither names the rank nor ends the run. Ray Train has no equivalent.
---
---```lua
---local train = require 'rtrain'
---train.TorchTrainer {
---  train_loop_per_worker = function()
---    train.busy('building the vocabulary', 600)
---    local size = 0
---    for i = 1, 1000 do size = size + i end
---    train.busy('done', 0)
---    train.report {size = size}
---  end,
---  scaling_config = train.ScalingConfig {num_workers = 0},
---}:fit()
---```
---@param reason string the work, for messages
---@param seconds number how long it may take; a later call replaces it, 0 ends it
return function(reason, seconds)
  session.get('train.busy')
  if type(reason) ~= 'string' or reason == '' then
    errors.raise('argument', 'train.busy(reason, seconds): reason must be a string')
  end
  if type(seconds) ~= 'number' or not (seconds >= 0 and seconds < math.huge) then
    errors.raise('argument', ('train.busy(reason, seconds): seconds = %s: expected a number of at least 0'):format(
      tostring(seconds)))
  end
  require('rtrain._worker').busy(reason, seconds)
end
