-- torch/nn/utils/spectral_norm.lua: spectral_norm, with a hook that computes the weight before each forward.
--
-- The newer form is torch.nn.utils.parametrizations.spectral_norm; this form has other names in state_dict.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local named_hook = require 'torch.nn.utils.named_hook'
local parameter = require 'torch.nn.parameter'
local matrix = require 'torch.nn.utils.matrix'
local torch = require 'torch'

local SpectralNorm = class('SpectralNorm')

function SpectralNorm:init(p)
  self.name, self.dim, self.eps, self.n_power_iterations = p.name, p.dim, p.eps, p.n_power_iterations
end

-- Returns the divided weight, after power iterations if requested.
function SpectralNorm:_compute(module, iterates)
  local weight, u, v = module[self.name .. '_orig'], module[self.name .. '_u'], module[self.name .. '_v']
  local flat = matrix.of(weight, self.dim)
  if iterates then
    torch.no_grad(function()
      for _ = 1, self.n_power_iterations do
        v:copy_(matrix.unit(flat:t():mv(u), self.eps))
        u:copy_(matrix.unit(flat:mv(v), self.eps))
      end
      -- The graph keeps these values, but the next forward changes the buffers.
      u, v = u:clone(), v:clone()
    end)
  end
  return weight / torch.dot(u, flat:mv(v))
end

function SpectralNorm:__call(module) module[self.name] = self:_compute(module, module.training) end

local utils = {}
local defined = args.definer(utils)

---Divides a weight by its largest singular value, found by power iteration in training (Miyato et al. 2018): parameter
---`weight_orig`, buffers `weight_u` and `weight_v`. Arguments: module, name = 'weight', n_power_iterations = 1, eps = 1e-12,
---dim (default 0; 1 for ConvTranspose). Returns the module.
---
---```lua
---local torch = require 'torch'
---torch.manual_seed(0)
---local layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2))
---for _ = 1, 20 do layer(torch.ones(1, 3)) end
---assert(math.abs(torch.linalg_matrix_norm(layer.weight, 2):item() - 1) < 1e-3)
---```
defined('spectral_norm', {'module', {'name', 'weight'}, {'n_power_iterations', 1}, {'eps', 1e-12}, {'dim'}}, function(p)
  local module, name = p.module, p.name
  if p.n_power_iterations <= 0 then
    errors.raise('argument', 'spectral_norm: n_power_iterations must be positive')
  end
  if named_hook.find(module, SpectralNorm, name) then
    errors.raise('argument', ("spectral_norm: '%s' has one already"):format(name))
  end
  p.dim = p.dim or matrix.default_dim(module)
  local weight, hook = module:get_parameter(name), SpectralNorm(p)
  local flat = matrix.of(weight:detach(), p.dim)
  local u = matrix.unit(flat:new_empty{flat:size(0)}:normal_(0, 1), p.eps)
  local v = matrix.unit(flat:new_empty{flat:size(1)}:normal_(0, 1), p.eps)
  module:_forget(name)
  module:register_parameter(name .. '_orig', weight)
  module[name] = weight.data
  module:register_buffer(name .. '_u', u)
  module:register_buffer(name .. '_v', v)
  module:register_forward_pre_hook(hook)
  return module
end)

---Undoes spectral_norm: the divided weight becomes a parameter again. Arguments: module, name = 'weight'. Returns the
---module.
defined('remove_spectral_norm', {'module', {'name', 'weight'}}, function(p)
  local module, hook = p.module, named_hook.take(p.module, SpectralNorm, p.name, 'spectral_norm')
  local weight = torch.no_grad(hook._compute, hook, module, false)
  for _, suffix in ipairs{'', '_u', '_v', '_orig'} do module:_forget(p.name .. suffix) end
  module:register_parameter(p.name, parameter.Parameter(weight))
  return module
end)

return utils
