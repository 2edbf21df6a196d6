-- torch/distributions/transforms/simplex.lua: vectors of reals to the simplex: SoftmaxTransform, StickBreakingTransform.

local F = require 'torch.nn.functional'
local Transform = require 'torch.distributions.transforms.transform'
local class = require 'base.class'
local clipped = require('torch.distributions.transforms.elementwise').clipped
local constraints = require 'torch.distributions.constraints'
local errors = require 'base.errors'
local sizes = require 'torch.distributions.shared.sizes'
local torch = require 'torch'
local utils = require 'torch.distributions.utils'

local function check_dimensions(shape)
  if #shape < 1 then errors.raise('argument', 'Too few dimensions on input') end
end

---Maps vectors of reals to the simplex by softmax; not bijective. Arguments: cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local y = torch.distributions.transforms.SoftmaxTransform()(torch.zeros(4))
---assert(torch.equal(y, torch.full({4}, 0.25)))
---```
---@class distributions.transforms.SoftmaxTransform: distributions.transforms.Transform
---@overload fun(cache_size?: integer): distributions.transforms.SoftmaxTransform
local SoftmaxTransform = Transform:extend('SoftmaxTransform')
SoftmaxTransform.domain, SoftmaxTransform.codomain = constraints.real_vector, constraints.simplex

function SoftmaxTransform:_is_equal(other) return class.is(other, SoftmaxTransform) end

function SoftmaxTransform:_call(x)
  local largest = x:max(-1, true)
  local probs = (x - largest):exp()
  return probs / probs:sum(-1, true)
end

function SoftmaxTransform:_inverse(y) return y:log() end

function SoftmaxTransform:forward_shape(shape)
  check_dimensions(shape)
  return shape
end

function SoftmaxTransform:inverse_shape(shape) return self:forward_shape(shape) end

---Maps vectors of K reals to the simplex of K + 1 numbers by stick breaking: each number takes a share of the rest that
---the earlier ones leave; bijective. Arguments: cache_size = 0.
---
---```lua
---local torch = require 'torch'
---local transform = torch.distributions.transforms.StickBreakingTransform()
---local x = torch.tensor{0.5, -1}
---assert(torch.allclose(transform(x):sum(), torch.tensor(1)) and torch.allclose(transform.inv(transform(x)), x))
---```
---@class distributions.transforms.StickBreakingTransform: distributions.transforms.Transform
---@overload fun(cache_size?: integer): distributions.transforms.StickBreakingTransform
local StickBreakingTransform = Transform:extend('StickBreakingTransform')
StickBreakingTransform.domain, StickBreakingTransform.codomain = constraints.real_vector, constraints.simplex
StickBreakingTransform.bijective = true

function StickBreakingTransform:_is_equal(other) return class.is(other, StickBreakingTransform) end

-- count, count - 1, …, 1
local function countdown(count, like) return count + 1 - torch.ones({count}, utils.like(like)):cumsum(-1) end

function StickBreakingTransform:_call(x)
  local z = clipped(torch.sigmoid(x - countdown(x:size(-1), x):log()))
  return F.pad(z, {0, 1}, {value = 1}) * F.pad((1 - z):cumprod(-1), {1, 0}, {value = 1})
end

function StickBreakingTransform:_inverse(y)
  local count = y:size(-1) - 1
  local cropped = y:narrow(-1, 0, count)
  local rest = torch.clamp(1 - cropped:cumsum(-1), {min = torch.finfo(y.dtype).tiny})
  return cropped:log() - rest:log() + countdown(count, y):log()
end

function StickBreakingTransform:log_abs_det_jacobian(x, y)
  x = x - countdown(x:size(-1), x):log()
  return (-x + F.logsigmoid(x) + y:narrow(-1, 0, y:size(-1) - 1):log()):sum(-1)
end

local function last_changed(shape, by)
  check_dimensions(shape)
  return sizes.slice(shape, 0, -1) .. {shape[#shape] + by}
end

function StickBreakingTransform:forward_shape(shape) return last_changed(shape, 1) end

function StickBreakingTransform:inverse_shape(shape) return last_changed(shape, -1) end

return {SoftmaxTransform = SoftmaxTransform, StickBreakingTransform = StickBreakingTransform}
