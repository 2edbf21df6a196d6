-- rtrain/collective.lua: a barrier, and one value from rank 0 to all, for the train function.
--
-- Over the process group of a TorchTrainer. For tensors use torch.distributed.

local closure = require 'rtrain._closure'
local session = require 'rtrain.session'

---@class rtrain.collective
local collective = {}

---Waits until every worker is here. Counterpart: ray.train.collective.barrier.
---Raises code 'timeout' after TorchConfig.timeout_s, 'peer_lost' when another worker is gone.
function collective.barrier()
  session.get('train.collective.barrier()')
  require('torch.distributed').barrier()
end

local function bytes_of(tensor)
  local parts = {}
  for i, byte in ipairs(tensor:tolist()) do parts[i] = string.char(byte) end
  return table.concat(parts)
end

---Gives every worker rank 0's value; also a barrier. For small values: it travels as a train function does.
---Counterpart: ray.train.collective.broadcast_from_rank_zero.
---@param data any the value on rank 0; the others' is ignored
---@return any data rank 0's
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
  local torch, dist = require 'torch', require 'torch.distributed'
  local is_source = state.context.world_rank == 0
  local bytes = is_source and closure.dump(data) or ''
  local size = dist.broadcast(torch.tensor({#bytes}, {dtype = torch.int64}), 0):tolist()[1]
  local buffer = is_source and require('torch._C').from_bytes(bytes, 'uint8', {#bytes})
    or torch.zeros(tonumber(size), {dtype = torch.uint8})
  return closure.load(bytes_of(dist.broadcast(buffer, 0)))
end

return require 'rtrain.namespace'('train.collective', nil, collective)
