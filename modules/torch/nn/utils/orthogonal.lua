-- torch/nn/utils/orthogonal.lua: the parametrization behind parametrizations.orthogonal.

local args = require 'base.args'
local errors = require 'base.errors'
local Module = require('torch.nn.module').Module
local torch = require 'torch'

---The parametrization that parametrizations.orthogonal registers.
---@class nn.utils.Orthogonal: nn.Module
local Orthogonal = Module:extend('_Orthogonal')

local MAPS = {'cayley', 'householder', 'matrix_exp'}

function Orthogonal:init(weight, p)
  local square = weight:size(-2) == weight:size(-1)
  local map = p.orthogonal_map or ((square or weight:is_complex()) and 'matrix_exp' or 'householder')
  self.orthogonal_map = args.one_of('orthogonal: orthogonal_map', map, MAPS)
  if map == 'householder' and weight:is_complex() then
    errors.raise('argument', "orthogonal: 'householder' takes no complex matrix")
  end
  self.shape = weight:size()
  self.use_trivialization = p.use_trivialization
  if p.use_trivialization then self:register_buffer('base', nil) end
end

-- Returns a skew-symmetric matrix (n, n) made of the lower triangle of (n, k).
local function skew(x, n, k)
  x = x:tril()
  if n ~= k then
    local size = x:size()
    size[#size] = n - k
    x = torch.cat({x, x:new_zeros(size)}, -1)
  end
  return x - x.mH
end

local function cayley(a)
  local identity = torch.eye(a:size(-1), {dtype = a.dtype, device = a.device})
  return torch.linalg_solve(identity - a * 0.5, identity + a * 0.5)
end

local function householder(x)
  local a = x:tril(-1)
  local tau = 2 / (1 + (a * a):sum(-2))
  local q = torch.linalg_householder_product(a, tau)
  -- The diagonal holds the signs from geqrf; as in PyTorch they get no gradient.
  return q * x:diagonal(0, -2, -1):detach():trunc():unsqueeze(-2)
end

function Orthogonal:forward(x)
  local n, k = x:size(-2), x:size(-1)
  local is_wide = n < k
  if is_wide then x, n, k = x.mT, k, n end
  local q
  if self.orthogonal_map == 'householder' then
    q = householder(x)
  else
    local a = skew(x, n, k)
    q = self.orthogonal_map == 'cayley' and cayley(a) or torch.matrix_exp(a)
    if n ~= k then q = q:narrow(-1, 0, k) end
  end
  if self.base ~= nil then q = self.base:matmul(q) end
  return is_wide and q.mT or q
end

-- Returns the orthogonal factor of a QR decomposition with a positive diagonal.
local function make_orthogonal(a)
  local x, tau = torch.geqrf(a)
  local q = torch.linalg_householder_product(x, tau)
  return q * x:diagonal(0, -2, -1):sgn():unsqueeze(-2)
end

local EPSILON = {float32 = 2 ^ -23, float64 = 2 ^ -52, complex64 = 2 ^ -23, complex128 = 2 ^ -52}

local function is_orthogonal(q)
  local identity = torch.eye(q:size(-1), {dtype = q.dtype, device = q.device})
  local tolerance = 10 * q:size(-2) * (EPSILON[q.dtype] or 2 ^ -10)
  return torch.allclose(q.mH:matmul(q), identity:expand_as(q.mH:matmul(q)), {atol = tolerance})
end

local function invert_householder(q, is_wide)
  local a, tau = torch.geqrf(q)
  local diagonal = a:diagonal(0, -2, -1)
  diagonal:copy_(diagonal:sign() * torch.where(tau:eq(0), -torch.ones_like(tau), torch.ones_like(tau)))
  return is_wide and a.mT:clone() or a
end

---Returns the original value whose parametrized value is q. The base of the trivialization becomes q, so the original
---is minus the identity.
---@param q torch.Tensor
---@return torch.Tensor|nil
function Orthogonal:right_inverse(q)
  local wanted = q
  local n, k = q:size(-2), q:size(-1)
  local is_wide = n < k
  if is_wide then q, n, k = q.mT, k, n end
  if not self.use_trivialization then
    -- The other maps have no inverse without a base; PyTorch does not report this either.
    if self.orthogonal_map ~= 'householder' then return nil end
    return invert_householder(q, is_wide)
  end
  if n == k then
    q = is_orthogonal(q) and q:clone() or make_orthogonal(q)
  else
    local size = q:size()
    size[#size] = n - k
    q = make_orthogonal(torch.cat({q, torch.randn(size, {dtype = q.dtype, device = q.device})}, -1))
  end
  self.base = q
  local minus = torch.zeros_like(wanted)
  minus:diagonal(0, -2, -1):fill_(-1)
  return minus
end

return {Orthogonal = Orthogonal}
