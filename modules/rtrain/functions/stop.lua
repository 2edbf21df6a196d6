-- rtrain/functions/stop.lua: stop_requested(), for the train function.

local session = require 'rtrain.session'

local stop = {}

---Returns whether the run is to stop: after SIGTERM, Ctrl-C or `rtrain stop`, or before the group is resized. All ranks
---are notified at the same call, even if they synchronize in collectives between two calls, so that all can leave the
---loop there; every rank must call it the same number of times. Once true it stays true. The workers are ended when the
---next reported checkpoint has been committed, at the latest `FailureConfig.preemption_grace_s` seconds after the
---request.
---Ray equivalent: ray.train.get_preemption_info.
---@return boolean requested
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    for step = 1, 1000 do
---      if train.stop_requested() or step == 1000 then
---        train.tempdir(function(dir)
---          torch.save({step = step}, dir .. '/state.pt')
---          train.report({step = step}, {checkpoint = train.Checkpoint.from_directory(dir)})
---        end)
---        return
---      end
---    end
---  end,
---}):fit()
---assert(result.metrics.step == 1000)
---```
function stop.stop_requested()
  local virtual = session.get('train.stop_requested()').virtual
  if virtual and virtual:is_held() then return false end  -- the step ends first
  return require('rtrain._worker').stop_requested()
end

return stop
