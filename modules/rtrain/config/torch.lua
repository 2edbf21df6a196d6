-- rtrain/config/torch.lua: TorchConfig: the process group of a TorchTrainer's workers.

local backends = require 'rtrain.session.backends'
local errors = require 'base.errors'
local schema = require 'rtrain.config.schema'
local system = require 'base._system'

---The process group of a TorchTrainer's workers. Ray equivalent: ray.train.torch.TorchConfig.
---@class TorchConfig
---@overload fun(fields?: table): TorchConfig
---@field backend? string how tensors are transferred. Default, 'cpu:shm,cuda:nccl': CPU tensors use shared memory,
---  and Gloo between nodes; CUDA tensors use NCCL if no two workers share a device, else Gloo. 'gloo': Gloo for all.
---  'nccl': as the default, but an error without NCCL. 'shm': CPU tensors only, and an error on several nodes.
---  'cpu:gloo,cuda:nccl': one backend for each
---@field init_method string 'env' (default), 'env://' or 'tcp', accepted for compatibility with Ray: the controller
---  is the rendezvous. The environment of each worker has RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, NODE_RANK,
---  MASTER_ADDR, MASTER_PORT
---@field set_cuda_device boolean whether the worker's GPU is the current device of its process (default true)
---@field initialization_hook? fun() run on every worker before the train function, and sent to it in the same way
---@field timeout_s number seconds that a collective or a report may wait for other ranks (default 1800)
local TorchConfig = schema.define('TorchConfig', {
  {'backend', check = schema.one_of('nccl', 'gloo', 'shm', backends.DEFAULT, 'cpu:gloo,cuda:nccl')},
  {'init_method', default = 'env', check = schema.one_of('env', 'env://', 'tcp')},
  {'set_cuda_device', default = true, check = schema.boolean},
  {'initialization_hook', check = schema.callback},
  {'timeout_s', default = system.default_timeout_s, check = schema.positive},
})

local NCCL_REFUSED = "TorchConfig.backend = '%s': %s: %s, or leave the backend out"

local MUST_HAVE_NCCL = {nccl = true, ['cpu:gloo,cuda:nccl'] = true}

---Returns the backend of a run.
---@param gpus_per_worker number 0 without GPUs
---@param num_workers integer the largest number of workers
---@return string backend a name that torch.distributed.init_process_group takes
---@return string? text tells the user which transport the tensors use; nil without GPUs
---Raises code 'config' for 'nccl' if NCCL cannot be used.
function TorchConfig:choose_backend(gpus_per_worker, num_workers)
  local backend = self.backend or backends.DEFAULT
  local must_have_nccl = MUST_HAVE_NCCL[backend]
  if gpus_per_worker == 0 then
    if backend == 'gloo' or backend == 'shm' then return backend end
    if not must_have_nccl then return backends.WITHOUT_NCCL end
    errors.raise('config', NCCL_REFUSED:format(backend, 'the run has no GPUs',
      'set ScalingConfig.use_gpu = true (rtrain run --gpus all)'))
  end
  if backend == 'shm' then return backend, 'CUDA tensors do not travel (TorchConfig.backend)' end
  local shares = gpus_per_worker <= 0.5 and num_workers > 1
  if shares and must_have_nccl then
    errors.raise('config', NCCL_REFUSED:format(backend,
      ('several workers share a device (resources_per_worker.GPU = %s), which NCCL refuses'):format(gpus_per_worker),
      'give each worker a device of its own'))
  end
  if backend == 'gloo' then return backend, 'CUDA tensors travel over Gloo (TorchConfig.backend)' end
  if shares then
    return backends.WITHOUT_NCCL, 'workers share a device, which NCCL refuses: CUDA tensors travel over Gloo'
  end
  return must_have_nccl and backend or 'nccl', 'CUDA tensors travel over NCCL'
end

return TorchConfig
