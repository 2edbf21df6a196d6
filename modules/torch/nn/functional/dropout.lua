-- torch/nn/functional/dropout.lua: dropout of elements and of whole channels.

local errors = require 'base.errors'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local dropout = {}
local declared = checks.definer(dropout)

local function check_probability(name, p)
  if type(p) == 'number' and p >= 0 and p <= 1 then return end
  errors.raise('argument', ('%s: p is a probability between 0 and 1, got %s'):format(name, tostring(p)))
end

-- `batched_dims`: number of dimensions of an input with a batch; an input with one dimension fewer gets a batch of 1.
local function defined(name, operator, training, batched_dims)
  declared(name, {'input', {'p', 0.5}, {'training', training}, {'inplace', false}}, function(a)
    check_probability(name, a.p)
    local dims = batched_dims and a.input:dim()
    if dims and dims ~= batched_dims and dims ~= batched_dims - 1 then
      errors.raise('argument', ('%s: expected %d or %d dimensions, got %d'):format(name, batched_dims - 1, batched_dims, dims))
    end
    local alone = dims == (batched_dims or 0) - 1
    local x = alone and a.input:unsqueeze(0) or a.input
    local out = torch[a.inplace and operator .. '_' or operator](x, a.p, a.training)
    if a.inplace then return a.input end
    return alone and out:squeeze(0) or out
  end)
end

---Zeroes elements with probability p, scales the others by 1 / (1 - p). Arguments: input, p = 0.5, training = true,
---inplace = false.
defined('dropout', 'dropout', true)
---Zeroes whole channels of (N, C, L) or (C, L); arguments as dropout.
defined('dropout1d', 'feature_dropout', true, 3)
---Zeroes whole channels of (N, C, H, W); three dimensions are (N, C, L), as in PyTorch. Arguments as dropout.
defined('dropout2d', 'feature_dropout', true)
---Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W); arguments as dropout.
defined('dropout3d', 'feature_dropout', true, 5)
---Dropout that keeps mean and variance of SELU activations (Klambauer et al. 2017). Arguments: input, p = 0.5, training =
---false, inplace = false.
defined('alpha_dropout', 'alpha_dropout', false)
---Applies alpha_dropout to whole channels of (N, C, …); arguments as alpha_dropout.
defined('feature_alpha_dropout', 'feature_alpha_dropout', false)

return dropout
