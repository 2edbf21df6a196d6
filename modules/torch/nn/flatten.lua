-- torch/nn/flatten.lua: Flatten, Unflatten.

local args = require 'base.args'
local inputs = require 'torch.nn.inputs'
local repr = require 'torch.nn.repr'
local Module = require('torch.nn.module').Module

local take = inputs{'input'}

---Joins the dimensions start_dim … end_dim (default 1 … -1). Shape: (N, …) → (N, product of the other sizes).
---
---```lua
---local torch = require 'torch'
---assert(torch.nn.Flatten()(torch.ones(2, 3, 4)).shape[2] == 12)
---```
---@class nn.Flatten: nn.Module
---@overload fun(start_dim?: integer, end_dim?: integer): nn.Flatten
local Flatten = Module:extend('Flatten')

local flatten_signature = args.signature('Flatten', {{'start_dim', 1}, {'end_dim', -1}})

function Flatten:init(...)
  local a = flatten_signature:bind(...)
  self.start_dim, self.end_dim = a.start_dim, a.end_dim
end

function Flatten:forward(...) return take(self, ...):flatten(self.start_dim, self.end_dim) end

function Flatten:extra_repr() return repr.fields{{'start_dim', self.start_dim}, {'end_dim', self.end_dim}} end

---Splits dimension `dim` into `unflattened_size`, a list of sizes. Shape: (…, n, …) → (…, unflattened_size, …).
---@class nn.Unflatten: nn.Module
---@overload fun(dim: integer, unflattened_size: integer[]): nn.Unflatten
local Unflatten = Module:extend('Unflatten')

local unflatten_signature = args.signature('Unflatten', {'dim', 'unflattened_size'})

function Unflatten:init(...)
  local a = unflatten_signature:bind(...)
  self.dim, self.unflattened_size = a.dim, a.unflattened_size
end

function Unflatten:forward(...) return take(self, ...):unflatten(self.dim, self.unflattened_size) end

function Unflatten:extra_repr() return repr.fields{{'dim', self.dim}, {'unflattened_size', self.unflattened_size}} end

return {Flatten = Flatten, Unflatten = Unflatten}
