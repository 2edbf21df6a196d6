-- torch/onnx/model_proto.lua: writes an ONNX graph. Field numbers:
-- https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
--
-- A message of Protocol Buffers has at most 2 GiB. Larger models have the values of their initializers in a second
-- file, `<path>.data`, to which the first one refers (ONNX's external data).

local errors = require 'base.errors'
local Message = require 'torch.onnx.protobuf'
local ordered = require 'base.ordered'

local model_proto = {}

-- Values of TensorProto.DataType.
local DTYPES = {float32 = 1, uint8 = 2, int8 = 3, uint16 = 4, int16 = 5, int32 = 6, int64 = 7, bool = 9, float16 = 10,
                float64 = 11, uint32 = 12, uint64 = 13, complex64 = 14, complex128 = 15, bfloat16 = 16}
-- Opset → the version of the format with which it was published.
local IR_VERSIONS = {[17] = 8, [18] = 8, [19] = 9, [20] = 9, [21] = 10}
-- Larger models put the values into a separate file; the rest of a model is small.
local MOST_BYTES = 2 ^ 31 - 2 ^ 26
-- Alignment of each value in that file: page sizes are multiples of it, so readers can map the values.
local ALIGNMENT = 64
local FLOAT, INT, STRING, INTS, STRINGS = 1, 2, 3, 7, 8
local EXTERNAL = 1

---@param dtype string
---@return integer type ONNX's number for the dtype
function model_proto.type_of(dtype)
  if DTYPES[dtype] then return DTYPES[dtype] end
  errors.raise('unsupported', ('torch.onnx.export: ONNX has no %s'):format(dtype))
end

local function add_list(message, values)
  if type(values[1]) == 'string' then
    for _, value in ipairs(values) do message:text(9, value) end
    return message:integer(20, STRINGS)
  end
  return message:integers(8, values):integer(20, INTS)
end

local function attribute(name, value)
  local message = Message():text(1, name)
  if type(value) == 'number' then return message:integer(3, value):integer(20, INT) end
  if type(value) == 'string' then return message:text(4, value):integer(20, STRING) end
  if value.float then return message:float(2, value.float):integer(20, FLOAT) end
  return add_list(message, value)
end

local function node(given)
  local message = Message()
  for _, name in ipairs(given.inputs) do message:text(1, name) end
  for _, name in ipairs(given.outputs) do message:text(2, name) end
  message:text(3, given.name):text(4, given.op)
  local names = {}
  for name in next, given.attributes do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do message:message(5, attribute(name, given.attributes[name])) end
  return message
end

local function value_info(given)
  local shape = Message()
  for _, size in ipairs(given.shape) do
    local dim = Message()
    if type(size) == 'string' then dim:text(2, size) else dim:integer(1, size) end
    shape:message(1, dim)
  end
  local tensor = Message():integer(1, model_proto.type_of(given.dtype)):message(2, shape)
  return Message():text(1, given.name):message(2, Message():message(1, tensor))
end

local function entry(key, value) return Message():text(1, key):text(2, value) end

-- Returns the values for the separate file, in order, each with its entry in the model.
local ExternalData = require 'base.class'('ExternalData')

function ExternalData:init(path)
  self.path, self.location, self.pieces, self.size = path .. '.data', (path .. '.data'):match '[^/]*$', {}, 0
end

---Appends a tensor's values, and adds their place to the message.
---@param message torch.onnx.Message
---@param tensor torch.Tensor
function ExternalData:add(message, tensor)
  local gap = -self.size % ALIGNMENT
  if gap > 0 then table.insert(self.pieces, ('\0'):rep(gap)) end
  local offset, bytes = self.size + gap, tensor:numel() * tensor:element_size()
  table.insert(self.pieces, tensor)
  self.size = offset + bytes
  message:message(13, entry('location', self.location)):message(13, entry('offset', ('%d'):format(offset)))
  message:message(13, entry('length', ('%d'):format(bytes))):integer(14, EXTERNAL)
end

local function initializer(name, tensor, external)
  local shape = {}
  for i = 1, tensor:dim() do shape[i] = tensor.shape[i] end
  local message = Message():integers(1, shape):integer(2, model_proto.type_of(tensor.dtype)):text(8, name)
  if external then external:add(message, tensor) else message:tensor(9, tensor) end
  return message
end

local function graph_message(graph, name, external)
  local message = Message()
  for _, given in ipairs(graph.nodes) do message:message(1, node(given)) end
  message:text(2, name)
  for initializer_name, tensor in ordered.items(graph.initializers) do
    message:message(5, initializer(initializer_name, tensor, external))
  end
  for _, given in ipairs(graph.inputs) do message:message(11, value_info(given)) end
  for _, given in ipairs(graph.outputs) do message:message(12, value_info(given)) end
  return message
end

local function bytes_of(graph)
  local sum = 0
  for _, tensor in ordered.items(graph.initializers) do sum = sum + tensor:numel() * tensor:element_size() end
  return sum
end

---@param opset_version integer
---@return boolean
function model_proto.has_opset(opset_version) return IR_VERSIONS[opset_version] ~= nil end

---Writes the graph as a model. The file of the values, if any, is complete before the model refers to it.
---@param graph torch.onnx.Graph
---@param options {path: string, name: string, opset_version: integer, external_data: boolean?}
function model_proto.write(graph, options)
  local is_external = options.external_data
  if is_external == nil then is_external = bytes_of(graph) > MOST_BYTES end
  local external = is_external and ExternalData(options.path) or nil
  local model = Message():integer(1, IR_VERSIONS[options.opset_version]):text(2, 'rtrain')
  model:message(7, graph_message(graph, options.name, external))
  model:message(8, Message():text(1, ''):integer(2, options.opset_version))
  if model.size >= 2 ^ 31 then
    errors.raise('argument', 'torch.onnx.export: the model has more than 2 GiB: pass external_data = true')
  end
  local C = require 'torch._C'
  if external then C._write_file(external.pieces, external.path) end
  C._write_file(model.pieces, options.path)
end

return model_proto
