-- torch/nn/utils/parameter_list.lua: normalizes the parameters argument of a function to a list.

local class = require 'base.class'
local errors = require 'base.errors'
local torch = require 'torch'

---@param given any a list of tensors, or one tensor
---@param name string the function
---@return torch.Tensor[]
---Raises code 'argument' for other values, such as the model itself, which would count as a list without parameters.
return function(given, name)
  if type(given) == 'userdata' and torch.is_tensor(given) then return {given} end
  local of = class.of(given)
  if type(given) == 'table' and of == nil then return given end
  errors.raise('argument', ('%s: expected a list of parameters, got %s: pass model:parameters()'):format(name,
    of and of.__name or type(given)))
end
