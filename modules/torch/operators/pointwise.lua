-- torch/operators/pointwise.lua: elementwise functions.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local torch = {}

---Computes input + alpha · other. The operator: x + y.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.add(torch.ones(2), 1, {alpha = 3}), torch.full({2}, 4)))
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@param alpha? number
---@return torch.Tensor # of the broadcast shape
function torch.add(input, other, alpha) end

---Computes input - alpha · other. The operator: x - y.
---
---```lua
---local torch = require 'torch'
---assert(torch.sub(torch.tensor(5), 3):item() == 2)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@param alpha? number
---@return torch.Tensor # of the broadcast shape
function torch.sub(input, other, alpha) end

---Computes input · other. The operator: x * y.
---
---```lua
---local torch = require 'torch'
---assert(torch.mul(torch.tensor{1, 2}, 3)[1]:item() == 6)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.mul(input, other) end

---Computes input / other: a floating result, unless rounding_mode is given. The operator: x / y.
---
---```lua
---local torch = require 'torch'
---assert(torch.div(torch.tensor{7}, 2, {rounding_mode = 'floor'}):item() == 3)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@param rounding_mode? 'floor'|'trunc' floor: towards -∞; trunc: towards 0
---@return torch.Tensor # of the broadcast shape
function torch.div(input, other, rounding_mode) end

---Computes input to the power of exponent. The operator: x ^ y.
---
---```lua
---local torch = require 'torch'
---assert(torch.pow(torch.tensor{2, 3}, 2)[1]:item() == 9)
---```
---@param input torch.Tensor|number
---@param exponent torch.Tensor|number
---@return torch.Tensor # of the broadcast shape
function torch.pow(input, exponent) end

---Computes -input. The operator: -x.
---
---```lua
---local torch = require 'torch'
---assert(torch.neg(torch.tensor{2})[0]:item() == -2)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.neg(input) end

---Computes the absolute value; of complex numbers the distance from 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.abs(torch.tensor{-2})[0]:item() == 2)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.abs(input) end

---Computes e to the power of input.
---
---```lua
---local torch = require 'torch'
---assert(torch.exp(torch.zeros(1)):item() == 1)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.exp(input) end

---Computes the natural logarithm: -∞ for 0, NaN below.
---
---```lua
---local torch = require 'torch'
---assert(torch.log(torch.ones(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.log(input) end

---Computes log(1 + input), exact for small values.
---
---```lua
---local torch = require 'torch'
---assert(torch.log1p(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.log1p(input) end

---Computes exp(input) - 1, exact for small values.
---
---```lua
---local torch = require 'torch'
---assert(torch.expm1(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.expm1(input) end

---Computes the square root; NaN below 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.sqrt(torch.tensor{9}):item() == 3)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.sqrt(input) end

---Computes 1 / √input.
---
---```lua
---local torch = require 'torch'
---assert(torch.rsqrt(torch.tensor{4}):item() == 0.5)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.rsqrt(input) end

---Computes input · input.
---
---```lua
---local torch = require 'torch'
---assert(torch.square(torch.tensor{-3}):item() == 9)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.square(input) end

---Computes 1 / input.
---
---```lua
---local torch = require 'torch'
---assert(torch.reciprocal(torch.tensor{4}):item() == 0.25)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.reciprocal(input) end

---Computes the sine of radians.
---
---```lua
---local torch = require 'torch'
---assert(torch.sin(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.sin(input) end

---Computes the cosine of radians.
---
---```lua
---local torch = require 'torch'
---assert(torch.cos(torch.zeros(1)):item() == 1)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.cos(input) end

---Computes the tangent of radians.
---
---```lua
---local torch = require 'torch'
---assert(torch.tan(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.tan(input) end

---Computes the hyperbolic tangent: -1 … 1.
---
---```lua
---local torch = require 'torch'
---assert(torch.tanh(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.tanh(input) end

---Computes the angle of the point (other, input) in radians, -π … π.
---
---```lua
---local torch = require 'torch'
---assert(math.abs(torch.atan2(torch.ones(1), torch.ones(1)):item() - math.pi / 4) < 1e-6)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.atan2(input, other) end

---Computes √(input² + other²).
---
---```lua
---local torch = require 'torch'
---assert(torch.hypot(torch.tensor{3}, torch.tensor{4}):item() == 5)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.hypot(input, other) end

---Computes the error function.
---
---```lua
---local torch = require 'torch'
---assert(torch.erf(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.erf(input) end

---Returns the greatest integer that is not greater than the element.
---
---```lua
---local torch = require 'torch'
---assert(torch.floor(torch.tensor{-1.5}):item() == -2)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.floor(input) end

---Returns the smallest integer that is not smaller than the element.
---
---```lua
---local torch = require 'torch'
---assert(torch.ceil(torch.tensor{-1.5}):item() == -1)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.ceil(input) end

---Returns the nearest integer; halves are rounded to even.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.round(torch.tensor{0.5, 1.5}), torch.tensor{0, 2}))
---```
---@param input torch.Tensor any shape
---@param decimals? integer digits to keep after the point
---@return torch.Tensor # of the shape of input
function torch.round(input, decimals) end

---Removes the fractional part.
---
---```lua
---local torch = require 'torch'
---assert(torch.trunc(torch.tensor{-1.5}):item() == -1)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.trunc(input) end

---Returns the fractional part.
---
---```lua
---local torch = require 'torch'
---assert(torch.frac(torch.tensor{-1.5}):item() == -0.5)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.frac(input) end

---Returns -1, 0 or 1.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.sign(torch.tensor{-3, 0, 4}), torch.tensor{-1, 0, 1}))
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.sign(input) end

---Clamps every element to min … max.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.clamp(torch.tensor{-1, 5}, {min = 0, max = 2}), torch.tensor{0, 2}))
---```
---@param input torch.Tensor any shape
---@param min? torch.Tensor|number nil: no bound
---@param max? torch.Tensor|number nil: no bound
---@return torch.Tensor # of the shape of input
function torch.clamp(input, min, max) end

---Computes the remainder of the division, with the sign of other. The operator: x % y.
---
---```lua
---local torch = require 'torch'
---assert(torch.remainder(torch.tensor{-5}, 3):item() == 1)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.remainder(input, other) end

---Computes the remainder of the division, with the sign of input.
---
---```lua
---local torch = require 'torch'
---assert(torch.fmod(torch.tensor{-5}, 3):item() == -2)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.fmod(input, other) end

---Computes ⌊input / other⌋. Python's operator: x // y.
---
---```lua
---local torch = require 'torch'
---assert(torch.floor_divide(torch.tensor{7}, 2):item() == 3)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.floor_divide(input, other) end

---Returns the greater of two elements; NaN if one of them is NaN.
---
---```lua
---local torch = require 'torch'
---assert(torch.maximum(torch.tensor{1}, torch.tensor{2}):item() == 2)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.maximum(input, other) end

---Returns the smaller of two elements; NaN if one of them is NaN.
---
---```lua
---local torch = require 'torch'
---assert(torch.minimum(torch.tensor{1}, torch.tensor{2}):item() == 1)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.minimum(input, other) end

---Computes input + weight · (end - input).
---
---```lua
---local torch = require 'torch'
---assert(torch.lerp(torch.zeros(1), torch.ones(1), 0.25):item() == 0.25)
---```
---@param input torch.Tensor any shape
---@param end_ torch.Tensor that broadcasts with input
---@param weight torch.Tensor|number
---@return torch.Tensor # of the broadcast shape
function torch.lerp(input, end_, weight) end

---Computes input + value · tensor1 · tensor2.
---
---```lua
---local torch = require 'torch'
---assert(torch.addcmul(torch.ones(1), torch.ones(1), torch.ones(1), {value = 3}):item() == 4)
---```
---@param input torch.Tensor any shape
---@param tensor1 torch.Tensor that broadcasts
---@param tensor2 torch.Tensor that broadcasts
---@param value? number
---@return torch.Tensor # of the broadcast shape
function torch.addcmul(input, tensor1, tensor2, value) end

---Computes input + value · tensor1 / tensor2.
---
---```lua
---local torch = require 'torch'
---assert(torch.addcdiv(torch.ones(1), torch.ones(1), torch.full({1}, 2)):item() == 1.5)
---```
---@param input torch.Tensor any shape
---@param tensor1 torch.Tensor that broadcasts
---@param tensor2 torch.Tensor that broadcasts
---@param value? number
---@return torch.Tensor # of the broadcast shape
function torch.addcdiv(input, tensor1, tensor2, value) end

---Replaces NaN and infinities.
---
---```lua
---local torch = require 'torch'
---assert(torch.nan_to_num(torch.tensor{torch.nan}):item() == 0)
---```
---@param input torch.Tensor any shape
---@param nan? number default 0
---@param posinf? number default: the greatest finite number
---@param neginf? number default: the least finite number
---@return torch.Tensor # of the shape of input
function torch.nan_to_num(input, nan, posinf, neginf) end

return torch
