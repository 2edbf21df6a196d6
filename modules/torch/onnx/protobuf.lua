-- torch/onnx/protobuf.lua: encodes messages of Protocol Buffers.
--
-- A message is a list of pieces, strings and tensors, written one after the other, so that no tensor becomes a string.
-- Format: https://protobuf.dev/programming-guides/encoding

local class = require 'base.class'
local ffi = require 'ffi'

local VARINT, BYTES, FIXED32 = 0, 2, 5
local EXACT = 2 ^ 53

-- Encodes a number from 0 to 2^53.
local function short_varint(value)
  local bytes = {}
  while value >= 128 do
    bytes[#bytes + 1] = string.char(value % 128 + 128)
    value = math.floor(value / 128)
  end
  bytes[#bytes + 1] = string.char(value)
  return table.concat(bytes)
end

-- Encodes any int64; negative numbers take ten bytes.
local function varint(value)
  if type(value) == 'number' and value >= 0 and value <= EXACT then return short_varint(value) end
  local left = ffi.cast('uint64_t', ffi.cast('int64_t', value))
  local bytes = {}
  while left >= 128ULL do
    bytes[#bytes + 1] = string.char(tonumber(left % 128ULL) + 128)
    left = left / 128ULL
  end
  bytes[#bytes + 1] = string.char(tonumber(left))
  return table.concat(bytes)
end

---@class torch.onnx.Message
---@field pieces (string|torch.Tensor)[]
---@field size integer bytes
local Message = class('Message')

function Message:init() self.pieces, self.size = {}, 0 end

function Message:_add(piece, size)
  self.pieces[#self.pieces + 1] = piece
  self.size = self.size + (size or #piece)
end

function Message:_key(field, kind) self:_add(varint(field * 8 + kind)) end

---Each of these methods adds a field and returns the message.
---@param field integer number of the field
---@param value integer
function Message:integer(field, value)
  self:_key(field, VARINT)
  self:_add(varint(value))
  return self
end

---@param field integer
---@param value number
function Message:float(field, value)
  self:_key(field, FIXED32)
  self:_add(ffi.string(ffi.new('float[1]', value), 4))
  return self
end

---@param field integer
---@param value string
function Message:text(field, value)
  self:_key(field, BYTES)
  self:_add(varint(#value))
  self:_add(value)
  return self
end

---@param field integer
---@param values integer[]
function Message:integers(field, values)
  for _, value in ipairs(values) do self:integer(field, value) end
  return self
end

---Adds the values of a tensor, as they are in memory.
---@param field integer
---@param tensor torch.Tensor
function Message:tensor(field, tensor)
  local size = tensor:numel() * tensor:element_size()
  self:_key(field, BYTES)
  self:_add(varint(size))
  self:_add(tensor, size)
  return self
end

---@param field integer
---@param message torch.onnx.Message
function Message:message(field, message)
  self:_key(field, BYTES)
  self:_add(varint(message.size))
  for _, piece in ipairs(message.pieces) do self.pieces[#self.pieces + 1] = piece end
  self.size = self.size + message.size
  return self
end

return Message
