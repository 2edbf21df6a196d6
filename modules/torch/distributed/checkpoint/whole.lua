-- torch/distributed/checkpoint/whole.lua: a checkpoint of all ranks as one state dict of whole tensors.

local index = require 'torch.distributed.checkpoint.index'
local Reader = require 'torch.distributed.checkpoint.reader'
local torch = require 'torch'

local whole = {}

-- Returns the state dict with tensors on the device, and name → tensor.
local function made(reader, device)
  local tensors = {}
  local state = index.tree(reader.content, function(name, entry)
    local tensor = torch.empty(entry.shape, {dtype = entry.dtype, device = device})
    reader:add(name, tensor)
    tensors[name] = tensor
    return tensor
  end)
  return state, tensors
end

---Reads all of a checkpoint.
---@param folder string
---@param device? string
---@return table state
function whole.load(folder, device)
  local reader = Reader(folder)
  local state = made(reader, device or 'cpu')
  reader:check()
  reader:read()
  return state
end

---Returns the state dict with tensors on the device 'meta', which have no memory, and where the bytes of each lie.
---@param folder string
---@return table state
---@return table<torch.Tensor, {path: string, offset: integer, size: integer}[]> places
function whole.outline(folder)
  local reader = Reader(folder)
  local state, tensors = made(reader, 'meta')
  reader:check()
  local places = {}
  for name, tensor in next, tensors do places[tensor] = reader:places(name) end
  return state, places
end

return whole
