-- rtrain/program/backends.lua: what the programs of a framework find in their environment besides torchrun's variables.

local Backend = require 'rtrain.backend'
local system = require 'base._system'

local backends = {}

-- PyTorch: torchrun's variables say all.
backends.torch = Backend:extend('TorchBackend')

-- TensorFlow's MultiWorkerMirroredStrategy reads TF_CONFIG.
local TensorflowBackend = Backend:extend('TensorflowBackend')
backends.tensorflow = TensorflowBackend

---TF_CONFIG.
---@param worker ProgramRank
function TensorflowBackend:on_start(worker)  -- luacheck: no self
  worker.env.TF_CONFIG = system.to_json {
    cluster = {worker = worker.addresses()},
    task = {type = 'worker', index = worker.context.world_rank},
  }
end

-- jax.distributed.initialize() without arguments reads these.
local JaxBackend = Backend:extend('JaxBackend')
backends.jax = JaxBackend

---The coordinator, how many processes there are, and which one this is.
---@param worker ProgramRank
function JaxBackend:on_start(worker)  -- luacheck: no self
  local context, env = worker.context, worker.env
  env.JAX_COORDINATOR_ADDRESS = env.MASTER_ADDR .. ':' .. env.MASTER_PORT
  env.JAX_NUM_PROCESSES = ('%d'):format(context.world_size)
  env.JAX_PROCESS_ID = ('%d'):format(context.world_rank)
  env.JAX_LOCAL_DEVICE_IDS = ('%d'):format(context.local_rank)
end

return backends
