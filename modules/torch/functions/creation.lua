-- torch/functions/creation.lua: tensors from data: torch.as_tensor, torch.asarray, torch.frombuffer, x:new_tensor.

local args = require 'base.args'
local errors = require 'base.errors'
local aten = require 'torch.functions.aten'
local checks = require 'torch.functions.checks'
local C = require 'torch._C'

local creation = {}

local as_tensor = args.signature('as_tensor', {'data', {'dtype'}, {'device'}})

---Returns the tensor itself if it has that dtype and device, else a tensor of the data, through which gradients
---flow. PyTorch equivalent: torch.as_tensor.
---Arguments: data, dtype = nil, device = nil.
---@param ... any
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local x = torch.ones(2)
---assert(torch.as_tensor(x) == x and torch.as_tensor({1, 2}, torch.int64).dtype == torch.int64)
---```
function creation.as_tensor(...)
  local p = as_tensor:bind(...)
  if C.is_tensor(p.data) then return p.data:to{dtype = p.dtype, device = p.device} end
  return C.tensor(p.data, {dtype = p.dtype, device = p.device})
end

---As torch.as_tensor, with an option for copying. PyTorch equivalent: torch.asarray.
---@param data any a tensor, a number, a boolean or nested lists
---@param options? {dtype: string, device: string, copy: boolean, requires_grad: boolean} copy = true always copies, false
---  raises an error if a copy is needed; requires_grad = false (the default) detaches
---@return torch.Tensor
function creation.asarray(data, options)
  options = args.options(options, {'dtype', 'device', 'copy', 'requires_grad'}, 'asarray')
  local is_tensor = C.is_tensor(data)
  local out = creation.as_tensor(data, options.dtype, options.device)
  if options.copy == false and out ~= data then
    errors.raise('argument', ('asarray: copy = false, but %s must be copied'):format(
      is_tensor and 'a tensor of another dtype or device' or 'what is not a tensor'))
  end
  if options.copy and out == data then out = out:clone() end
  if not options.requires_grad then return out.requires_grad and out:detach() or out end
  return out.requires_grad and out or out:detach():requires_grad_()
end

---Returns a tensor of one dimension from the bytes of a string, copied. PyTorch equivalent: torch.frombuffer.
---@param buffer string
---@param options {dtype: string, count: integer, offset: integer, requires_grad: boolean} dtype is required; count =
---  -1: up to the end; offset = 0 in bytes
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---assert(torch.equal(torch.frombuffer('\1\0\2\0', {dtype = torch.int16}), torch.tensor({1, 2}, {dtype = torch.int16})))
---```
function creation.frombuffer(buffer, options)
  options = args.options(options, {'dtype', 'count', 'offset', 'requires_grad'}, 'frombuffer')
  if type(buffer) ~= 'string' or not options.dtype then
    errors.raise('argument', 'frombuffer: expected a string and {dtype = …}')
  end
  local offset = checks.count('frombuffer: offset', options.offset or 0)
  local size = aten.empty({0}, {dtype = options.dtype}).itemsize
  local room = #buffer - offset
  local count = (options.count or -1) < 0 and room / size or options.count
  if count % 1 ~= 0 or count < 1 or count * size > room then
    errors.raise('argument', ('frombuffer: %d bytes from offset %d do not hold %s items of %s (%d bytes each)'):format(
      #buffer, offset, (options.count or -1) < 0 and 'whole' or tostring(count), options.dtype, size))
  end
  local out = C.from_bytes(buffer:sub(offset + 1, offset + count * size), options.dtype, {count})
  return options.requires_grad and out:requires_grad_() or out
end

---Returns a tensor of the data with this tensor's dtype and device. PyTorch equivalent: Tensor.new_tensor.
---@param self torch.Tensor
---@param data any as for torch.tensor
---@param options? {dtype: string, device: string, requires_grad: boolean}
---@return torch.Tensor
function creation.new_tensor(self, data, options)
  checks.tensor('new_tensor: self', self)
  options = args.options(options, {'dtype', 'device', 'requires_grad'}, 'new_tensor')
  return C.tensor(data, {dtype = options.dtype or self.dtype, device = options.device or self.device,
                         requires_grad = options.requires_grad})
end

return creation
