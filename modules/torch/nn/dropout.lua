-- torch/nn/dropout.lua: dropout of elements and of whole channels.

local args = require 'rtrain.args'
local errors = require 'rtrain.errors'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module
local F = require 'torch.nn.functional'

local function dropout_class(name, fn)
  local Dropout = Module:extend(name)
  local signature = args.signature(name, {{'p', 0.5}, {'inplace', false}})

  function Dropout:init(...)
    local a = signature:bind(...)
    if type(a.p) ~= 'number' or a.p < 0 or a.p > 1 then
      errors.raise('argument', ('%s: p is a probability between 0 and 1, got %s'):format(name, tostring(a.p)))
    end
    self.p, self.inplace = a.p, a.inplace
  end

  function Dropout:forward(x) return F[fn](x, self.p, self.training, self.inplace) end

  function Dropout:extra_repr() return repr.fields{{'p', self.p}, {'inplace', self.inplace}} end
  return Dropout
end

---In training, zeroes each element with probability p and scales the others by 1 / (1 - p) (Hinton et al. 2012).
---Arguments: p = 0.5, {inplace = false}.
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

---Zeroes whole channels of (N, C, L).
---@class nn.Dropout1d: nn.Dropout
---@overload fun(p?: number, options?: {inplace: boolean}): nn.Dropout1d
local Dropout1d = dropout_class('Dropout1d', 'dropout1d')

---Zeroes whole channels of (N, C, H, W).
---@class nn.Dropout2d: nn.Dropout
---@overload fun(p?: number, options?: {inplace: boolean}): nn.Dropout2d
local Dropout2d = dropout_class('Dropout2d', 'dropout2d')

---Zeroes whole channels of (N, C, D, H, W).
---@class nn.Dropout3d: nn.Dropout
---@overload fun(p?: number, options?: {inplace: boolean}): nn.Dropout3d
local Dropout3d = dropout_class('Dropout3d', 'dropout3d')

return {Dropout = Dropout, Dropout1d = Dropout1d, Dropout2d = Dropout2d, Dropout3d = Dropout3d}
