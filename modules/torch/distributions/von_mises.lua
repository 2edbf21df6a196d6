-- torch/distributions/von_mises.lua: VonMises: angles.

local Distribution = require 'torch.distributions.distribution'
local args = require 'base.args'
local constraints = require 'torch.distributions.constraints'
local ordered = require 'base.ordered'
local properties = require 'torch.distributions.shared.properties'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

---Angles around loc, in radians from -pi to pi. Samples are drawn by rejection in double precision, without gradients.
---Arguments: loc (an angle), concentration (about 1 / variance if large), {validate_args}.
---
---```lua
---local torch = require 'torch'
---local angles = torch.distributions.VonMises(torch.tensor{1}, torch.tensor{4})
---assert(angles.mean:item() == 1 and math.abs(angles:sample():item()) <= math.pi)
---```
---@class distributions.VonMises: distributions.Distribution
---@overload fun(loc: number|torch.Tensor, concentration: number|torch.Tensor, validate_args?: boolean): distributions.VonMises
---@field loc torch.Tensor
---@field concentration torch.Tensor
local VonMises = Distribution:extend('VonMises')
VonMises.arg_constraints = ordered.new{{'loc', constraints.real}, {'concentration', constraints.positive}}
VonMises.support = constraints.real
VonMises._expands = {'loc', 'concentration'}

local signature = args.signature('VonMises', {'loc', 'concentration', {'validate_args'}})

function VonMises:init(...) self:_start_with(VonMises._expands, signature:bind(...)) end

-- Modified Bessel functions of order 0 and 1, below and above 3.75: Abramowitz and Stegun, 9.8.1 to 9.8.4.
local SMALL = {
  [0] = {1, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813},
  [1] = {0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411},
}
local LARGE = {
  [0] = {0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377},
  [1] = {0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654,
         -0.00420059},
}

local function polynomial(y, coefficients)
  local result = coefficients[#coefficients]
  for i = #coefficients - 1, 1, -1 do result = coefficients[i] + y * result end
  return result
end

local function log_bessel(x, order)
  local y = x / 3.75
  local small = polynomial(y * y, SMALL[order])
  if order == 1 then small = x:abs() * small end
  local large = x - 0.5 * x:log() + polynomial(3.75 / x, LARGE[order]):log()
  return torch.where(x:lt(3.75), small:log(), large)
end

function VonMises:_log_prob(value)
  return self.concentration * torch.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel(self.concentration, 0)
end

VonMises._proposal_r = properties.lazy_property(function(self)
  local kappa = self.concentration:to(torch.double)
  local tau = 1 + (1 + 4 * kappa ^ 2):sqrt()
  local rho = (tau - (2 * tau):sqrt()) / (2 * kappa)
  return torch.where(kappa:lt(1e-5), 1 / kappa + kappa, (1 + rho ^ 2) / (2 * rho))
end)

-- Best and Fisher 1979.
function VonMises:_sample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  local loc, concentration = self.loc:to(torch.double), self.concentration:to(torch.double)
  local options, r = utils.like(loc), self._proposal_r
  local x, done = torch.empty(shape, options), torch.zeros(shape, {dtype = torch.bool, device = loc.device})
  while not done:all():item() do
    local u1, u2, u3 = unpack(torch.rand(torch.Size{3} .. shape, options):unbind())
    local z = torch.cos(math.pi * u1)
    local f = (1 + r * z) / (r + z)
    local c = concentration * (r - f)
    local accept = (c * (2 - c) - u2):gt(0):logical_or(((c / u2):log() + 1 - c):ge(0))
    if accept:any():item() then
      x = torch.where(accept, (u3 - 0.5):sign() * f:acos(), x)
      done = done:logical_or(accept)
    end
  end
  return ((x + math.pi + loc) % (2 * math.pi) - math.pi):to(self.loc.dtype)
end

VonMises.mean = properties.property(function(self) return self.loc end)
VonMises.mode = VonMises.mean

-- The circular variance.
VonMises.variance = properties.lazy_property(function(self)
  return 1 - (log_bessel(self.concentration, 1) - log_bessel(self.concentration, 0)):exp()
end)

return VonMises
