-- torch/nn/utils/parametrizations.lua: torch.nn.utils.parametrizations: weight_norm, spectral_norm, orthogonal.

local args = require 'base.args'
local errors = require 'base.errors'
local matrix = require 'torch.nn.utils.matrix'
local parametrize = require 'torch.nn.utils.parametrize'
local Module = require('torch.nn.module').Module
local torch = require 'torch'

local parametrizations = {}
local defined = args.definer(parametrizations)

local WeightNorm = Module:extend('_WeightNorm')

function WeightNorm:init(dim) self.dim = dim end

function WeightNorm:forward(weight_g, weight_v) return torch._weight_norm(weight_v, weight_g, self.dim) end

function WeightNorm:right_inverse(weight) return torch.norm_except_dim(weight, 2, self.dim), weight end

---Splits a weight into its length (original0) and its direction (original1), which are trained instead (Salimans and
---Kingma 2016). Arguments: module, name = 'weight', dim = 0 (-1: one length for the whole weight, Python's None). Returns
---the module. A state_dict of torch.nn.utils.weight_norm can be loaded.
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
---assert(layer:state_dict()['parametrizations.weight.original0'].shape[1] == 2)
---assert(layer(torch.ones(1, 3)).shape[2] == 2)
---```
defined('weight_norm', {'module', {'name', 'weight'}, {'dim', 0}}, function(p)
  parametrize.register_parametrization(p.module, p.name, WeightNorm(p.dim), {unsafe = true})
  p.module:register_load_state_dict_pre_hook(function(_, state, prefix)
    local base = prefix .. p.name
    local g, v = state[base .. '_g'], state[base .. '_v']
    if g == nil or v == nil then return end
    state[base .. '_g'], state[base .. '_v'] = nil, nil
    local key = ('%sparametrizations.%s.original'):format(prefix, p.name)
    state[key .. '0'], state[key .. '1'] = g, v
  end)
  return p.module
end)

local SpectralNorm = Module:extend('_SpectralNorm')

function SpectralNorm:init(weight, p)
  local dims = weight:dim()
  if p.dim >= dims or p.dim < -dims then
    errors.raise('argument', ('spectral_norm: dim = %d, and the weight has %d dimensions'):format(p.dim, dims))
  end
  if p.n_power_iterations <= 0 then
    errors.raise('argument', 'spectral_norm: n_power_iterations must be positive')
  end
  self.dim, self.eps = p.dim % dims, p.eps
  if dims == 1 then return end
  self.n_power_iterations = p.n_power_iterations
  local flat = matrix.of(weight:detach(), self.dim)
  local u = flat:new_empty{flat:size(0)}:normal_(0, 1)
  local v = flat:new_empty{flat:size(1)}:normal_(0, 1)
  self:register_buffer('_u', matrix.unit(u, p.eps))
  self:register_buffer('_v', matrix.unit(v, p.eps))
  self:_power_method(flat, 15)
end

function SpectralNorm:_power_method(flat, count)
  torch.no_grad(function()
    for _ = 1, count do
      self._u:copy_(matrix.unit(flat:mv(self._v), self.eps))
      self._v:copy_(matrix.unit(flat:t():mv(self._u), self.eps))
    end
  end)
end

function SpectralNorm:forward(weight)
  if weight:dim() == 1 then return matrix.unit(weight, self.eps) end
  local flat = matrix.of(weight, self.dim)
  if self.training then self:_power_method(flat, self.n_power_iterations) end
  -- Copies: the graph keeps these values, but the next forward changes the buffers.
  return weight / torch.dot(self._u:clone(), flat:mv(self._v:clone()))
end

---Returns the value: an assigned weight becomes the original.
---@param value torch.Tensor
---@return torch.Tensor
function SpectralNorm:right_inverse(value) return value end

local function tensor_of(module, name, what)
  local value = module[name]
  if torch.is_tensor(value) then return value end
  errors.raise('argument', ("%s: the module has no tensor '%s'"):format(what, tostring(name)))
end

---Divides a weight by its largest singular value, found by power iteration in training (Miyato et al. 2018). Arguments:
---module, name = 'weight', n_power_iterations = 1, eps = 1e-12, dim (default 0; 1 for ConvTranspose). Returns the module.
defined('spectral_norm', {'module', {'name', 'weight'}, {'n_power_iterations', 1}, {'eps', 1e-12}, {'dim'}}, function(p)
  local weight = tensor_of(p.module, p.name, 'spectral_norm')
  p.dim = p.dim or matrix.default_dim(p.module)
  return parametrize.register_parametrization(p.module, p.name, SpectralNorm(weight, p))
end)

---Keeps a matrix orthogonal, or with orthonormal rows or columns. Arguments: module, name = 'weight', orthogonal_map =
---'matrix_exp' | 'cayley' | 'householder' (default: the first for square matrices, else the last), {use_trivialization =
---true}. Returns the module.
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 4))
---assert(torch.allclose(layer.weight:matmul(layer.weight:t()), torch.eye(4), {atol = 1e-4}))
---```
defined('orthogonal', {'module', {'name', 'weight'}, {'orthogonal_map'}, {'use_trivialization', true}}, function(p)
  local weight = tensor_of(p.module, p.name, 'orthogonal')
  if weight:dim() < 2 then
    errors.raise('argument', ('orthogonal: expected a matrix, got %d dimensions'):format(weight:dim()))
  end
  local Orthogonal = require('torch.nn.utils.orthogonal').Orthogonal
  return parametrize.register_parametrization(p.module, p.name, Orthogonal(weight, p), {unsafe = true})
end)

return require 'base.namespace'('torch.nn.utils.parametrizations', nil, parametrizations)
