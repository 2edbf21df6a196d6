-- torch/tensor/storages.lua: the memory behind a tensor: x:untyped_storage(), x:storage().

local checks = require 'torch.functions.checks'
local class = require 'base.class'
local errors = require 'base.errors'

local storages = {}

local function engine() return require 'torch._C' end

---The memory of a tensor and of all its views, in bytes. PyTorch equivalent: torch.UntypedStorage.
---
---```lua
---local torch = require 'torch'
---local x = torch.arange(4)
---local storage = x:untyped_storage()
---assert(#storage == 32 and storage:nbytes() == 32)
---storage:resize_(0)  -- gives the memory back; x keeps its sizes
---storage:resize_(32)
---x:copy_(torch.ones(4))
---assert(x:sum():item() == 4)
---```
---@class torch.UntypedStorage
---@field device string
local UntypedStorage = class('UntypedStorage', nil, {userdata = true})

function UntypedStorage:init(tensor)
  self._tensor = tensor:detach()
  self.device = tostring(tensor.device)
end

---@return integer bytes
function UntypedStorage:nbytes() return engine()._storage_nbytes(self._tensor) end

---@return integer bytes
function UntypedStorage:size() return self:nbytes() end

function UntypedStorage:__len() return self:nbytes() end

---@return integer address of the first byte, 0 without memory
function UntypedStorage:data_ptr() return engine()._storage_ptr(self._tensor) end

---@return integer 1
function UntypedStorage:element_size() return self and 1 end

---Resizes the storage to that many bytes. Existing values that fit are kept, new ones are undefined. Tensors that share
---the storage keep their sizes: a tensor that needs more bytes than there are must not be read or written until it fits
---again. As in PyTorch, this is not checked: such an access may end the process.
---@param size integer bytes
---@return torch.UntypedStorage storage itself
---Errors: 'argument'; 'unsupported' if the memory has another owner, such as a mapped file.
function UntypedStorage:resize_(size)
  engine()._storage_resize(self._tensor, size)
  return self
end

function UntypedStorage:__tostring() return ('torch.UntypedStorage(device=%s) of %d bytes'):format(self.device, #self) end

---The same as UntypedStorage, with sizes counted in elements. PyTorch equivalent: torch.TypedStorage.
---@class torch.TypedStorage
---@field dtype string
---@field device string
local TypedStorage = class('TypedStorage', nil, {userdata = true})

function TypedStorage:init(tensor)
  self._untyped = UntypedStorage(tensor)
  self._width = tensor:element_size()
  self.dtype, self.device = tensor.dtype, self._untyped.device
end

---@return torch.UntypedStorage
function TypedStorage:untyped() return self._untyped end

---@return integer bytes
function TypedStorage:nbytes() return self._untyped:nbytes() end

---@return integer elements
function TypedStorage:size() return math.floor(self:nbytes() / self._width) end

function TypedStorage:__len() return self:size() end

---@return integer address of the first element
function TypedStorage:data_ptr() return self._untyped:data_ptr() end

---@return integer bytes
function TypedStorage:element_size() return self._width end

---As UntypedStorage.resize_, in elements.
---@param size integer elements
---@return torch.TypedStorage storage itself
function TypedStorage:resize_(size)
  if type(size) ~= 'number' then
    errors.raise('argument', ('resize_: expected a number of elements, got %s'):format(type(size)))
  end
  self._untyped:resize_(size * self._width)
  return self
end

function TypedStorage:__tostring()
  return ('torch.TypedStorage(dtype=%s, device=%s) of %d elements'):format(self.dtype, self.device, #self)
end

---Returns the memory of a tensor, which its views share. PyTorch equivalent: torch.Tensor.untyped_storage.
---@param input torch.Tensor
---@return torch.UntypedStorage
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3):select(0, 1):untyped_storage():nbytes() == 24)
---```
function storages.untyped_storage(input) return UntypedStorage(checks.tensor('untyped_storage: input', input)) end

---Returns the same memory, counted in elements of the tensor's dtype. PyTorch equivalent: torch.Tensor.storage.
---@param input torch.Tensor
---@return torch.TypedStorage
---
---```lua
---local torch = require 'torch'
---assert(torch.zeros(2, 3):storage():size() == 6)
---```
function storages.storage(input) return TypedStorage(checks.tensor('storage: input', input)) end

return storages
