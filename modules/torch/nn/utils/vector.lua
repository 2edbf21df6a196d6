-- torch/nn/utils/vector.lua: converts parameters to one vector and back.

local errors = require 'base.errors'
local parameter_list = require 'torch.nn.utils.parameter_list'
local torch = require 'torch'

local vector = {}

---Returns all parameters as one vector.
---@param parameters torch.Tensor[]
---@return torch.Tensor vector (number of elements of all parameters)
function vector.parameters_to_vector(parameters)
  local parts = {}
  for i, param in ipairs(parameter_list(parameters, 'parameters_to_vector')) do parts[i] = param:reshape(-1) end
  return torch.cat(parts)
end

---Sets the parameters to the values of a vector, without recording gradients.
---@param values torch.Tensor (number of elements of all parameters)
---@param parameters torch.Tensor[]
---
---```lua
---local torch = require 'torch'
---local utils = torch.nn.utils
---local layer = torch.nn.Linear(2, 2)
---utils.vector_to_parameters(torch.zeros(6), layer:parameters())
---assert(utils.parameters_to_vector(layer:parameters()):abs():sum():item() == 0)
---```
function vector.vector_to_parameters(values, parameters)
  local total = 0
  local list = parameter_list(parameters, 'vector_to_parameters')
  for _, param in ipairs(list) do total = total + param:numel() end
  if values:numel() < total then
    errors.raise('argument', ('vector_to_parameters: the parameters have %d elements, the vector %d'):format(total,
      values:numel()))
  end
  torch.no_grad(function()
    local start = 0
    for _, param in ipairs(list) do
      local count = param:numel()
      param:copy_(values:narrow(0, start, count):view_as(param))
      start = start + count
    end
  end)
end

return vector
