-- torch/operators/complex.lua: parts of complex numbers.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local torch = {}

---Returns the real part: a view.
---
---```lua
---local torch = require 'torch'
---assert(torch.real(torch.complex(torch.tensor{1}, torch.tensor{2})):item() == 1)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.real(input) end

---Returns the imaginary part: a view.
---
---```lua
---local torch = require 'torch'
---assert(torch.imag(torch.complex(torch.tensor{1}, torch.tensor{2})):item() == 2)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.imag(input) end

---Returns the angle of complex numbers in radians; for real numbers 0 or π.
---
---```lua
---local torch = require 'torch'
---assert(torch.angle(torch.tensor{1}):item() == 0)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.angle(input) end

---Returns the complex conjugate: a view.
---
---```lua
---local torch = require 'torch'
---assert(torch.imag(torch.conj(torch.complex(torch.tensor{1}, torch.tensor{2}))):item() == -2)
---```
---@param input torch.Tensor any shape
---@return torch.Tensor # of the shape of input
function torch.conj(input) end

return torch
