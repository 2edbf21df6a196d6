-- torch/functions/factorizations.lua: torch.svd_lowrank, torch.pca_lowrank, torch.lu.
--
-- svd_lowrank and pca_lowrank: Halko, Martinsson and Tropp, "Finding structure with randomness", SIAM Review 53 (2011),
-- algorithms 4.4 and 5.1. They draw from the default random generator, the same numbers as PyTorch.

local args = require 'base.args'
local errors = require 'base.errors'
local aten = require 'torch.functions.aten'
local checks = require 'torch.functions.checks'

local factorizations = {}

-- Returns x (…, m, n) times y, minus m times y.
local function product_less(x, m, y)
  local out = x:matmul(y)
  return m and out - m:matmul(y) or out
end

-- Returns q orthonormal columns that nearly span the range of a - m.
local function range_of(a, m, q, niter)
  local shape = a.shape
  local dtype = (a:is_complex() or a:is_floating_point()) and a.dtype or 'float32'
  local basis = aten.linalg_qr(product_less(a, m, aten.randn({shape[#shape], q}, {dtype = dtype, device = a.device})))
  for _ = 1, niter do
    basis = aten.linalg_qr(product_less(a.mH, m and m.mH, basis))
    basis = aten.linalg_qr(product_less(a, m, basis))
  end
  return basis
end

local svd_lowrank = args.signature('svd_lowrank', {'A', {'q', 6}, {'niter', 2}, {'M'}})

---Approximates the largest singular values and their vectors: A ≈ U diag(S) Vᴴ. PyTorch equivalent: torch.svd_lowrank.
---Arguments: A (…, m, n), q = 6 (slightly above the rank), niter = 2 (iterations), M = nil (subtracted from A).
---@param ... any
---@return torch.Tensor U (…, m, q)
---@return torch.Tensor S (…, q)
---@return torch.Tensor V (…, n, q)
function factorizations.svd_lowrank(...)
  local p = svd_lowrank:bind(...)
  checks.tensor('svd_lowrank: A', p.A)
  checks.count('svd_lowrank: q', p.q)
  checks.count('svd_lowrank: niter', p.niter)
  if p.M then checks.tensor('svd_lowrank: M', p.M) end
  local a, m = p.A, p.M and p.M:broadcast_to(p.A:size())
  local wide = a:size(-2) < a:size(-1)
  if wide then a, m = a.mH, m and m.mH end
  local basis = range_of(a, m, p.q, p.niter)
  local u, s, vh = aten.linalg_svd(m and basis.mH:matmul(a) - basis.mH:matmul(m) or basis.mH:matmul(a),
    {full_matrices = false})
  u = basis:matmul(u)
  if wide then return vh.mH, s, u end
  return u, s, vh.mH
end

local pca_lowrank = args.signature('pca_lowrank', {'A', {'q'}, {'center', true}, {'niter', 2}})

---Approximates the principal components of rows of measurements. PyTorch equivalent: torch.pca_lowrank.
---Arguments: A (…, m, n), q = min(6, m, n), center = true (subtract the columns' means), niter = 2.
---@param ... any
---@return torch.Tensor U (…, m, q)
---@return torch.Tensor S (…, q)
---@return torch.Tensor V (…, n, q) the principal directions
function factorizations.pca_lowrank(...)
  local p = pca_lowrank:bind(...)
  checks.tensor('pca_lowrank: A', p.A)
  local most = math.min(p.A:size(-2), p.A:size(-1))
  local q = p.q and checks.count('pca_lowrank: q', p.q) or math.min(6, most)
  if q > most then
    errors.raise('argument', ('pca_lowrank: q must lie between 0 and min(m, n) = %d, got %s'):format(most, tostring(q)))
  end
  checks.count('pca_lowrank: niter', p.niter)
  return factorizations.svd_lowrank(p.center and p.A - p.A:mean({-2}, true) or p.A, q, p.niter)
end

local lu = args.signature('lu', {'A', {'pivot', true}, {'get_infos', false}, {'out'}})

---Computes the LU factorization in compact form. PyTorch equivalent: torch.lu, an older name of torch.linalg.lu_factor.
---Arguments: A (…, m, n), pivot = true, get_infos = false, out = nil (a list of the results).
---@param ... any
---@return torch.Tensor LU (…, m, n)
---@return torch.Tensor pivots (…, min(m, n)) int32
---@return torch.Tensor? infos with get_infos: nonzero where a factorization failed, instead of an error
function factorizations.lu(...)
  local p = lu:bind(...)
  local factor = p.get_infos and aten.linalg_lu_factor_ex or aten.linalg_lu_factor
  if p.out == nil then return factor(p.A, {pivot = p.pivot}) end
  local results = {factor(p.A, {pivot = p.pivot})}
  local out = checks.list_of_tensors('lu: out', p.out)
  if #out ~= #results then
    errors.raise('argument', ('lu: out is a list of %d Tensors, got %d'):format(#results, #out))
  end
  -- As in Python, results are copied into tensors of any dtype.
  for i, result in ipairs(results) do out[i]:resize_as_(result):copy_(result) end
  return unpack(out)
end

return factorizations
