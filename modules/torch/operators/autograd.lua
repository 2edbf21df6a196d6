-- torch/operators/autograd.lua: gradients, threads and settings.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local torch = {}

---Runs a function without recording for backward(). PyTorch equivalent: with torch.no_grad().
---
---```lua
---local torch = require 'torch'
---local x = torch.ones(1, {requires_grad = true})
---assert(not torch.no_grad(function() return x * 2 end).requires_grad)
---```
---@param fn fun(...): ... called without recording
---@param ... any arguments of fn
---@return ... # the results of fn
function torch.no_grad(fn, ...) end

---Runs a function with recording, also inside no_grad. PyTorch equivalent: with torch.enable_grad().
---
---```lua
---local torch = require 'torch'
---local x = torch.ones(1, {requires_grad = true})
---assert(torch.no_grad(torch.enable_grad, function() return (x * 2).requires_grad end))
---```
---@param fn fun(...): ...
---@param ... any arguments of fn
---@return ... # the results of fn
function torch.enable_grad(fn, ...) end

---As no_grad, and faster: tensors made in fn can never be part of a graph. PyTorch equivalent: with
---torch.inference_mode().
---
---```lua
---local torch = require 'torch'
---assert(torch.inference_mode(function() return torch.ones(2):sum():item() end) == 2)
---```
---@param fn fun(...): ...
---@param ... any arguments of fn
---@return ... # the results of fn
function torch.inference_mode(fn, ...) end

---Returns whether operations are recorded.
---
---```lua
---local torch = require 'torch'
---assert(torch.is_grad_enabled())
---```
---@return boolean
function torch.is_grad_enabled() end

---Returns whether the caller runs inside inference_mode.
---
---```lua
---local torch = require 'torch'
---assert(torch.inference_mode(torch.is_inference_mode_enabled))
---```
---@return boolean
function torch.is_inference_mode_enabled() end

---Switches the recording of operations on or off.
---@param mode boolean
function torch.set_grad_enabled(mode) end

---Runs a function, and then at once frees the tensors that it made and does not return, without waiting for the
---collector.
---
---```lua
---local torch = require 'torch'
---local y = torch.scope(function() return torch.ones(3) + torch.ones(3) end)
---assert(y:sum():item() == 6)
---```
---@param fn fun(...): ...
---@param ... any arguments of fn
---@return ... # the results of fn
function torch.scope(fn, ...) end

---Returns the number of threads that one operation uses on the CPU.
---
---```lua
---local torch = require 'torch'
---assert(torch.get_num_threads() >= 1)
---```
---@return integer
function torch.get_num_threads() end

---Sets the number of threads that one operation uses on the CPU.
---@param count integer
function torch.set_num_threads(count) end

---Makes operations without a deterministic form raise an error, or warn. PyTorch equivalent:
---torch.use_deterministic_algorithms.
---@param mode boolean
---@param options? {warn_only: boolean}
function torch.use_deterministic_algorithms(mode, options) end

---Returns the number of threads that run independent operations at the same time.
---
---```lua
---local torch = require 'torch'
---assert(torch.get_num_interop_threads() >= 1)
---```
---@return integer
function torch.get_num_interop_threads() end

---Sets the number of threads that run independent operations; only before the first operation.
---@param count integer
function torch.set_num_interop_threads(count) end

---Sets whether denormal numbers become 0, which is faster.
---
---```lua
---local torch = require 'torch'
---torch.set_flush_denormal(false)
---```
---@param mode boolean
---@return boolean # whether the processor supports it
function torch.set_flush_denormal(mode) end

---Returns the precision of products of float32 matrices.
---
---```lua
---local torch = require 'torch'
---assert(torch.get_float32_matmul_precision() == 'highest')
---```
---@return 'highest'|'high'|'medium'
function torch.get_float32_matmul_precision() end

---Sets the precision of products of float32 matrices.
---@param precision 'highest'|'high'|'medium'
function torch.set_float32_matmul_precision(precision) end

---Returns whether a warning is shown every time.
---
---```lua
---local torch = require 'torch'
---assert(not torch.is_warn_always_enabled())
---```
---@return boolean
function torch.is_warn_always_enabled() end

---Sets whether a warning is shown every time, or only once.
---@param mode boolean
function torch.set_warn_always(mode) end

---Returns whether torch.autocast works on that kind of device.
---
---```lua
---local torch = require 'torch'
---assert(torch.is_autocast_available 'cpu')
---```
---@param device_type string
---@return boolean
function torch.is_autocast_available(device_type) end

---Returns whether use_deterministic_algorithms only warns.
---
---```lua
---local torch = require 'torch'
---assert(not torch.is_deterministic_algorithms_warn_only_enabled())
---```
---@return boolean
function torch.is_deterministic_algorithms_warn_only_enabled() end

---Returns whether use_deterministic_algorithms is on.
---
---```lua
---local torch = require 'torch'
---assert(not torch.are_deterministic_algorithms_enabled())
---```
---@return boolean
function torch.are_deterministic_algorithms_enabled() end

return torch
