-- rtrain/config/torch.lua: TorchConfig: the process group of a TorchTrainer's workers.

local errors = require 'base.errors'
local schema = require 'rtrain.config.schema'

---The process group of a TorchTrainer's workers. Ray equivalent: ray.train.torch.TorchConfig.
---@class TorchConfig
---@overload fun(fields?: table): TorchConfig
---@field backend? string what CUDA tensors travel over, 'nccl' or 'gloo'; default: NCCL with `use_gpu`, where no two workers
---  share a device. Tensors of the CPU always travel over Gloo
---@field init_method string 'env', accepted for Ray's sake: the controller is the rendezvous
---@field timeout_s number seconds that a collective or a report may wait for other ranks (default 1800)
local TorchConfig = schema.define('TorchConfig', {
  {'backend', check = schema.one_of('nccl', 'gloo')},
  {'init_method', default = 'env', check = schema.one_of('env', 'tcp')},
  {'timeout_s', default = 1800, check = schema.positive},
})

local NCCL_REFUSED = "TorchConfig.backend = 'nccl': %s: %s, or leave the backend out"

---The backend of a run.
---@param gpus_per_worker number 0 without GPUs
---@param num_workers integer the largest number
---@return string backend 'nccl' or 'gloo'
---@return string? text how tensors of the devices travel, for the user; nil without GPUs
---Raises code 'config' for 'nccl' where it is not possible.
function TorchConfig:choose_backend(gpus_per_worker, num_workers)
  if gpus_per_worker == 0 then
    if self.backend ~= 'nccl' then return 'gloo' end
    errors.raise('config', NCCL_REFUSED:format('the run has no GPUs',
      'set ScalingConfig.use_gpu = true (rtrain run --gpus all)'))
  end
  local shares = gpus_per_worker <= 0.5 and num_workers > 1
  if shares and self.backend == 'nccl' then
    errors.raise('config', NCCL_REFUSED:format(
      ('several workers share a device (resources_per_worker.GPU = %s), which NCCL refuses'):format(gpus_per_worker),
      'give each worker a device of its own'))
  end
  if shares then return 'gloo', 'workers share a device, which NCCL refuses: CUDA tensors travel over Gloo' end
  if self.backend == 'gloo' then return 'gloo', 'CUDA tensors travel over Gloo (TorchConfig.backend)' end
  return 'nccl', 'CUDA tensors travel over NCCL'
end

return TorchConfig
