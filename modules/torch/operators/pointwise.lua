-- torch/operators/pointwise.lua: functions of each element.
--
-- Docstrings for `rtrain doc` and for editors; never required. What can be called is in ATen's schemas.

---@meta

local torch = {}

---input + alpha · other. The operator: x + y.
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

---input - alpha · other. The operator: x - y.
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

---input · other. The operator: x * y.
---
---```lua
---local torch = require 'torch'
---assert(torch.mul(torch.tensor{1, 2}, 3)[1]:item() == 6)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.mul(input, other) end

---input / other: a floating result, unless rounding_mode is given. The operator: x / y.
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

---input to the power of exponent. The operator: x ^ y.
---
---```lua
---local torch = require 'torch'
---assert(torch.pow(torch.tensor{2, 3}, 2)[1]:item() == 9)
---```
---@param input torch.Tensor|number
---@param exponent torch.Tensor|number
---@return torch.Tensor # of the broadcast shape
function torch.pow(input, exponent) end

----input. The operator: -x.
---
---```lua
---local torch = require 'torch'
---assert(torch.neg(torch.tensor{2})[0]:item() == -2)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.neg(input) end

---The absolute value; of complex numbers the distance from 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.abs(torch.tensor{-2})[0]:item() == 2)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.abs(input) end

---e to the power of input.
---
---```lua
---local torch = require 'torch'
---assert(torch.exp(torch.zeros(1)):item() == 1)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.exp(input) end

---The natural logarithm: -∞ for 0, NaN below.
---
---```lua
---local torch = require 'torch'
---assert(torch.log(torch.ones(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.log(input) end

---log(1 + input), exact for small values.
---
---```lua
---local torch = require 'torch'
---assert(torch.log1p(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.log1p(input) end

---exp(input) - 1, exact for small values.
---
---```lua
---local torch = require 'torch'
---assert(torch.expm1(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.expm1(input) end

---The square root; NaN below 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.sqrt(torch.tensor{9}):item() == 3)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.sqrt(input) end

---1 / √input.
---
---```lua
---local torch = require 'torch'
---assert(torch.rsqrt(torch.tensor{4}):item() == 0.5)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.rsqrt(input) end

---input · input.
---
---```lua
---local torch = require 'torch'
---assert(torch.square(torch.tensor{-3}):item() == 9)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.square(input) end

---1 / input.
---
---```lua
---local torch = require 'torch'
---assert(torch.reciprocal(torch.tensor{4}):item() == 0.25)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.reciprocal(input) end

---The sine of radians.
---
---```lua
---local torch = require 'torch'
---assert(torch.sin(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.sin(input) end

---The cosine of radians.
---
---```lua
---local torch = require 'torch'
---assert(torch.cos(torch.zeros(1)):item() == 1)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.cos(input) end

---The tangent of radians.
---
---```lua
---local torch = require 'torch'
---assert(torch.tan(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.tan(input) end

---The hyperbolic tangent: -1 … 1.
---
---```lua
---local torch = require 'torch'
---assert(torch.tanh(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.tanh(input) end

---The angle of the point (other, input) in radians, -π … π.
---
---```lua
---local torch = require 'torch'
---assert(math.abs(torch.atan2(torch.ones(1), torch.ones(1)):item() - math.pi / 4) < 1e-6)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.atan2(input, other) end

---√(input² + other²).
---
---```lua
---local torch = require 'torch'
---assert(torch.hypot(torch.tensor{3}, torch.tensor{4}):item() == 5)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.hypot(input, other) end

---1 / (1 + exp(-input)).
---
---```lua
---local torch = require 'torch'
---assert(torch.sigmoid(torch.zeros(1)):item() == 0.5)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.sigmoid(input) end

---max(input, 0). F.relu and nn.ReLU have {inplace = true}.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.relu(torch.tensor{-1, 2}), torch.tensor{0, 2}))
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.relu(input) end

---input · Φ(input) (Hendrycks and Gimpel 2016).
---
---```lua
---local torch = require 'torch'
---assert(torch.gelu(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@param approximate? 'none'|'tanh'
---@return torch.Tensor # of the shape of input
function torch.gelu(input, approximate) end

---The error function.
---
---```lua
---local torch = require 'torch'
---assert(torch.erf(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.erf(input) end

---The greatest integer that is not above.
---
---```lua
---local torch = require 'torch'
---assert(torch.floor(torch.tensor{-1.5}):item() == -2)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.floor(input) end

---The least integer that is not below.
---
---```lua
---local torch = require 'torch'
---assert(torch.ceil(torch.tensor{-1.5}):item() == -1)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.ceil(input) end

---The nearest integer, halves to the even one.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.round(torch.tensor{0.5, 1.5}), torch.tensor{0, 2}))
---```
---@param input torch.Tensor any shape
---@param decimals? integer digits to keep behind the point
---@return torch.Tensor # of the shape of input
function torch.round(input, decimals) end

---Drops what is behind the point.
---
---```lua
---local torch = require 'torch'
---assert(torch.trunc(torch.tensor{-1.5}):item() == -1)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.trunc(input) end

---What is behind the point.
---
---```lua
---local torch = require 'torch'
---assert(torch.frac(torch.tensor{-1.5}):item() == -0.5)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.frac(input) end

----1, 0 or 1.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.sign(torch.tensor{-3, 0, 4}), torch.tensor{-1, 0, 1}))
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.sign(input) end

---Puts every element between min and max.
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

---The rest of the division, with the sign of other. The operator: x % y.
---
---```lua
---local torch = require 'torch'
---assert(torch.remainder(torch.tensor{-5}, 3):item() == 1)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.remainder(input, other) end

---The rest of the division, with the sign of input.
---
---```lua
---local torch = require 'torch'
---assert(torch.fmod(torch.tensor{-5}, 3):item() == -2)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.fmod(input, other) end

---⌊input / other⌋. Python's operator: x // y.
---
---```lua
---local torch = require 'torch'
---assert(torch.floor_divide(torch.tensor{7}, 2):item() == 3)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.floor_divide(input, other) end

---The greater of two elements; NaN where one is.
---
---```lua
---local torch = require 'torch'
---assert(torch.maximum(torch.tensor{1}, torch.tensor{2}):item() == 2)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.maximum(input, other) end

---The smaller of two elements; NaN where one is.
---
---```lua
---local torch = require 'torch'
---assert(torch.minimum(torch.tensor{1}, torch.tensor{2}):item() == 1)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.minimum(input, other) end

---input + weight · (end - input).
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

---input + value · tensor1 · tensor2.
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

---input + value · tensor1 / tensor2.
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

---Chooses between two tensors, element by element.
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor{-1, 2}
---assert(torch.equal(torch.where(x:gt(0), x, 0), torch.tensor{0, 2}))
---```
---@param condition torch.Tensor bool
---@param input? torch.Tensor|number taken where condition is true
---@param other? torch.Tensor|number taken elsewhere
---@return torch.Tensor # of the broadcast shape; with condition alone a list of the indices of its true elements, one tensor
---  for each dimension
function torch.where(condition, input, other) end

---A copy with value where mask is true.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2):masked_fill(torch.tensor{true, false}, 9)[0]:item() == 9)
---```
---@param input torch.Tensor any shape
---@param mask torch.Tensor bool, broadcasts with input
---@param value torch.Tensor|number
---@return torch.Tensor # of the broadcast shape
function torch.masked_fill(input, mask, value) end

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

---Whether both are not 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.logical_and(torch.tensor{true}, torch.tensor{false}):item() == false)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.logical_and(input, other) end

---Whether one is not 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.logical_or(torch.tensor{true}, torch.tensor{false}):item() == true)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.logical_or(input, other) end

---Whether it is 0. Python's operator: ~x of a bool tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.logical_not(torch.tensor{true}):item() == false)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # bool, of the shape of input
function torch.logical_not(input) end

---The bits that both have, of integers or booleans.
---
---```lua
---local torch = require 'torch'
---assert(torch.bitwise_and(torch.tensor{6LL}, 3):item() == 2)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # of the broadcast shape
function torch.bitwise_and(input, other) end

---Whether the elements are equal. (x == y asks whether two variables are one tensor.)
---
---```lua
---local torch = require 'torch'
---assert(torch.eq(torch.tensor{1, 2}, 2):sum():item() == 1)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.eq(input, other) end

---Whether the elements differ.
---
---```lua
---local torch = require 'torch'
---assert(torch.ne(torch.tensor{1, 2}, 2):sum():item() == 1)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.ne(input, other) end

---input < other.
---
---```lua
---local torch = require 'torch'
---assert(torch.lt(torch.tensor{1, 2}, 2):sum():item() == 1)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.lt(input, other) end

---input ≤ other.
---
---```lua
---local torch = require 'torch'
---assert(torch.le(torch.tensor{1, 2}, 2):sum():item() == 2)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.le(input, other) end

---input > other.
---
---```lua
---local torch = require 'torch'
---assert(torch.gt(torch.tensor{1, 2}, 1):sum():item() == 1)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.gt(input, other) end

---input ≥ other.
---
---```lua
---local torch = require 'torch'
---assert(torch.ge(torch.tensor{1, 2}, 1):sum():item() == 2)
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor|number that broadcasts with input
---@return torch.Tensor # bool, of the broadcast shape
function torch.ge(input, other) end

---Whether it is NaN.
---
---```lua
---local torch = require 'torch'
---assert(torch.isnan(torch.tensor{torch.nan}):item())
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # bool, of the shape of input
function torch.isnan(input) end

---Whether it is infinite.
---
---```lua
---local torch = require 'torch'
---assert(torch.isinf(torch.tensor{torch.inf}):item())
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # bool, of the shape of input
function torch.isinf(input) end

---Whether it is neither infinite nor NaN.
---
---```lua
---local torch = require 'torch'
---assert(torch.isfinite(torch.tensor{1}):item())
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # bool, of the shape of input
function torch.isfinite(input) end

---Whether |input - other| ≤ atol + rtol · |other|.
---
---```lua
---local torch = require 'torch'
---assert(torch.isclose(torch.ones(1), torch.tensor{1.000001}):item())
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@param rtol? number
---@param atol? number
---@param equal_nan? boolean whether NaN equals NaN
---@return torch.Tensor # bool, of the broadcast shape
function torch.isclose(input, other, rtol, atol, equal_nan) end

---Whether all elements are close, as isclose has it.
---
---```lua
---local torch = require 'torch'
---assert(torch.allclose(torch.ones(2), torch.ones(2)))
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor that broadcasts with input
---@param rtol? number
---@param atol? number
---@param equal_nan? boolean whether NaN equals NaN
---@return boolean
function torch.allclose(input, other, rtol, atol, equal_nan) end

---Whether two tensors have the same shape and equal elements.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.ones(2), torch.ones(2)) and not torch.equal(torch.ones(2), torch.ones(3)))
---```
---@param input torch.Tensor any shape
---@param other torch.Tensor
---@return boolean
function torch.equal(input, other) end

---exp(input) / Σ exp(input) along dim, so that it sums to 1 there.
---
---```lua
---local torch = require 'torch'
---assert(torch.softmax(torch.zeros(2, 4), 1):eq(0.25):all():item())
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param dtype? torch.dtype of the result
---@return torch.Tensor # of the shape of input
function torch.softmax(input, dim, dtype) end

---The logarithm of softmax, computed stably.
---
---```lua
---local torch = require 'torch'
---assert(math.abs(torch.log_softmax(torch.zeros(4), 0)[0]:item() + math.log(4)) < 1e-6)
---```
---@param input torch.Tensor any shape
---@param dim integer
---@param dtype? torch.dtype of the result
---@return torch.Tensor # of the shape of input
function torch.log_softmax(input, dim, dtype) end

---The real part: a view.
---
---```lua
---local torch = require 'torch'
---assert(torch.real(torch.complex(torch.tensor{1}, torch.tensor{2})):item() == 1)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.real(input) end

---The imaginary part: a view.
---
---```lua
---local torch = require 'torch'
---assert(torch.imag(torch.complex(torch.tensor{1}, torch.tensor{2})):item() == 2)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.imag(input) end

---The angle of complex numbers in radians; of real ones 0 or π.
---
---```lua
---local torch = require 'torch'
---assert(torch.angle(torch.tensor{1}):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.angle(input) end

---The complex conjugate: a view.
---
---```lua
---local torch = require 'torch'
---assert(torch.imag(torch.conj(torch.complex(torch.tensor{1}, torch.tensor{2}))):item() == -2)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.conj(input) end

---The lower triangle of matrices (…, n, m); zeros elsewhere.
---
---```lua
---local torch = require 'torch'
---assert(torch.tril(torch.ones(3, 3)):sum():item() == 6)
---```
---@param input torch.Tensor any shape
---@param diagonal? integer the highest one that is kept: 0 the main one, above it positive
---@return torch.Tensor # of the shape of input
function torch.tril(input, diagonal) end

---The upper triangle of matrices (…, n, m); zeros elsewhere.
---
---```lua
---local torch = require 'torch'
---assert(torch.triu(torch.ones(3, 3), 1):sum():item() == 3)
---```
---@param input torch.Tensor any shape
---@param diagonal? integer the lowest one that is kept
---@return torch.Tensor # of the shape of input
function torch.triu(input, diagonal) end

return torch
