-- torch/nn/utils/weight_norm.lua: weight_norm, with a hook that computes the weight before each forward.
--
-- The newer form is torch.nn.utils.parametrizations.weight_norm; this form has other names in state_dict.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local named_hook = require 'torch.nn.utils.named_hook'
local Parameter = require('torch.nn.parameter').Parameter
local torch = require 'torch'

local WeightNorm = class('WeightNorm')

function WeightNorm:init(name, dim) self.name, self.dim = name, dim end

-- Computes the weight from length and direction.
function WeightNorm:_compute(module)
  return torch._weight_norm(module[self.name .. '_v'], module[self.name .. '_g'], self.dim)
end

function WeightNorm:__call(module) module[self.name] = self:_compute(module) end

local utils = {}
local defined = args.definer(utils)

---Splits a weight into its direction and its length, which are trained instead (Salimans and Kingma 2016): parameters
---`weight_v` and `weight_g`. Arguments: module, name = 'weight', dim = 0 (-1: one length for the whole weight, Python's
---None). Returns the module.
---
---```lua
---local torch = require 'torch'
---local nn = torch.nn
---local layer = nn.utils.weight_norm(nn.Linear(3, 2))
---assert(layer.weight_g.shape[1] == 2 and layer(torch.ones(1, 3)).shape[2] == 2)
---nn.utils.remove_weight_norm(layer)
---assert(layer.weight_g == nil and #layer:parameters() == 2)
---```
defined('weight_norm', {'module', {'name', 'weight'}, {'dim', 0}}, function(p)
  local module, name = p.module, p.name
  if named_hook.find(module, WeightNorm, name) then
    errors.raise('argument', ("weight_norm: '%s' has one already"):format(name))
  end
  local weight = module:get_parameter(name)
  local hook = WeightNorm(name, p.dim)
  module:_forget(name)
  module:register_parameter(name .. '_g', Parameter(torch.norm_except_dim(weight, 2, p.dim)))
  module:register_parameter(name .. '_v', Parameter(weight))
  hook(module)
  module:register_forward_pre_hook(hook)
  return module
end)

---Undoes weight_norm: the weight becomes a parameter again. Arguments: module, name = 'weight'. Returns the module.
defined('remove_weight_norm', {'module', {'name', 'weight'}}, function(p)
  local module, hook = p.module, named_hook.take(p.module, WeightNorm, p.name, 'weight_norm')
  local weight = torch.no_grad(hook._compute, hook, module)
  for _, name in ipairs{p.name, p.name .. '_g', p.name .. '_v'} do module:_forget(name) end
  module:register_parameter(p.name, Parameter(weight))
  return module
end)

return utils
