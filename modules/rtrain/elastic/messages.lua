-- rtrain/elastic/messages.lua: values that ranks send to each other: numbers, tables and tensors.

local dist = require('torch').distributed
local torch = require 'torch'
local tree = require 'torch.func.tree'

local messages = {}

local function data() return require('torch._C').data end

local function int64(value) return torch.tensor({value}, {dtype = torch.int64}) end

---Returns each rank's number, by rank from 0. A collective.
---@param context table
---@param own integer
---@param second integer|nil another number
---@return table<integer, integer>
---@return integer first the first rank's second number; 0 if it has none
function messages.gathered(context, own, second)
  local all = torch.empty({2 * context.world_size}, {dtype = torch.int64})
  dist.all_gather_into_tensor(all, torch.tensor({own, second or 0}, {dtype = torch.int64}))
  local pairs_of_all, numbers = all:tolist(), {}
  for rank = 0, context.world_size - 1 do numbers[rank] = pairs_of_all[2 * rank + 1] end
  return numbers, pairs_of_all[2]
end

---Returns the first rank's value on all ranks. A collective.
---@param context table
---@param value any on the first rank
---@return any value
function messages.broadcast(context, value)
  local bytes = context.world_rank == 0 and data().pack_tensor(value)
  local size = int64(bytes and bytes:numel() or 0)
  dist.broadcast(size, {src = 0})
  bytes = bytes or torch.empty({size:item()}, {dtype = torch.uint8})
  dist.broadcast(bytes, {src = 0})
  return data().unpack_tensor(bytes)
end

-- Smaller tensors are packed with the value.
local LEAST_BYTES = 4096

-- Returns the value with its large tensors left out, as bytes, and these tensors.
local function split(value)
  local tensors, places = {}, {}
  local rest = tree.map(value, function(tensor)
    local is_large = tensor:numel() * tensor:element_size() >= LEAST_BYTES
    places[#places + 1] = is_large and {shape = {unpack(tensor.shape)}, is_cuda = tensor.is_cuda} or false
    if not is_large then return tensor end
    tensors[#tensors + 1] = tensor:detach():cpu():contiguous()
    return torch.empty({0}, {dtype = tensor.dtype})
  end)
  return data().pack_tensor{rest = rest, places = places}, tensors
end

-- Returns what another rank has split, with memory for the large tensors.
local function unsplit(bytes)
  local given, tensors = data().unpack_tensor(bytes), {}
  for i, each in ipairs(tree.leaves(given.rest)) do
    local place = given.places[i]
    if place then tensors[#tensors + 1] = torch.empty(place.shape, {dtype = each.dtype}) end
  end
  return given, tensors
end

-- Returns the value of a result of `unsplit` whose tensors have come.
local function joined(given, tensors)
  local leaf, large = 0, 0
  return tree.map(given.rest, function(tensor)
    leaf = leaf + 1
    local place = given.places[leaf]
    if not place then return tensor end
    large = large + 1
    return place.is_cuda and tensors[large]:cuda() or tensors[large]
  end)
end

---Sends a value.
---@param value any
---@param rank integer
function messages.send(value, rank)
  local bytes, tensors = split(value)
  dist.send(int64(bytes:numel()), rank)
  dist.send(bytes, rank)
  for _, tensor in ipairs(tensors) do dist.send(tensor, rank) end
end

---Receives a value that another rank sends.
---@param rank integer
---@return any value
function messages.receive(rank)
  local size = int64(0)
  dist.recv(size, rank)
  local bytes = torch.empty({size:item()}, {dtype = torch.uint8})
  dist.recv(bytes, rank)
  local given, tensors = unsplit(bytes)
  for _, tensor in ipairs(tensors) do dist.recv(tensor, rank) end
  return joined(given, tensors)
end

---Sends tensors to one rank and receives others from another one, which calls this too.
---@param sent torch.Tensor[]
---@param to integer
---@param received torch.Tensor[] in the shapes of what comes
---@param from integer
function messages.exchange(sent, to, received, from)
  local list = {}
  for i = 1, math.max(#sent, #received) do
    if sent[i] then list[#list + 1] = dist.P2POp(dist.isend, sent[i], to) end
    if received[i] then list[#list + 1] = dist.P2POp(dist.irecv, received[i], from) end
  end
  for _, work in ipairs(dist.batch_isend_irecv(list)) do work:wait() end
end

---Sends a value to one rank and receives one from another rank, which calls this too.
---@param value any
---@param to integer
---@param from integer
---@return any value
function messages.swap(value, to, from)
  local bytes, sent = split(value)
  local size = int64(0)
  messages.exchange({int64(bytes:numel())}, to, {size}, from)
  local received = torch.empty({size:item()}, {dtype = torch.uint8})
  messages.exchange({bytes}, to, {received}, from)
  local given, tensors = unsplit(received)
  messages.exchange(sent, to, tensors, from)
  return joined(given, tensors)
end

return messages
