-- rtrain/config/torch.lua: TorchConfig: the process group of a TorchTrainer's workers.

local schema = require 'rtrain.config.schema'

local function check_backend(value)
  if value == 'nccl' or value == 'shm' then
    return "'gloo' is the backend of this version, on GPUs too", 'unsupported'
  end
  return schema.one_of('gloo')(value)
end

---The process group of a TorchTrainer's workers. Counterpart: ray.train.torch.TorchConfig.
---@class TorchConfig
---@overload fun(fields?: table): TorchConfig
---@field backend? string 'gloo', also the default
---@field init_method string 'env', accepted for Ray's sake: the controller is the rendezvous
---@field timeout_s number seconds that a collective or a report may wait for other ranks (default 1800)
local TorchConfig = schema.define('TorchConfig', {
  {'backend', check = check_backend},
  {'init_method', default = 'env', check = schema.one_of('env', 'tcp')},
  {'timeout_s', default = 1800, check = schema.positive},
})

return TorchConfig
