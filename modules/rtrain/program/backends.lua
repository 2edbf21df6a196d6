-- rtrain/program/backends.lua: what the programs of a framework find in their environment besides torchrun's variables.
--
-- A Backend is a table of functions of (worker), each may be left out: on_start(worker) before the program starts, on_shutdown(
-- worker) after it has ended. `worker` is {context, env, addresses()}; on_start may change env.

local system = require 'base._system'

local backends = {}

---PyTorch: torchrun's variables say all.
backends.torch = {}

---TensorFlow's MultiWorkerMirroredStrategy: TF_CONFIG.
backends.tensorflow = {
  on_start = function(worker)
    local addresses = worker.addresses()
    worker.env.TF_CONFIG = system.to_json {
      cluster = {worker = addresses},
      task = {type = 'worker', index = worker.context.world_rank},
    }
  end,
}

---JAX: jax.distributed.initialize() without arguments reads these.
backends.jax = {
  on_start = function(worker)
    local context, env = worker.context, worker.env
    env.JAX_COORDINATOR_ADDRESS = env.MASTER_ADDR .. ':' .. env.MASTER_PORT
    env.JAX_NUM_PROCESSES = ('%d'):format(context.world_size)
    env.JAX_PROCESS_ID = ('%d'):format(context.world_rank)
    env.JAX_LOCAL_DEVICE_IDS = ('%d'):format(context.local_rank)
  end,
}

return backends
