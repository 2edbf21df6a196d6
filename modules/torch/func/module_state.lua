-- torch/func/module_state.lua: torch.func.stack_module_state.

local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local torch = require 'torch'

local module_state = {}

local function check(models)
  if type(models) ~= 'table' or class.of(models) or #models == 0 then
    errors.raise('argument', 'stack_module_state: expected a list of modules')
  end
  for i, model in ipairs(models) do
    if class.of(model) ~= class.of(models[1]) or model.training ~= models[1].training then
      errors.raise('argument', ('stack_module_state: the modules have one class and one mode; module %d differs from the first')
        :format(i))
    end
  end
end

-- Returns name → the tensors of all models, stacked.
local function stacked(models, walk, is_leaf)
  local out = ordered.new()
  for name, first in walk(models[1]) do
    local all = {}
    for i, model in ipairs(models) do
      for other, tensor in walk(model) do
        if other == name then all[i] = tensor end
      end
      if all[i].requires_grad ~= first.requires_grad then
        errors.raise('argument', ("stack_module_state: '%s' requires a gradient in some of the modules"):format(name))
      end
    end
    local tensor = torch.stack(all)
    out[name] = is_leaf and first.requires_grad and tensor:detach():requires_grad_() or tensor:detach()
  end
  return out
end

---Stacks parameters and buffers of several modules of one class, so that torch.func.vmap can call the ensemble at once.
---PyTorch equivalent: torch.func.stack_module_state.
---@param models nn.Module[]
---@return table params name → tensor with the modules along dimension 0; leaves that require gradients
---@return table buffers
---
---```lua
---local torch = require 'torch'
---local func, nn = torch.func, torch.nn
---local models = {nn.Linear(3, 2), nn.Linear(3, 2)}
---local params, buffers = func.stack_module_state(models)
---local function call(p, b, x) return func.functional_call(models[1], {p, b}, x) end
---local y = func.vmap(call, {in_dims = {0, 0, torch.none}})(params, buffers, torch.ones(5, 3))
---assert(y.shape == torch.Size{2, 5, 2} and torch.allclose(y[1], models[2](torch.ones(5, 3))))
---```
function module_state.stack_module_state(models)
  check(models)
  return stacked(models, function(model) return model:named_parameters() end, true),
    stacked(models, function(model) return model:named_buffers() end, false)
end

return module_state
