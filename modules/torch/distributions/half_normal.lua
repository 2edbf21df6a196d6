-- torch/distributions/half_normal.lua: HalfNormal: the absolute value of a normal number.

local Normal = require 'torch.distributions.normal'
local TransformedDistribution = require 'torch.distributions.transformed_distribution'
local args = require 'base.args'
local half = require 'torch.distributions.shared.half'
local properties = require 'torch.distributions.shared.properties'

---The absolute value of a normal number, with loc = 0. Arguments: scale (of the whole distribution), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local half = torch.distributions.HalfNormal(torch.tensor{1})
---assert(half:sample():item() >= 0 and math.abs(half.mean:item() - math.sqrt(2 / math.pi)) < 1e-6)
---```
---@class distributions.HalfNormal: distributions.TransformedDistribution
---@overload fun(scale: number|torch.Tensor, validate_args?: boolean): distributions.HalfNormal
---@field scale torch.Tensor
local HalfNormal = TransformedDistribution:extend('HalfNormal')
half.define(HalfNormal)

local signature = args.signature('HalfNormal', {'scale', {'validate_args'}})

function HalfNormal:init(...) half.start(self, Normal, signature:bind(...)) end

HalfNormal.mean = properties.property(function(self) return self.scale * math.sqrt(2 / math.pi) end)
HalfNormal.variance = properties.property(function(self) return self.scale:pow(2) * (1 - 2 / math.pi) end)

return HalfNormal
