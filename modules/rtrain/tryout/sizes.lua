-- rtrain/tryout/sizes.lua: measures the memory of a model and its training, in bytes.

local sizes = {}

---@param tensor torch.Tensor
---@return integer bytes
function sizes.of_tensor(tensor) return tensor:numel() * tensor:element_size() end

---@param model nn.Module
---@return integer parameters
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
    all = all + parameter:numel()
    if parameter.requires_grad then trainable = trainable + parameter:numel() end
  end
  return all, trainable
end

local function of_state(value)
  if type(value) == 'userdata' and require('torch').is_tensor(value) then return sizes.of_tensor(value) end
  local bytes = 0
  if type(value) == 'table' then
    for _, item in next, value do bytes = bytes + of_state(item) end
  end
  return bytes
end

---@param model nn.Module
---@param optimizers torch.optim.Optimizer[] optimizers that have stepped
---@return {parameters: integer, gradients: integer, buffers: integer, optimizer: integer} bytes
function sizes.of_training(model, optimizers)
  local bytes = {parameters = 0, gradients = 0, buffers = 0, optimizer = 0}
  for _, parameter in model:named_parameters() do
    bytes.parameters = bytes.parameters + sizes.of_tensor(parameter)
    if parameter.requires_grad then bytes.gradients = bytes.gradients + sizes.of_tensor(parameter) end
  end
  for _, buffer in model:named_buffers() do bytes.buffers = bytes.buffers + sizes.of_tensor(buffer) end
  for _, optimizer in ipairs(optimizers) do bytes.optimizer = bytes.optimizer + of_state(optimizer:state_dict().state) end
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
