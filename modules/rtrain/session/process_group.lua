-- rtrain/session/process_group.lua: the process group of a TorchTrainer's workers, formed at its first use, for this
-- rank's current device.

local backends = require 'rtrain.session.backends'
local default_group = require 'torch.distributed.default_group'
local errors = require 'base.errors'
local session = require 'rtrain.session'

local process_group = {}

-- Forms the group. Does nothing outside of a train function.
local function form()
  local state = session.peek()
  if state == nil then return end
  if state.kind ~= 'torch' then
    errors.raise('user', 'the workers of a DataParallelTrainer have no process group: use a TorchTrainer')
  end
  if state.is_joining then
    errors.raise('user', 'a collective before train.elastic: this rank has taken the place of a lost one, and the others have '
      .. 'done that collective: call it in the function that train.elastic is given')
  end
  local context = state.context
  require('torch._C').distributed.init_process_group {
    backend = context.backend,
    rank = context.world_rank,
    world_size = context.world_size,
    timeout_s = context.timeout_s,
    prefix = ('attempt-%d-%s'):format(context.attempt, context.nonce),
    address = context.address,
    node = context.node_rank,
  }
  require('rtrain._worker').phase('group_ready')
end

-- Returns whether ranks may share a device. If a launcher has started each rank, this is only known once the group is
-- formed. Before that it is assumed if all ranks see the same single device, unless CUDA_VISIBLE_DEVICES was set for
-- each.
local function may_share_devices(context, num_devices)
  return context.backend == backends.DEFAULT and num_devices < context.local_world_size
    and not (num_devices == 1 and os.getenv 'CUDA_VISIBLE_DEVICES')
end

local function expected_backend(context)
  local torch = require 'torch'
  local num_devices = torch.cuda.is_available() and torch.cuda.device_count() or 0
  local is_gloo = context.backend == 'gloo' or (context.address or '') ~= ''
  if num_devices == 0 then return is_gloo and 'gloo' or 'shm' end
  local wants_nccl = context.backend:find('nccl', 1, true) ~= nil
  return wants_nccl and not may_share_devices(context, num_devices) and 'nccl' or 'gloo'
end

-- Returns the properties of the group that form() would make, as far as this rank knows them.
local function place()
  local state = session.peek()
  if state == nil or state.kind ~= 'torch' then return nil end
  local context = state.context
  return {
    rank = function() return context.world_rank end,
    world_size = function() return context.world_size end,
    backend = function() return expected_backend(context) end,
  }
end

---Makes a train function's first collective form the group.
function process_group.form_at_first_use()
  default_group.form_by(form, place, {
    is_joining = session.is_joining,
    num_collectives = function() return require('rtrain._elastic').num_collectives() end,
  })
end

---Ends the group, if one was formed.
function process_group.destroy()
  local engine = package.loaded['torch._C']
  if type(engine) == 'table' and engine.distributed.is_initialized() then engine.distributed.destroy_process_group() end
end

return process_group
