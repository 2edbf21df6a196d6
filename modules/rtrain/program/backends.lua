-- rtrain/program/backends.lua: the environment variables for the programs of each framework, besides torchrun's.

local Backend = require 'rtrain.backends.backend'
local system = require 'base._system'

local backends = {}

-- PyTorch needs only torchrun's variables.
backends.torch = Backend:extend('TorchBackend')

-- TensorFlow's MultiWorkerMirroredStrategy reads TF_CONFIG.
local TensorflowBackend = Backend:extend('TensorflowBackend')
backends.tensorflow = TensorflowBackend

---Sets TF_CONFIG.
---@param worker ProgramRank
function TensorflowBackend:on_start(worker)  -- luacheck: no self
  worker.env.TF_CONFIG = system.to_json {
    cluster = {worker = worker.addresses()},
    task = {type = 'worker', index = worker.context.world_rank},
  }
end

-- jax.distributed.initialize() without arguments reads the address from its own variable, and the rest from the
-- variables of a launcher that it knows. Those of Open MPI are used because they have no other effects.
local JaxBackend = Backend:extend('JaxBackend')
backends.jax = JaxBackend

-- Returns the places 'i,j' of this rank's GPUs among those of its node; nil without GPUs.
local function places_of_gpus(context)
  local places, count = {}, #(context.gpus or {})
  for i = 1, count do places[i] = ('%d'):format(context.local_rank * count + i - 1) end
  return count > 0 and table.concat(places, ',') or nil
end

---Sets the address of the coordinator, the number of processes, and the number of this process.
---@param worker ProgramRank
function JaxBackend:on_start(worker)  -- luacheck: no self
  local context, env = worker.context, worker.env
  env.JAX_COORDINATOR_ADDRESS = env.MASTER_ADDR .. ':' .. env.MASTER_PORT
  env.JAX_LOCAL_DEVICE_IDS = places_of_gpus(context)
  env.OMPI_MCA_orte_hnp_uri = ('0.0;tcp://%s'):format(env.JAX_COORDINATOR_ADDRESS)
  env.OMPI_COMM_WORLD_SIZE, env.OMPI_COMM_WORLD_RANK = env.WORLD_SIZE, env.RANK
  env.OMPI_COMM_WORLD_LOCAL_RANK = env.LOCAL_RANK
end

-- Horovod's scripts find rtrain's package of that name, and the variables of Horovod's launcher.
local HorovodBackend = Backend:extend('HorovodBackend')
backends.horovod = HorovodBackend

---@param worker ProgramRank
function HorovodBackend:on_start(worker)  -- luacheck: no self
  local context, env = worker.context, worker.env
  env.PYTHONPATH = ('%s/backends/horovod:%s'):format(require('rtrain._program').python_folder(), env.PYTHONPATH)
  env.HOROVOD_RANK, env.HOROVOD_SIZE = env.RANK, env.WORLD_SIZE
  env.HOROVOD_LOCAL_RANK, env.HOROVOD_LOCAL_SIZE = env.LOCAL_RANK, env.LOCAL_WORLD_SIZE
  env.HOROVOD_CROSS_RANK = env.GROUP_RANK
  env.HOROVOD_CROSS_SIZE = ('%d'):format(math.ceil(context.world_size / context.local_world_size))
  env.HOROVOD_CONTROLLER, env.HOROVOD_CPU_OPERATIONS = 'gloo', 'gloo'
end

return backends
