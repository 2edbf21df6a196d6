-- torch/nn/inputs.lua: binds the inputs of the forward of built-in modules.
--
-- Inputs are given by position or by PyTorch's names, `conv(x)` or `conv{input = x}`. An unknown name, a surplus input
-- and a value of another type in place of a tensor raise errors. A call by position only costs a check of the types.

local args = require 'base.args'
local checks = require 'torch.functions.checks'
local class = require 'base.class'

-- Binds the inputs of the slow calls; messages contain the name of the module's class.
local function binder(parameters, unchecked)
  local signatures, check_tensors = setmetatable({}, {__mode = 'k'}), checks.bound_arguments(parameters, unchecked)
  return function(self, ...)
    local of = class.of(self)
    local signature = signatures[of]
    if not signature then
      signature = args.signature(of.__name, parameters)
      signatures[of] = signature
    end
    local bound, values = signature:bind(...), {}
    check_tensors(of.__name, bound)
    for i, name in ipairs(signature.names) do values[i] = bound[name] end
    return unpack(values, 1, #signature.names)
  end
end

---Returns a function `take(self, ...)` that returns the inputs of a call in the order of the parameters.
---@param parameters (string|table)[] in the form of args.signature
---@param unchecked? string[] inputs with a tensor's name that may be other values
---@return fun(self: nn.Module, ...): any
local function inputs(parameters, unchecked)
  local bind = binder(parameters, unchecked)
  if #parameters == 1 then
    return function(self, input, ...)
      if type(input) == 'userdata' and select('#', ...) == 0 then return input end
      return bind(self, input, ...)
    end
  end
  local count, required = #parameters, 0
  while type(parameters[required + 1]) == 'string' do required = required + 1 end
  return function(self, ...)
    local given = select('#', ...)
    if given < required or given > count then return bind(self, ...) end
    for i = 1, given do
      if type((select(i, ...))) ~= 'userdata' then return bind(self, ...) end
    end
    return ...
  end
end

return inputs
