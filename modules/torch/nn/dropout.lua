-- torch/nn/dropout.lua: dropout of elements and of whole channels.

local errors = require 'base.errors'
local class = require 'base.class'
local stateless = require 'torch.nn.stateless'
local F = require 'torch.nn.functional'

local function check(self)
  if type(self.p) == 'number' and self.p >= 0 and self.p <= 1 then return end
  errors.raise('argument', ('%s: p is a probability between 0 and 1, got %s'):format(class.of(self).__name,
    tostring(self.p)))
end

local function dropout_class(name, fn)
  local Dropout = stateless(name, {{'p', 0.5}, {'inplace', false}}, function(self, x)
    return F[fn](x, self.p, self.training, self.inplace)
  end, {{'p', 'float'}, 'inplace'})
  Dropout._check = check
  return Dropout
end

---In training, zeroes each element with probability p and scales the others by 1 / (1 - p) (Hinton et al. 2012).
---Arguments: p = 0.5, {inplace = false}. Shape: (…) → (…).
---
---```lua
---local torch = require 'torch'
---local dropout = torch.nn.Dropout(0.5)
---assert(dropout(torch.ones(100)):max():item() == 2)
---dropout:eval()
---assert(dropout(torch.ones(100)):sum():item() == 100)
---```
---@class nn.Dropout: nn.Module
---@overload fun(p?: number, options?: {inplace: boolean}): nn.Dropout
local Dropout = dropout_class('Dropout', 'dropout')

---Zeroes whole channels of (N, C, L) or (C, L).
---@class nn.Dropout1d: nn.Dropout
---@overload fun(p?: number, options?: {inplace: boolean}): nn.Dropout1d
local Dropout1d = dropout_class('Dropout1d', 'dropout1d')

---Zeroes whole channels of (N, C, H, W).
---@class nn.Dropout2d: nn.Dropout
---@overload fun(p?: number, options?: {inplace: boolean}): nn.Dropout2d
local Dropout2d = dropout_class('Dropout2d', 'dropout2d')

---Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W).
---@class nn.Dropout3d: nn.Dropout
---@overload fun(p?: number, options?: {inplace: boolean}): nn.Dropout3d
local Dropout3d = dropout_class('Dropout3d', 'dropout3d')

---Dropout that keeps mean and variance of SELU activations (Klambauer et al. 2017). Shape: (…) → (…).
---@class nn.AlphaDropout: nn.Dropout
---@overload fun(p?: number, options?: {inplace: boolean}): nn.AlphaDropout
local AlphaDropout = dropout_class('AlphaDropout', 'alpha_dropout')

---AlphaDropout of whole channels of (N, C, …).
---@class nn.FeatureAlphaDropout: nn.Dropout
---@overload fun(p?: number, options?: {inplace: boolean}): nn.FeatureAlphaDropout
local FeatureAlphaDropout = dropout_class('FeatureAlphaDropout', 'feature_alpha_dropout')

return {Dropout = Dropout, Dropout1d = Dropout1d, Dropout2d = Dropout2d, Dropout3d = Dropout3d,
        AlphaDropout = AlphaDropout, FeatureAlphaDropout = FeatureAlphaDropout}
