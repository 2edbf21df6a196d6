-- rtrain/program/environment.lua: the environment variables of a program's ranks, which replace those of rtrain's
-- starter.

local address_of = require 'rtrain.session.address'

local environment = {}

-- Variables of launchers, by which a program would take itself for a task of the launcher; and rtrain's own.
environment.DROPPED = {
  'SLURM_', 'OMPI_', 'PMI_', 'PMIX_', 'PRTE_', 'MPI_LOCAL', 'HYDRA_', 'TORCHELASTIC_', 'TF_CONFIG=', 'HOROVOD_',
  'RTRAIN_LAUNCHER=', 'RTRAIN_NNODES=', 'RTRAIN_TASK=', 'RTRAIN_TRIAL=',
}

-- Stores this rank's value and returns the values of the ranks first … first + count - 1, in order.
local function gather(host, context, name, own, first, count)
  local function key(rank) return ('program/%s/%d'):format(name, rank) end
  host.store_set(key(context.world_rank), own)
  local all = {}
  for i = 1, count do all[i] = host.store_get(key(first + i - 1), context.timeout_s) end
  return all
end

-- Returns the devices of all ranks of this node in order, so that cuda:LOCAL_RANK is each rank's own; nil without GPUs.
local function devices_of_host(host, context)
  local own = context.gpus or {}
  if #own == 0 then return nil end
  local first = context.world_rank - context.local_rank
  return table.concat(gather(host, context, 'devices', table.concat(own, ','), first, context.local_world_size), ',')
end

---Returns torchrun's variables, which PyTorch, Lightning, Accelerate, DeepSpeed and others read. The address is that of
---the worker (rtrain.session.variables).
---@param host table rtrain._worker
---@param context table of this rank
---@return table<string, string> env
function environment.of(host, context)
  local function text(number) return ('%d'):format(number) end
  return {
    RANK = text(context.world_rank),
    LOCAL_RANK = text(context.local_rank),
    WORLD_SIZE = text(context.world_size),
    LOCAL_WORLD_SIZE = text(context.local_world_size),
    GROUP_RANK = text(context.node_rank),
    ROLE_NAME = 'default',
    ROLE_RANK = text(context.world_rank),
    ROLE_WORLD_SIZE = text(context.world_size),
    MASTER_ADDR = os.getenv 'MASTER_ADDR',
    MASTER_PORT = os.getenv 'MASTER_PORT',
    TORCHELASTIC_RUN_ID = context.experiment_name,
    TORCHELASTIC_RESTART_COUNT = text(context.attempt - 1),
    OMP_NUM_THREADS = text(math.max(1, context.threads or 1)),
    CUDA_VISIBLE_DEVICES = devices_of_host(host, context),
    PYTHONUNBUFFERED = '1',
  }
end

---Returns 'host:port' of every rank, by rank, each with a port that is free on its node.
---@param host table
---@param context table
---@return string[] addresses
function environment.addresses(host, context)
  local own = ('%s:%d'):format(address_of(context), require('rtrain._program').free_port())
  return gather(host, context, 'addresses', own, 0, context.world_size)
end

return environment
