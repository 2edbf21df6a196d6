-- torch/nn/functional/fold.lua: sliding blocks of images as columns, and back.

local tuple = require 'torch.nn.tuple'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local fold = {}
local defined = checks.definer(fold)

local BLOCKS = {{'dilation', 1}, {'padding', 0}, {'stride', 1}}

local function pairs_of(p)
  return tuple(p.kernel_size, 2, 'kernel_size'), tuple(p.dilation, 2, 'dilation'), tuple(p.padding, 2, 'padding'),
    tuple(p.stride, 2, 'stride')
end

---Returns the blocks under a sliding window as columns: (N, C, H, W) → (N, C · kh · kw, L). Arguments: input,
---kernel_size, dilation = 1, padding = 0, stride = 1.
defined('unfold', {'input', 'kernel_size', unpack(BLOCKS)}, function(p)
  return torch.im2col(p.input, pairs_of(p))
end)

---Computes the inverse of unfold; overlapping values are summed: (N, C · kh · kw, L) → (N, C, H, W). Arguments: input,
---output_size ({H, W}), kernel_size, dilation = 1, padding = 0, stride = 1.
---
---```lua
---local torch = require 'torch'
---local F = torch.nn.functional
---local columns = F.unfold(torch.ones(1, 1, 4, 4), 2, {stride = 2})
---assert(columns.shape[2] == 4 and torch.equal(F.fold(columns, 4, 2, {stride = 2}), torch.ones(1, 1, 4, 4)))
---```
defined('fold', {'input', 'output_size', 'kernel_size', unpack(BLOCKS)}, function(p)
  return torch.col2im(p.input, tuple(p.output_size, 2, 'output_size'), pairs_of(p))
end)

return fold
