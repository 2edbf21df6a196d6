-- rtrain/process_group.lua: the process group of a TorchTrainer's workers, formed at its first use, of this rank's current
-- device.

local errors = require 'rtrain.errors'
local session = require 'rtrain.session'

local process_group = {}

---Forms the group when this is a worker of a TorchTrainer and there is none yet. Every rank gets here, or none may.
function process_group.ensure()
  local dist = require('torch._C').distributed
  if dist.is_initialized() then return end
  local state = session.peek()
  if state == nil then return end
  if state.kind ~= 'torch' then
    errors.raise('user', 'the workers of a DataParallelTrainer have no process group: use a TorchTrainer')
  end
  local context = state.context
  dist.init_process_group {
    backend = context.backend,
    rank = context.world_rank,
    world_size = context.world_size,
    timeout_s = context.timeout_s,
    prefix = ('attempt-%d-%s'):format(context.attempt, context.nonce),
  }
  require('rtrain._worker').phase('group_ready')
end

---Ends the group, if one was formed.
function process_group.destroy()
  local engine = package.loaded['torch._C']
  if type(engine) == 'table' and engine.distributed.is_initialized() then engine.distributed.destroy_process_group() end
end

return process_group
