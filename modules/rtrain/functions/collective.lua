-- rtrain/functions/collective.lua: barrier and broadcast_from_rank_zero, for the train function.
--
-- They use the controller, not the process group, so they also work before or without one. For tensors use
-- torch.distributed.

local closure = require 'base._closure'
local session = require 'rtrain.session'

local collective = {}

local function note(state, name)
  if state.virtual then state.virtual:note_collective(name) end
end

---Waits until every worker has called it. Each minute (`$RTRAIN_COLLECTIVE_WARN_INTERVAL_S`) a warning names the
---missing ranks. Ray equivalent: ray.train.collective.barrier.
---Raises code 'timeout' after TorchConfig.timeout_s (or `$RTRAIN_COLLECTIVE_TIMEOUT_S`), 'user' if the workers are in
---different collectives or a worker has returned.
---
---```lua
---local train = require 'rtrain'
---train.DataParallelTrainer({
---  train_loop_per_worker = function()
---    local rank = train.get_context():get_world_rank()
---    if rank == 0 then io.open('prepared', 'w'):close() end
---    train.collective.barrier()
---    assert(io.open 'prepared')
---  end,
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---```
function collective.barrier()
  note(session.get('train.collective.barrier()'), 'train.collective.barrier')
  require('rtrain._worker').synchronize('train.collective.barrier()', '')
end

---Returns rank 0's value on every worker; also a barrier. For small values, up to 256 KiB, which are serialized like a
---train function. Ray equivalent: ray.train.collective.broadcast_from_rank_zero.
---@param data any the value on rank 0; ignored on other ranks
---@return any data the value of rank 0
---Raises as `barrier`, and code 'argument' for a value that is too large.
---
---```lua
---local train = require 'rtrain'
---local result = train.TorchTrainer({
---  train_loop_per_worker = function()
---    local rank = train.get_context():get_world_rank()
---    train.report {name = train.collective.broadcast_from_rank_zero('from rank ' .. rank)}
---  end,
---  scaling_config = train.ScalingConfig {num_workers = 2},
---}):fit()
---assert(result.metrics.name == 'from rank 0')
---```
function collective.broadcast_from_rank_zero(data)
  local state = session.get('train.collective.broadcast_from_rank_zero()')
  note(state, 'train.collective.broadcast_from_rank_zero')
  local bytes = state.context.world_rank == 0 and closure.dump(data) or ''
  return closure.load(require('rtrain._worker').synchronize('train.collective.broadcast_from_rank_zero()', bytes))
end

return collective
