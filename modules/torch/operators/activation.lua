-- torch/operators/activation.lua: activation functions, also in torch.nn.functional under the same names.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local torch = {}

---Computes 1 / (1 + exp(-input)).
---
---```lua
---local torch = require 'torch'
---assert(torch.sigmoid(torch.zeros(1)):item() == 0.5)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.sigmoid(input) end

---Computes max(input, 0). F.relu and nn.ReLU have {inplace = true}.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.relu(torch.tensor{-1, 2}), torch.tensor{0, 2}))
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.relu(input) end

---Computes input · Φ(input) (Hendrycks and Gimpel 2016).
---
---```lua
---local torch = require 'torch'
---assert(torch.gelu(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@param approximate? 'none'|'tanh'
---@return torch.Tensor # of the shape of input
function torch.gelu(input, approximate) end

---Computes exp(input) / Σ exp(input) along dim; the results sum to 1 along dim.
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

---Computes the logarithm of softmax, computed stably.
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

---Returns input where it is above the threshold, else value.
---
---```lua
---local torch = require 'torch'
---assert(torch.threshold(torch.tensor{1, 3}, 2, 0)[0]:item() == 0)
---```
---@param input torch.Tensor any shape
---@param threshold number
---@param value number
---@return torch.Tensor # of the shape of input
function torch.threshold(input, threshold, value) end

---Computes leaky ReLU with a random slope in training (Xu et al. 2015).
---
---```lua
---local torch = require 'torch'
---assert(torch.rrelu(torch.ones(1)):item() == 1)
---```
---@param input torch.Tensor any shape
---@param lower? number
---@param upper? number
---@param training? boolean
---@param generator? torch.Generator source of the random numbers
---@return torch.Tensor # of the shape of input
function torch.rrelu(input, lower, upper, training, generator) end

---Multiplies the first half of input by the sigmoid of the second half (Dauphin et al. 2017).
---
---```lua
---local torch = require 'torch'
---assert(torch.glu(torch.zeros(2, 6)).shape[2] == 3)
---```
---@param input torch.Tensor (…, 2 · n, …)
---@param dim? integer
---@return torch.Tensor # (…, n, …)
function torch.glu(input, dim) end

---Multiplies negative elements by negative_slope.
---
---```lua
---local torch = require 'torch'
---assert(torch.leaky_relu(torch.tensor{-1}, 0.5):item() == -0.5)
---```
---@param input torch.Tensor any shape
---@param negative_slope? number
---@return torch.Tensor # of the shape of input
function torch.leaky_relu(input, negative_slope) end

---Computes input · sigmoid(input), also known as swish.
---
---```lua
---local torch = require 'torch'
---assert(torch.silu(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.silu(input) end

---Computes input · tanh(softplus(input)) (Misra 2019).
---
---```lua
---local torch = require 'torch'
---assert(torch.mish(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.mish(input) end

---Replaces negative elements by alpha · (exp(input) - 1) (Clevert et al. 2016).
---
---```lua
---local torch = require 'torch'
---assert(torch.elu(torch.ones(1)):item() == 1)
---```
---@param input torch.Tensor any shape
---@param alpha? number
---@return torch.Tensor # of the shape of input
function torch.elu(input, alpha) end

---Computes ELU with constants that preserve mean and variance (Klambauer et al. 2017).
---
---```lua
---local torch = require 'torch'
---assert(torch.selu(torch.zeros(1)):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.selu(input) end

---Replaces negative elements by alpha · (exp(input / alpha) - 1) (Barron 2017).
---
---```lua
---local torch = require 'torch'
---assert(torch.celu(torch.ones(1)):item() == 1)
---```
---@param input torch.Tensor any shape
---@param alpha? number
---@return torch.Tensor # of the shape of input
function torch.celu(input, alpha) end

---Computes min(max(input, 0), 6).
---
---```lua
---local torch = require 'torch'
---assert(torch.relu6(torch.tensor{9}):item() == 6)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.relu6(input) end

---Computes input · min(max(input + 3, 0), 6) / 6 (Howard et al. 2019).
---
---```lua
---local torch = require 'torch'
---assert(torch.hardswish(torch.tensor{3}):item() == 3)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.hardswish(input) end

---Computes log(1 + exp(beta · input)) / beta.
---
---```lua
---local torch = require 'torch'
---assert(math.abs(torch.softplus(torch.zeros(1)):item() - math.log(2)) < 1e-6)
---```
---@param input torch.Tensor any shape
---@param beta? number
---@param threshold? number if beta · input is above it, the result is input
---@return torch.Tensor # of the shape of input
function torch.softplus(input, beta, threshold) end

---Clamps input to min_val … max_val.
---
---```lua
---local torch = require 'torch'
---assert(torch.hardtanh(torch.tensor{5}):item() == 1)
---```
---@param input torch.Tensor any shape
---@param min_val? number
---@param max_val? number
---@return torch.Tensor # of the shape of input
function torch.hardtanh(input, min_val, max_val) end

---Computes min(max(input + 3, 0), 6) / 6.
---
---```lua
---local torch = require 'torch'
---assert(torch.hardsigmoid(torch.zeros(1)):item() == 0.5)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.hardsigmoid(input) end

---Returns input where |input| > lambd, else 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.hardshrink(torch.tensor{0.2}):item() == 0)
---```
---@param input torch.Tensor any shape
---@param lambd? number
---@return torch.Tensor # of the shape of input
function torch.hardshrink(input, lambd) end

---Moves input by lambd towards 0; elements within lambd of 0 become 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.softshrink(torch.tensor{1.5}):item() == 1)
---```
---@param input torch.Tensor any shape
---@param lambd? number
---@return torch.Tensor # of the shape of input
function torch.softshrink(input, lambd) end

---Computes log(sigmoid(input)), stably.
---
---```lua
---local torch = require 'torch'
---assert(math.abs(torch.log_sigmoid(torch.zeros(1)):item() + math.log(2)) < 1e-6)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.log_sigmoid(input) end

---Multiplies negative elements by weight (He et al. 2015).
---
---```lua
---local torch = require 'torch'
---assert(torch.prelu(torch.tensor{-2}, torch.tensor{0.5}):item() == -1)
---```
---@param input torch.Tensor any shape
---@param weight torch.Tensor (1) or (C)
---@return torch.Tensor # of the shape of input
function torch.prelu(input, weight) end

return torch
