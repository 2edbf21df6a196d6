-- rtrain/tryout/sizes.lua: measures the memory of a model and its training, in bytes.

local sizes = {}

---@param tensor torch.Tensor
---@return integer bytes
function sizes.of_tensor(tensor) return tensor:numel() * tensor:element_size() end

-- Returns the number of elements; of this rank's rows of a sharded tensor, that of the whole tensor.
local function whole_numel(tensor)
  local shard = require('torch.tensor.shards').of(tensor)
  if not shard then return tensor:numel() end
  local count = 1
  for _, size in ipairs(shard.sizes) do count = count * size end
  return count
end

---@param tensor torch.Tensor this rank's rows of a sharded tensor, or any other tensor
---@return integer bytes of the whole tensor
function sizes.of_whole(tensor) return whole_numel(tensor) * tensor:element_size() end

---@param model nn.Module
---@return integer parameters those of all ranks, if they are divided
---@return integer trainable those that require a gradient
---
---```lua
---local torch = require 'torch'
---local all, trainable = require('rtrain.tryout.sizes').count(torch.nn.Linear(3, 2))
---assert(all == 8 and trainable == 8)
---```
function sizes.count(model)
  local all, trainable = 0, 0
  for _, parameter in model:named_parameters() do
    all = all + whole_numel(parameter)
    if parameter.requires_grad then trainable = trainable + whole_numel(parameter) end
  end
  return all, trainable
end

local function of_state(value, size_of)
  if type(value) == 'userdata' and require('torch').is_tensor(value) then return size_of(value) end
  local bytes = 0
  if type(value) == 'table' then
    for _, item in next, value do bytes = bytes + of_state(item, size_of) end
  end
  return bytes
end

---@param model nn.Module
---@param optimizers torch.optim.Optimizer[] optimizers that have stepped
---@param size_of? fun(tensor: torch.Tensor): integer sizes.of_whole: of a sharded model all of it; default: this rank's rows
---@return {parameters: integer, gradients: integer, buffers: integer, optimizer: integer} bytes
function sizes.of_training(model, optimizers, size_of)
  size_of = size_of or sizes.of_tensor
  local bytes = {parameters = 0, gradients = 0, buffers = 0, optimizer = 0}
  for _, parameter in model:named_parameters() do
    bytes.parameters = bytes.parameters + size_of(parameter)
    if parameter.requires_grad then bytes.gradients = bytes.gradients + size_of(parameter) end
  end
  for _, buffer in model:named_buffers() do bytes.buffers = bytes.buffers + size_of(buffer) end
  for _, optimizer in ipairs(optimizers) do
    bytes.optimizer = bytes.optimizer + of_state(optimizer:state_dict().state, size_of)
  end
  return bytes
end

---@param model nn.Module
---@return string device of its first parameter
function sizes.device_of(model)
  local first = model:parameters()[1]
  return first and tostring(first.device) or 'cpu'
end

---@param model nn.Module
---@return string dtype of its first parameter
function sizes.dtype_of(model)
  local first = model:parameters()[1]
  return first and tostring(first.dtype) or 'float32'
end

---Returns the peak host memory of this process.
---@return integer bytes
function sizes.peak_of_process() return require('torch.functions.memory').process_bytes 'VmHWM' or 0 end

return sizes
