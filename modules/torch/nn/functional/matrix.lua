-- torch/nn/functional/matrix.lua: products of groups of matrices.

local args = require 'base.args'
local aten = require 'torch.functions.aten'
local checks = require 'torch.functions.checks'
local errors = require 'base.errors'

local matrix = {}
local defined = args.definer(matrix)

-- The kernel reads rows and columns in pieces of 16 bytes; its own message does not name the operand.
local function check_strides(name, operand)
  local size = checks.tensor('grouped_mm: ' .. name, operand):element_size()
  for dim, stride in ipairs(operand:stride()) do
    if stride ~= 1 and stride * size % 16 ~= 0 then
      errors.raise('argument', ('grouped_mm: %s has stride %d in dimension %d: strides are multiples of 16 bytes, which is %d '
        .. 'elements of %s; pad the matrices'):format(name, stride, dim - 1, 16 / size, operand.dtype))
    end
  end
end

---Multiplies groups: each group has its own matrix. Arguments: mat_a, mat_b, {offs, bias, out_dtype}. Each operand has
---three dimensions (one matrix for each group), or two; then `offs` (int32) gives the end of each group along the
---common dimension: (rows, k) with (groups, k, n) is a mixture of experts. Strides must be multiples of 16 bytes.
---PyTorch equivalent: torch.nn.functional.grouped_mm.
---
---```lua
---local torch = require 'torch'
---local tokens, experts = torch.randn(6, 8), torch.randn(2, 8, 4)
---local y = torch.nn.functional.grouped_mm(tokens, experts, {offs = torch.tensor({2, 6}, {dtype = torch.int32})})
---assert(torch.allclose(y:narrow(0, 2, 4), tokens:narrow(0, 2, 4):matmul(experts[1]), {atol = 1e-5}))
---```
defined('grouped_mm', {'mat_a', 'mat_b', {'offs'}, {'bias'}, {'out_dtype'}}, function(p)
  check_strides('mat_a', p.mat_a)
  check_strides('mat_b', p.mat_b)
  return aten._grouped_mm(p.mat_a, p.mat_b, {offs = p.offs, bias = p.bias, out_dtype = p.out_dtype})
end)

return matrix
