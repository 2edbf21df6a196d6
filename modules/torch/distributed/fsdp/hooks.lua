-- torch/distributed/fsdp/hooks.lua: what happens at the boundaries of a sharded module's forward and backward.

local C = require 'torch._C'
local class = require 'base.class'
local pass = require 'torch.distributed.fsdp.pass'
local torch = require 'torch'
local tree = require 'torch.func.tree'

local hooks = {}

-- Returns the values with their tensors that need a gradient passed through a node.
local function watch_inputs(group, inputs)
  local tensors = {}
  for _, x in ipairs(tree.leaves{unpack(inputs, 1, inputs.n)}) do
    if x.requires_grad then tensors[#tensors + 1] = x end
  end
  if #tensors == 0 then return inputs end
  local passed, i, out = C.after_backward(function() pass.close(group) end, tensors), 0, {n = inputs.n}
  for position = 1, inputs.n do
    out[position] = tree.map(inputs[position], function(x)
      if not x.requires_grad then return x end
      i = i + 1
      return passed[i]
    end)
  end
  return out
end

local function cast(values, dtype)
  return tree.map(values, function(x)
    if not x:is_floating_point() or x.dtype == dtype then return x end
    return x:to{dtype = dtype}
  end)
end

local function cast_inputs(group, inputs)
  local dtype = group.mp_policy.param_dtype
  if not dtype or not group.mp_policy.cast_forward_inputs then return inputs end
  local out = {n = inputs.n}
  for i = 1, inputs.n do out[i] = cast(inputs[i], dtype) end
  return out
end

-- Returns the tensors of the outputs, also of an object's fields.
local function tensors_of(outputs)
  local is_object = type(outputs) == 'table' and class.of(outputs) ~= nil
  if not is_object then return tree.leaves{outputs} end
  local fields = {}
  for name, value in next, outputs do fields[name] = value end
  return tree.leaves(fields)
end

local function watch_outputs(group, outputs)
  local call = {}
  for _, x in ipairs(tensors_of(outputs)) do
    if x.requires_grad then C.before_backward(function() pass.open(group, call) end, x) end
  end
end

---Adds the hooks of a sharded module.
---@param module nn.Module
---@param group fsdp.ParameterGroup
---@param groups_below fun(): fsdp.ParameterGroup[] the groups of the module and of those below it
function hooks.add(module, group, groups_below)
  module:register_forward_pre_hook(function(_, inputs)
    pass.begin_forward(module, groups_below)
    pass.show(group)
    inputs = cast_inputs(group, inputs)
    return torch.is_grad_enabled() and watch_inputs(group, inputs) or inputs
  end, {prepend = true})
  module:register_forward_hook(function(_, _, outputs)
    if outputs == nil then return pass.abandon(module, groups_below) end
    local is_outermost = pass.end_forward(module)
    local frees = group.reshard_after_forward
    if frees == nil then frees = not is_outermost end  -- backward begins with the outermost module
    group:hide(torch.is_grad_enabled() and not frees)
    if group.mp_policy.output_dtype then outputs = cast(outputs, group.mp_policy.output_dtype) end
    if torch.is_grad_enabled() then watch_outputs(group, outputs) end
    if is_outermost then pass.fence(groups_below()) end
    return outputs
  end, {always_call = true})
end

return hooks
