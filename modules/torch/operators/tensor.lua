-- torch/operators/tensor.lua: the class of tensors: attributes and methods that are not functions of torch.
--
-- Docstrings for `rtrain doc` and for editors; never required. ATen's schemas define the functions.

---@meta

local Tensor = {}

---An array of numbers of one dtype on one device; it may record how it was computed. Lists of sizes are Lua lists:
---`x.shape[1]` is the length of dimension 0. `x[i]`, `x[{i, torch.slice(1, 3)}]` and `x[mask]` read and write elements,
---counted from 0; `#x` is the length of dimension 0.
---
---```lua
---local torch = require 'torch'
---local x = torch.arange(6):view(2, 3)
---assert(#x == 2 and x.shape[2] == 3 and x[1][2]:item() == 5)
---x[0] = 9
---assert((x + 1)[0][0]:item() == 10)
---```
---@class torch.Tensor
---@field shape integer[] lengths of the dimensions
---@field dtype torch.dtype 'float32', 'int64', …
---@field device torch.device 'cpu', 'cuda:0'
---@field layout string 'strided' or 'sparse_coo'
---@field grad torch.Tensor|nil the gradient, after backward(); it can be set
---@field grad_fn string|nil the operation that computed it, nil for a leaf
---@field requires_grad boolean whether gradients are computed for it; it can be set on leaves
---@field is_leaf boolean whether it was made by the user
---@field is_cuda boolean whether it is on a GPU
---@field is_sparse boolean
---@field ndim integer number of dimensions
---@field nbytes integer bytes of all elements
---@field itemsize integer bytes of one element
---@field T torch.Tensor the transposed matrix: a view
---@field mT torch.Tensor with the last two dimensions exchanged: a view
---@field H torch.Tensor the conjugate of a transposed matrix
---@field mH torch.Tensor the conjugate with the last two dimensions exchanged
---@field real torch.Tensor the real part: a view
---@field imag torch.Tensor the imaginary part of complex numbers: a view
---@field data torch.Tensor the same elements, detached from the graph; it can be set
---@field retains_grad boolean whether retain_grad() was called
---@field is_cpu boolean whether it is on the CPU
---@field is_meta boolean whether it has a shape but no memory
---@field is_sparse_csr boolean
---@field is_mkldnn boolean
---@field is_quantized boolean
---@field is_nested boolean
---@field is_ipu boolean
---@field is_maia boolean
---@field is_mps boolean
---@field is_mtia boolean
---@field is_vulkan boolean
---@field is_xla boolean
---@field is_xpu boolean
local _ = Tensor

---Returns the lengths of the dimensions.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3):size(1) == 3 and torch.zeros(2, 3):size()[1] == 2)
---```
---@param dim? integer
---@return integer[]|integer # of all dimensions, or of one
function Tensor:size(dim) end

---Returns the distance in memory between neighbours along each dimension.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3):stride(0) == 3)
---```
---@param dim? integer
---@return integer[]|integer # in elements
function Tensor:stride(dim) end

---Returns the number of dimensions.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3):dim() == 2)
---```
---@return integer
function Tensor:dim() end

---Returns the number of dimensions, as dim().
---@return integer
function Tensor:ndimension() end

---Returns the number of elements.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3):numel() == 6)
---```
---@return integer
function Tensor:numel() end

---Returns the number of elements, as numel().
---@return integer
function Tensor:nelement() end

---Returns the number of bytes of one element.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(1):element_size() == 4)
---```
---@return integer
function Tensor:element_size() end

---Returns the position of the first element in the tensor's memory.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(4)[3]:storage_offset() == 3)
---```
---@return integer # in elements
function Tensor:storage_offset() end

---Returns whether the dtype is a floating-point dtype.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(1):is_floating_point())
---```
---@return boolean
function Tensor:is_floating_point() end

---Returns whether the dtype is a complex dtype.
---
---```lua
---local torch = require 'torch'
---assert(not torch.zeros(1):is_complex())
---```
---@return boolean
function Tensor:is_complex() end

---Returns whether the elements are contiguous in memory.
---
---```lua
---local torch = require 'torch'
---assert(not torch.zeros(2, 3):t():is_contiguous())
---```
---@param memory_format? 'contiguous_format'|'channels_last'|'channels_last_3d'
---@return boolean
function Tensor:is_contiguous(memory_format) end

---Returns the address of the first element.
---
---```lua
---local torch = require 'torch'
---local x = torch.zeros(2)
---assert(x:view(2, 1):data_ptr() == x:data_ptr())
---```
---@return integer
function Tensor:data_ptr() end

---Returns the value of a tensor with one element. Raises code 'argument' for other tensors.
---
---```lua
---local torch = require 'torch'
---assert(torch.tensor(7):item() == 7)
---```
---@return number|boolean # int64 above 2^53 as int64 cdata, complex numbers as complex cdata
function Tensor:item() end

---Returns the elements as Lua values.
---
---```lua
---local torch = require 'torch'
---assert(torch.tensor{{1, 2}, {3, 4}}:tolist()[2][1] == 3)
---```
---@return any # nested lists; a number for shape ()
function Tensor:tolist() end

---Sets whether gradients are computed for the tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.ones(1):requires_grad_().requires_grad)
---```
---@param requires_grad? boolean default true
---@return torch.Tensor # the tensor itself
function Tensor:requires_grad_(requires_grad) end

---Frees the memory at once; using the tensor afterwards is an error. Python equivalent: del.
---
---```lua
---local torch = require 'torch'
---local x = torch.zeros(4)
---x:release()
---assert(not pcall(function() return x + 1 end))
---```
function Tensor:release() end

---Casts and moves.
---
---```lua
---local torch = require 'torch'
---local x = torch.zeros(2)
---assert(x:to(torch.int64).dtype == 'int64' and x:to('cpu') == x)
---```
---@param target? string|torch.Tensor a dtype, a device, or a tensor whose dtype and device are used
---@param options? {dtype: torch.dtype, device: torch.device, copy: boolean, non_blocking: boolean, memory_format: string}
---@return torch.Tensor # the tensor itself if nothing changes
function Tensor:to(target, options) end

---Casts to float32.
---
---```lua
---local torch = require 'torch'
---assert(torch.ones(1, {dtype = 'int64'}):float().dtype == 'float32')
---```
---@return torch.Tensor # float32
function Tensor:float() end

---Casts to float64.
---@return torch.Tensor # float64
function Tensor:double() end

---Casts to float16.
---@return torch.Tensor # float16
function Tensor:half() end

---Casts to bfloat16.
---@return torch.Tensor # bfloat16
function Tensor:bfloat16() end

---Casts to int64.
---
---```lua
---local torch = require 'torch'
---assert(torch.tensor{1.9}:long():item() == 1)
---```
---@return torch.Tensor # int64
function Tensor:long() end

---Casts to int32.
---@return torch.Tensor # int32
function Tensor:int() end

---Casts to int16.
---@return torch.Tensor # int16
function Tensor:short() end

---Casts to int8.
---@return torch.Tensor # int8
function Tensor:char() end

---Casts to uint8.
---@return torch.Tensor # uint8
function Tensor:byte() end

---Casts to bool: whether an element is nonzero.
---
---```lua
---local torch = require 'torch'
---assert(torch.tensor{0, 2}:bool()[1]:item() == true)
---```
---@return torch.Tensor # bool
function Tensor:bool() end

---Moves to the CPU.
---@return torch.Tensor
function Tensor:cpu() end

---Casts to complex64.
---@return torch.Tensor # complex64
function Tensor:cfloat() end

---Casts to complex128.
---@return torch.Tensor # complex128
function Tensor:cdouble() end

---Casts to complex32.
---@return torch.Tensor # complex32
function Tensor:chalf() end

---Returns the number of the tensor's GPU, -1 on the CPU.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(1):get_device() == -1)
---```
---@return integer
function Tensor:get_device() end

---Returns the dimensions in their order in memory, the outermost first.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3):t():dim_order()[1] == 1)
---```
---@return integer[] # dimensions
function Tensor:dim_order() end

---Calls fn with a leaf after its .grad has been updated: of a sharded parameter when its rows of the gradient are exchanged,
---so that an optimizer of that parameter may step and free the gradient before the backward pass goes on.
---
---```lua
---local torch = require 'torch'
---local x, count = torch.ones(1, {requires_grad = true}), 0
---x:register_post_accumulate_grad_hook(function() count = count + 1 end)
---x:sum():backward()
---assert(count == 1)
---```
---@param fn fun(param: torch.Tensor)
---@return {remove: fun()} handle
function Tensor:register_post_accumulate_grad_hook(fn) end

---Moves to a GPU. Arguments: device (default: the current GPU), non_blocking = false, also as keywords {device,
---non_blocking, memory_format}. With non_blocking a copy from pinned memory may return before it is complete.
---
---```lua
---local torch = require 'torch'
---if torch.cuda.is_available() then
---  local x = torch.ones(3):pin_memory():cuda{non_blocking = true}
---  assert(x.is_cuda and x:to('cpu')[1]:item() == 1)
---end
---```
---@param device? integer|string of the GPU, default: the current GPU
---@param non_blocking? boolean
---@return torch.Tensor
function Tensor:cuda(device, non_blocking) end

---Computes the gradient of this tensor and adds it to .grad of the leaves. PyTorch equivalent: Tensor.backward.
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor({3}, {requires_grad = true})
---local y = x * x
---y:backward()
---assert(x.grad:item() == 6)
---```
---@param gradient? torch.Tensor|nil of the shape of the tensor; not needed for a single element
---@param options? {retain_graph: boolean, create_graph: boolean, inputs: torch.Tensor[]}
function Tensor:backward(gradient, options) end

---Calls fn with the gradient of this tensor when it is computed; a tensor that fn returns replaces it.
---
---```lua
---local torch = require 'torch'
---local x = torch.ones(1, {requires_grad = true})
---x:register_hook(function(grad) return grad * 2 end)
---x:sum():backward()
---assert(x.grad:item() == 2)
---```
---@param fn fun(grad: torch.Tensor): torch.Tensor|nil
---@return {remove: fun()} handle
function Tensor:register_hook(fn) end

---Keeps .grad for a tensor that is not a leaf.
---
---```lua
---local torch = require 'torch'
---local x = torch.ones(1, {requires_grad = true})
---local y = x * 2
---y:retain_grad()
---y:sum():backward()
---assert(y.grad:item() == 1)
---```
function Tensor:retain_grad() end

---Returns the same memory in another shape. Raises code 'argument' if only a copy can have that shape: use reshape.
---
---```lua
---local torch = require 'torch'
---assert(torch.arange(6):view(2, -1).shape[2] == 3)
---```
---@param size integer[] one size may be -1, it is computed from the others; also as separate arguments: x:view(2, 3)
---@param dtype? torch.dtype instead of the size: interprets the same bytes as another dtype
---@return torch.Tensor # (size), a view
function Tensor:view(size, dtype) end

---Repeats dimensions of length 1 without copying.
---
---```lua
---local torch = require 'torch'
---assert(torch.ones(3, 1):expand(3, 4).shape[2] == 4)
---```
---@param size integer[] -1 keeps a length; also as separate arguments
---@param implicit? boolean for internal use by ATen
---@return torch.Tensor # (size), a view
function Tensor:expand(size, implicit) end

---Expands to the shape of another tensor.
---
---```lua
---local torch = require 'torch'
---assert(torch.ones(1):expand_as(torch.zeros(2, 3)):sum():item() == 6)
---```
---@param other torch.Tensor
---@return torch.Tensor # of the shape of other, a view
function Tensor:expand_as(other) end

---Repeats the tensor. Python equivalent: repeat.
---
---```lua
---local torch = require 'torch'
---assert(torch.ones(2):repeat_(3).shape[1] == 6)
---```
---@param repeats integer[] number of repetitions along each dimension; also as separate arguments
---@return torch.Tensor # a copy
function Tensor:repeat_(repeats) end

---Copies elements into this tensor, casting them.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2):copy_(torch.ones(2)):sum():item() == 2)
---```
---@param src torch.Tensor broadcasts to the shape
---@param non_blocking? boolean for copies between devices
---@return torch.Tensor # the tensor itself
function Tensor:copy_(src, non_blocking) end

---Sets every element.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2):fill_(3):sum():item() == 6)
---```
---@param value number|torch.Tensor
---@return torch.Tensor # the tensor itself
function Tensor:fill_(value) end

---Sets every element to 0.
---
---```lua
---local torch = require 'torch'
---assert(torch.ones(2):zero_():sum():item() == 0)
---```
---@return torch.Tensor # the tensor itself
function Tensor:zero_() end

---Fills with normal random numbers.
---
---```lua
---local torch = require 'torch'
---torch.zeros(2):normal_(0, 0.02)
---```
---@param mean? number
---@param std? number
---@param generator? torch.Generator source of the random numbers
---@return torch.Tensor # the tensor itself
function Tensor:normal_(mean, std, generator) end

---Fills with uniform random numbers.
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2):uniform_(1, 2):min():item() >= 1)
---```
---@param from? number
---@param to? number
---@param generator? torch.Generator source of the random numbers
---@return torch.Tensor # the tensor itself
function Tensor:uniform_(from, to, generator) end

---Adds alpha · other in place.
---
---```lua
---local torch = require 'torch'
---assert(torch.ones(2):add_(1, {alpha = 2})[0]:item() == 3)
---```
---@param other torch.Tensor|number broadcasts to the shape
---@param alpha? number
---@return torch.Tensor # the tensor itself
function Tensor:add_(other, alpha) end

---Multiplies in place.
---
---```lua
---local torch = require 'torch'
---assert(torch.ones(2):mul_(3):sum():item() == 6)
---```
---@param other torch.Tensor|number broadcasts to the shape
---@return torch.Tensor # the tensor itself
function Tensor:mul_(other) end

---Returns windows along a dimension. F.unfold returns columns of image patches.
---
---```lua
---local torch = require 'torch'
---assert(torch.arange(5):unfold(0, 2, 1).shape[1] == 4)
---```
---@param dimension integer
---@param size integer of each window
---@param step integer between windows
---@return torch.Tensor # with a last dimension of length size, a view
function Tensor:unfold(dimension, size, step) end

return Tensor
