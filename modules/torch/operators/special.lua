-- torch/operators/special.lua: torch.special: mathematical functions.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local special = {}

---Computes the Airy function Ai.
---@param x torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.airy_ai(x) end

---Computes the Bessel function of the first kind, order 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.special.bessel_j0(torch.zeros(1)):item() == 1)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.bessel_j0(input) end

---Computes the Bessel function of the first kind, order 1.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.bessel_j1(input) end

---Computes the Bessel function of the second kind, order 0.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.bessel_y0(input) end

---Computes the Bessel function of the second kind, order 1.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.bessel_y1(input) end

---Computes the modified Bessel function of the first kind, order 0.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.modified_bessel_i0(input) end

---Computes the modified Bessel function of the first kind, order 1.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.modified_bessel_i1(input) end

---Computes the modified Bessel function of the second kind, order 0.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.modified_bessel_k0(input) end

---Computes the modified Bessel function of the second kind, order 1.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.modified_bessel_k1(input) end

---Computes exp(x) · modified_bessel_k0(x).
---@param x torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.scaled_modified_bessel_k0(x) end

---Computes exp(x) · modified_bessel_k1(x).
---@param x torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.scaled_modified_bessel_k1(x) end

---Computes the spherical Bessel function of order 0: sin(x) / x.
---@param x torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.spherical_bessel_j0(x) end

---Computes the modified Bessel function of the first kind, order 0.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.i0(input) end

---Computes exp(-|input|) · i0(input).
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.i0e(input) end

---Computes the modified Bessel function of the first kind, order 1.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.i1(input) end

---Computes exp(-|input|) · i1(input).
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.i1e(input) end

---Computes the Chebyshev polynomial of the first kind of degree n at x.
---@param x torch.Tensor|number
---@param n torch.Tensor|number degree
---@return torch.Tensor # of the broadcast shape
function special.chebyshev_polynomial_t(x, n) end

---Computes the Chebyshev polynomial of the second kind of degree n at x.
---@param x torch.Tensor|number
---@param n torch.Tensor|number degree
---@return torch.Tensor # of the broadcast shape
function special.chebyshev_polynomial_u(x, n) end

---Computes the Chebyshev polynomial of the third kind of degree n at x.
---@param x torch.Tensor|number
---@param n torch.Tensor|number degree
---@return torch.Tensor # of the broadcast shape
function special.chebyshev_polynomial_v(x, n) end

---Computes the Chebyshev polynomial of the fourth kind of degree n at x.
---@param x torch.Tensor|number
---@param n torch.Tensor|number degree
---@return torch.Tensor # of the broadcast shape
function special.chebyshev_polynomial_w(x, n) end

---Computes the shifted Chebyshev polynomial of the first kind of degree n at x.
---@param x torch.Tensor|number
---@param n torch.Tensor|number degree
---@return torch.Tensor # of the broadcast shape
function special.shifted_chebyshev_polynomial_t(x, n) end

---Computes the shifted Chebyshev polynomial of the second kind of degree n at x.
---@param x torch.Tensor|number
---@param n torch.Tensor|number degree
---@return torch.Tensor # of the broadcast shape
function special.shifted_chebyshev_polynomial_u(x, n) end

---Computes the shifted Chebyshev polynomial of the third kind of degree n at x.
---@param x torch.Tensor|number
---@param n torch.Tensor|number degree
---@return torch.Tensor # of the broadcast shape
function special.shifted_chebyshev_polynomial_v(x, n) end

---Computes the shifted Chebyshev polynomial of the fourth kind of degree n at x.
---@param x torch.Tensor|number
---@param n torch.Tensor|number degree
---@return torch.Tensor # of the broadcast shape
function special.shifted_chebyshev_polynomial_w(x, n) end

---Computes the physicists' Hermite polynomial of degree n at x.
---@param x torch.Tensor|number
---@param n torch.Tensor|number degree
---@return torch.Tensor # of the broadcast shape
function special.hermite_polynomial_h(x, n) end

---Computes the probabilists' Hermite polynomial of degree n at x.
---@param x torch.Tensor|number
---@param n torch.Tensor|number degree
---@return torch.Tensor # of the broadcast shape
function special.hermite_polynomial_he(x, n) end

---Computes the Laguerre polynomial of degree n at x.
---@param x torch.Tensor|number
---@param n torch.Tensor|number degree
---@return torch.Tensor # of the broadcast shape
function special.laguerre_polynomial_l(x, n) end

---Computes the Legendre polynomial of degree n at x.
---@param x torch.Tensor|number
---@param n torch.Tensor|number degree
---@return torch.Tensor # of the broadcast shape
function special.legendre_polynomial_p(x, n) end

---Computes the derivative of the logarithm of the gamma function.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.digamma(input) end

---Computes the derivative of the logarithm of the gamma function, as digamma.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.psi(input) end

---Computes the logarithm of the absolute value of the gamma function.
---
---```lua
---local torch = require 'torch'
---assert(torch.special.gammaln(torch.ones(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.gammaln(input) end

---Computes the lower incomplete gamma function, regularized.
---@param input torch.Tensor|number
---@param other torch.Tensor|number
---@return torch.Tensor # of the broadcast shape
function special.gammainc(input, other) end

---Computes the upper incomplete gamma function, regularized.
---@param input torch.Tensor|number
---@param other torch.Tensor|number
---@return torch.Tensor # of the broadcast shape
function special.gammaincc(input, other) end

---Computes the logarithm of the multivariate gamma function of dimension p.
---@param input torch.Tensor any shape
---@param p integer dimensions
---@return torch.Tensor # of that shape
function special.multigammaln(input, p) end

---Computes the n-th derivative of digamma.
---@param n integer order of the derivative
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function special.polygamma(n, input) end

---Computes -input · ln(input): the entropy of each element.
---
---```lua
---local torch = require 'torch'
---assert(torch.special.entr(torch.ones(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.entr(input) end

---Computes the error function.
---
---```lua
---local torch = require 'torch'
---assert(torch.special.erf(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.erf(input) end

---Computes 1 - erf(input).
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.erfc(input) end

---Computes exp(input²) · erfc(input).
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.erfcx(input) end

---Computes the inverse of erf.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.erfinv(input) end

---Computes 2 to the power of input.
---
---```lua
---local torch = require 'torch'
---assert(torch.special.exp2(torch.tensor{3}):item() == 8)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.exp2(input) end

---Computes 1 / (1 + exp(-input)), as torch.sigmoid.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.expit(input) end

---Computes exp(input) - 1, exact for small values.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.expm1(input) end

---Computes log(1 + input), exact for small values.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.log1p(input) end

---Computes ln(input / (1 - input)): the inverse of expit.
---
---```lua
---local torch = require 'torch'
---assert(torch.special.logit(torch.tensor{0.5}):item() == 0)
---```
---@param input torch.Tensor any shape
---@param eps? number input is first clamped to eps … 1 - eps
---@return torch.Tensor # of that shape
function special.logit(input, eps) end

---Computes the cumulative distribution function of the standard normal distribution.
---
---```lua
---local torch = require 'torch'
---assert(torch.special.ndtr(torch.zeros(1)):item() == 0.5)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.ndtr(input) end

---Computes the logarithm of ndtr, computed stably.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.log_ndtr(input) end

---Computes the inverse of ndtr.
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.ndtri(input) end

---Computes the logarithm of softmax, computed stably.
---@param input torch.Tensor any shape
---@param dim integer
---@param dtype? torch.dtype of the result
---@return torch.Tensor # of that shape
function special.log_softmax(input, dim, dtype) end

---Computes exp(input) / Σ exp(input) along dim.
---@param input torch.Tensor any shape
---@param dim integer
---@param dtype? torch.dtype of the result
---@return torch.Tensor # of that shape
function special.softmax(input, dim, dtype) end

---Computes log(Σ exp(input)), computed stably.
---@param input torch.Tensor any shape
---@param dim integer|integer[]
---@param keepdim? boolean
---@return torch.Tensor # without dim
function special.logsumexp(input, dim, keepdim) end

---Returns the nearest integer; halves are rounded to even.
---@param input torch.Tensor any shape
---@param decimals? integer digits to keep after the point
---@return torch.Tensor # of that shape
function special.round(input, decimals) end

---Computes sin(π · input) / (π · input), 1 at 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.special.sinc(torch.zeros(1)):item() == 1)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of that shape
function special.sinc(input) end

---Computes input · log1p(other), 0 where input is 0.
---@param input torch.Tensor|number
---@param other torch.Tensor|number
---@return torch.Tensor # of the broadcast shape
function special.xlog1py(input, other) end

---Computes input · log(other), 0 where input is 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.special.xlogy(torch.zeros(1), torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor|number
---@param other torch.Tensor|number
---@return torch.Tensor # of the broadcast shape
function special.xlogy(input, other) end

---Computes the Hurwitz zeta function: Σ (k + other)^(-input).
---@param input torch.Tensor|number
---@param other torch.Tensor|number
---@return torch.Tensor # of the broadcast shape
function special.zeta(input, other) end

return special
