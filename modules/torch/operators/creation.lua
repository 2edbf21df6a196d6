-- torch/operators/creation.lua: new tensors, from sizes, data or other tensors.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local torch = {}

---Returns a tensor with a copy of the data. PyTorch equivalent: torch.tensor. Lists of unequal lengths and numbers that
---do not fit the dtype raise an error with the place or the number.
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor{{1, 2, 3}, {4, 5, 6}}
---assert(x.shape[2] == 3 and x.dtype == 'float32')
---assert(torch.tensor({1, 2}, {dtype = torch.int64}).dtype == 'int64')
---assert(torch.equal(torch.tensor('1 2 3; 4 5 6'), x))
---```
---@param data any a number, boolean, int64 or complex object, nested lists of these, a tensor, or a text:
---  numbers separated by spaces or commas are a vector, rows separated by semicolons a matrix
---@param options? {dtype: torch.dtype, device: torch.device, requires_grad: boolean, pin_memory: boolean}
---  numbers get the default float dtype, 1LL int64, booleans bool
---@return torch.Tensor # of the shape of the lists
function torch.tensor(data, options) end

---Returns a number that keeps its dtype in arithmetic, for an operand that is neither int64 nor double.
---
---```lua
---local torch = require 'torch'
---assert((torch.ones(2, {dtype = 'float16'}) * torch.scalar(2, 'float16')).dtype == 'float16')
---```
---@param value number
---@param dtype torch.dtype
---@return torch.Tensor # of shape ()
function torch.scalar(value, dtype) end

---Returns a tensor of zeros.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3):sum():item() == 0)
---assert(torch.zeros({4}, {dtype = torch.int64}).dtype == 'int64')
---```
---@param size integer[] lengths of the dimensions; also as separate arguments: zeros(2, 3)
---@param dtype? torch.dtype default: torch.get_default_dtype()
---@return torch.Tensor # (size)
function torch.zeros(size, dtype) end

---Returns a tensor of ones.
---
---```lua
---local torch = require 'torch'
---assert(torch.ones(2, 3):sum():item() == 6)
---```
---@param size integer[] lengths of the dimensions; also as separate arguments: zeros(2, 3)
---@param dtype? torch.dtype default: torch.get_default_dtype()
---@return torch.Tensor # (size)
function torch.ones(size, dtype) end

---Returns a tensor of one value.
---
---```lua
---local torch = require 'torch'
---assert(torch.full({2, 2}, 7)[0][1]:item() == 7)
---```
---@param size integer[]
---@param fill_value number
---@param dtype? torch.dtype default: torch.get_default_dtype()
---@return torch.Tensor # (size)
function torch.full(size, fill_value, dtype) end

---Returns an uninitialized tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.empty(2, 0, 3):numel() == 0)
---```
---@param size integer[] lengths of the dimensions; also as separate arguments: zeros(2, 3)
---@param dtype? torch.dtype default: torch.get_default_dtype()
---@return torch.Tensor # (size) with arbitrary values
function torch.empty(size, dtype) end

---Returns zeros of the shape of another tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.zeros_like(torch.ones(2)), torch.zeros(2)))
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape, dtype and device of input
function torch.zeros_like(input) end

---Returns ones of the shape of another tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.ones_like(torch.zeros(3, {dtype = 'int64'})).dtype == 'int64')
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape, dtype and device of input
function torch.ones_like(input) end

---Returns one value in the shape of another tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.full_like(torch.zeros(3), 2):sum():item() == 6)
---```
---@param input torch.Tensor any shape
---@param fill_value number
---@return torch.Tensor # of the shape, dtype and device of input
function torch.full_like(input, fill_value) end

---Returns an uninitialized tensor of the shape of another tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.empty_like(torch.zeros(3, 2)).shape[1] == 3)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape, dtype and device of input
function torch.empty_like(input) end

---Returns random numbers, uniform on [0, 1).
---
---```lua
---local torch = require 'torch'
---torch.manual_seed(0)
---local x = torch.rand(100)
---assert(x:min():item() >= 0 and x:max():item() < 1)
---```
---@param size integer[] lengths of the dimensions; also as separate arguments: zeros(2, 3)
---@param generator? torch.Generator source of the random numbers
---@return torch.Tensor # (size)
function torch.rand(size, generator) end

---Returns random numbers from the normal distribution with mean 0 and variance 1.
---
---```lua
---local torch = require 'torch'
---torch.manual_seed(0)
---assert(math.abs(torch.randn(1000):mean():item()) < 0.2)
---```
---@param size integer[] lengths of the dimensions; also as separate arguments: zeros(2, 3)
---@param generator? torch.Generator source of the random numbers
---@return torch.Tensor # (size)
function torch.randn(size, generator) end

---Returns random integers from low to high - 1, each equally likely.
---
---```lua
---local torch = require 'torch'
---local x = torch.randint(1, 7, {20})
---assert(x:min():item() >= 1 and x:max():item() <= 6 and x.dtype == 'int64')
---```
---@param low? integer the smallest value, default 0
---@param high integer the greatest value + 1
---@param size integer[]
---@param generator? torch.Generator source of the random numbers
---@return torch.Tensor # (size) int64
function torch.randint(low, high, size, generator) end

---Returns the numbers 0 … n - 1 in random order.
---
---```lua
---local torch = require 'torch'
---assert(torch.randperm(5):sum():item() == 10)
---```
---@param n integer
---@param generator? torch.Generator source of the random numbers
---@return torch.Tensor # (n) int64
function torch.randperm(n, generator) end

---Returns uniform random numbers in the shape of another tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.rand_like(torch.zeros(2, 3)).shape[2] == 3)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.rand_like(input) end

---Returns normal random numbers in the shape of another tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.randn_like(torch.zeros(2, 3)).shape[2] == 3)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.randn_like(input) end

---Returns the numbers from start to end, without end. As keywords: {start = …, end_ = …, step = …}.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.arange(1, 7, 2), torch.tensor{1LL, 3LL, 5LL}))
---assert(torch.arange(0, 1, 0.25).dtype == 'float32')
---```
---@param start? number default 0
---@param end_ number exclusive
---@param step? number default 1
---@return torch.Tensor # (⌈(end - start) / step⌉), int64 if all arguments are integral
function torch.arange(start, end_, step) end

---Returns evenly spaced numbers from start to end.
---
---```lua
---local torch = require 'torch'
---assert(torch.linspace(0, 1, 5)[3]:item() == 0.75)
---```
---@param start number
---@param end_ number inclusive
---@param steps integer number of values
---@return torch.Tensor # (steps)
function torch.linspace(start, end_, steps) end

---Returns base to the powers of linspace(start, end, steps).
---
---```lua
---local torch = require 'torch'
---assert(torch.allclose(torch.logspace(0, 2, 3), torch.tensor{1, 10, 100}))
---```
---@param start number
---@param end_ number
---@param steps integer number of values
---@param base? number
---@return torch.Tensor # (steps)
function torch.logspace(start, end_, steps, base) end

---Returns a matrix with ones on the diagonal and zeros elsewhere.
---
---```lua
---local torch = require 'torch'
---assert(torch.eye(3):trace():item() == 3)
---```
---@param n integer rows
---@param m? integer columns, default n
---@return torch.Tensor # (n, m)
function torch.eye(n, m) end

---Returns complex numbers, given their real and imaginary parts.
---
---```lua
---local torch = require 'torch'
---assert(torch.complex(torch.tensor{3}, torch.tensor{4}):abs():item() == 5)
---```
---@param real torch.Tensor any shape, a floating dtype
---@param imag torch.Tensor of the same shape and dtype
---@return torch.Tensor # complex, of the same shape
function torch.complex(real, imag) end

---Draws 1 with the given probability, else 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.bernoulli(torch.ones(4)), torch.ones(4)))
---```
---@param input torch.Tensor any shape, probabilities in 0 … 1
---@param p? number one probability for all elements; input then only gives the shape
---@param generator? torch.Generator source of the random numbers
---@return torch.Tensor # of the shape of input: 0 or 1
function torch.bernoulli(input, p, generator) end

---Draws indices in proportion to weights.
---
---```lua
---local torch = require 'torch'
---assert(torch.multinomial(torch.tensor{0, 1, 0}, 1)[0]:item() == 1)
---```
---@param input torch.Tensor (C) or (N, C), weights that need not sum to 1
---@param num_samples integer
---@param replacement? boolean whether an index may be drawn repeatedly
---@param generator? torch.Generator source of the random numbers
---@return torch.Tensor # (num_samples) or (N, num_samples) int64
function torch.multinomial(input, num_samples, replacement, generator) end

---Returns normal random numbers.
---
---```lua
---local torch = require 'torch'
---assert(torch.normal(2, 0.001, {3}):mean():round():item() == 2)
---```
---@param mean number|torch.Tensor
---@param std? number|torch.Tensor
---@param size? integer[] if mean and std are numbers
---@param generator? torch.Generator source of the random numbers
---@return torch.Tensor # of the broadcast shape of mean and std, or (size)
function torch.normal(mean, std, size, generator) end

---Returns the indices of the lower triangle of a row × col matrix.
---
---```lua
---local torch = require 'torch'
---assert(torch.tril_indices(3, 3).shape[2] == 6)
---```
---@param row integer
---@param col integer
---@param offset? integer of the diagonal
---@return torch.Tensor # (2, count) int64
function torch.tril_indices(row, col, offset) end

---Seeds the default random generators. On the CPU they then draw the same numbers as PyTorch with that seed. PyTorch
---equivalent: torch.manual_seed.
---
---```lua
---local torch = require 'torch'
---torch.manual_seed(3)
---local a = torch.rand(2)
---torch.manual_seed(3)
---assert(torch.equal(a, torch.rand(2)))
---```
---@param seed integer
---@return torch.Generator # the default generator
function torch.manual_seed(seed) end

---Seeds the default random generator with an unpredictable number.
---
---```lua
---local torch = require 'torch'
---assert(type(tonumber(torch.seed())) == 'number')
---```
---@return integer # the new seed
function torch.seed() end

---Returns the last seed of the default random generator.
---
---```lua
---local torch = require 'torch'
---torch.manual_seed(5)
---assert(torch.initial_seed() == 5)
---```
---@return integer
function torch.initial_seed() end

---Returns the state of the default random generator.
---
---```lua
---local torch = require 'torch'
---local state = torch.get_rng_state()
---local a = torch.rand(1)
---torch.set_rng_state(state)
---assert(torch.equal(a, torch.rand(1)))
---```
---@return torch.Tensor # uint8
function torch.get_rng_state() end

---Sets the state of the default random generator.
---@param new_state torch.Tensor uint8, from get_rng_state
function torch.set_rng_state(new_state) end

---Returns the dtype of tensors that are made from Lua numbers: float32 unless changed.
---
---```lua
---local torch = require 'torch'
---assert(torch.get_default_dtype() == 'float32')
---```
---@return torch.dtype
function torch.get_default_dtype() end

---Sets the dtype of tensors that are made from Lua numbers.
---
---```lua
---local torch = require 'torch'
---torch.set_default_dtype(torch.float64)
---assert(torch.zeros(1).dtype == 'float64')
---torch.set_default_dtype(torch.float32)
---```
---@param dtype torch.dtype a floating-point dtype
function torch.set_default_dtype(dtype) end

---Returns whether a value is a tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.is_tensor(torch.zeros(1)) and not torch.is_tensor{1})
---```
---@param value any
---@return boolean
function torch.is_tensor(value) end

---Returns a tensor with a copy of the bytes, in this machine's byte order. torch.frombuffer is PyTorch's name.
---
---```lua
---local torch = require 'torch'
---assert(torch.from_bytes('\1\2', 'uint8', {2})[1]:item() == 2)
---```
---@param bytes string
---@param dtype torch.dtype
---@param size integer[]
---@return torch.Tensor # (size)
function torch.from_bytes(bytes, dtype, size) end

return torch
