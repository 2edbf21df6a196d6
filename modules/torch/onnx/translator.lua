-- torch/onnx/translator.lua: Translator, the first argument of the mappings (operators/*.lua): it finds the graph's
-- names of traced values and adds nodes to the graph. translation.lua walks through the calls.
--
-- Numbers that differ between the traces follow dynamic axes, and become nodes that compute them.

local class = require 'base.class'
local errors = require 'base.errors'
local Graph = require 'torch.onnx.graph'
local Size = require 'torch.onnx.sizes'
local traced = require 'torch.onnx.traced'
local Views = require 'torch.onnx.views'

---@class torch.onnx.Translator the first argument of a mapping
---@field graph torch.onnx.Graph
---@field opset_version integer
local Translator = class('Translator')

---@param options {axes: torch.onnx.Axis[], parameters: table<number, string>, opset_version: integer}
function Translator:init(options)
  self.graph, self.opset_version, self._axes = Graph(), options.opset_version, options.axes
  self._parameters = options.parameters  -- identity → name in the state dict
  self._names = {}  -- identity of a tensor that depends on the inputs → its name in the graph
  self._constants = {}  -- identity of a constant tensor in use → its name
  self._used, self._stale = {}, {}  -- storages of constants in use; changed memory → the call that changed it
  self._by_storage = {}
  self._follows_input = {}  -- identity of a tensor whose values, not only its sizes, depend on an input
  self._views = Views(self)
  self._packed = {}  -- identity of the data of a packed sequence → its description by operators/recurrent.lua
end

local has_equal_twins, is_tensor, plain_name = traced.has_equal_twins, traced.is_tensor, traced.plain_name

local PACKED = 'ONNX has no packed sequences: they go from pack_padded_sequence through RNN, GRU and LSTM to ' ..
  'pad_packed_sequence, and nowhere else'

Translator.is_tensor = is_tensor

---Raises an error that the call has no form in ONNX.
---@param message string a format
---@param ... any values for the format
function Translator:fail(message, ...)
  local call = self.call
  local where = {}
  if self.outer.module then where[#where + 1] = self.outer.module end
  if self.outer.line then where[#where + 1] = 'at ' .. self.outer.line end
  local name = plain_name(self.outer.name and self.outer or call)
  local inner = name ~= plain_name(call) and ('its %s: '):format(plain_name(call)) or ''
  errors.raise('unsupported', ('torch.onnx.export: %s%s: %s%s'):format(name,
    #where > 0 and ' (' .. table.concat(where, ', ') .. ')' or '', inner, message:format(...)))
end

---@param value table a tensor of the trace
---@return string dtype
function Translator:dtype(value) return value.tensor.dtype end

---@param value table
---@return integer
function Translator:rank(value) return value.tensor:dim() end

---Returns the sizes of a tensor, each a number or a Size.
---@param value table
---@return (integer|torch.onnx.Size)[]
function Translator:shape(value)
  local out = {}
  for i = 1, value.tensor:dim() do
    local sizes = {value.tensor.shape[i]}
    for k, twin in next, value.twins or {} do sizes[k] = twin.tensor.shape[i] end
    out[i] = sizes[1]
    for k = 2, #sizes do
      if sizes[k] ~= sizes[1] then out[i] = Size(sizes, self._axes) end
    end
  end
  return out
end

---Returns the size of a dimension, which must be the same in every trace.
---@param value table
---@param dim integer
---@return integer
function Translator:fixed_size(value, dim)
  local size = self:shape(value)[dim % self:rank(value) + 1]
  if type(size) ~= 'number' then
    self:fail('dimension %d follows a dynamic axis, which has no form in ONNX here', dim)
  end
  return size
end

---Raises an error for a number that follows a dynamic axis.
---@param value number|torch.onnx.Size
---@param name string for the message
---@return number value
function Translator:fixed(value, name)
  if class.is(value, Size) then self:fail('%s follows a dynamic axis, which has no form in ONNX', name) end
  return value
end

-- Raises an error for a size that is used but has no expression.
local function check_size(self, size)
  if size:expression() then return size end
  local values = {}
  for i, value in ipairs(size.values) do values[i] = ('%g'):format(value) end
  self:fail('a number of Lua depends on the values of an input, or on a dynamic axis in a way that has no form in ONNX: ' ..
    'it was %s', table.concat(values, ', '))
end

---Returns the name of a list of int64 for a list of numbers and Sizes.
---@param sizes (integer|torch.onnx.Size)[]
---@return string name
function Translator:sizes(sizes)
  local parts, is_fixed = {}, true
  for i, size in ipairs(sizes) do
    local is_size = class.is(size, Size)
    is_fixed = is_fixed and not is_size
    parts[i] = is_size and self.graph:size(check_size(self, size)) or size
  end
  if is_fixed then return self.graph:integers(sizes) end
  for i, part in ipairs(parts) do
    if type(part) == 'number' then parts[i] = self.graph:integers{part} end
  end
  return #parts == 1 and parts[1] or self.graph:add('Concat', parts, {axis = 0})
end

-- Returns a number that follows an axis as a 0-dim tensor.
local function number_of_size(self, size, dtype)
  local name = self.graph:add('Reshape', {self.graph:size(check_size(self, size)), self.graph:integers{}})
  return dtype == 'int64' and name or self:cast(name, dtype)
end

---@param name string
---@param dtype string
---@return string name
function Translator:cast(name, dtype)
  return self.graph:add('Cast', {name}, {to = require('torch.onnx.model_proto').type_of(dtype)})
end

-- Returns the Size for a 0-dim tensor whose number differs between the traces, or nil.
local function size_of_number(self, value)
  if value.tensor:dim() > 0 then return nil end
  local values = {value.tensor:item()}
  for k, twin in next, value.twins do values[k] = twin.tensor:item() end
  for _, number in ipairs(values) do
    if type(number) ~= 'number' then return nil end
  end
  return Size(values, self._axes)
end

-- Raises an error if the value shares memory with a tensor that a call has changed.
function Translator:_check_stale(value)
  local by = self._stale[value.id] or not self._names[value.id] and self._stale[value.storage]
  if by then
    self:fail('its argument shares memory with a tensor that %s has changed in place: write that without changing it', by)
  end
end

local function constant(self, value, dtype)
  self._used[value.storage] = true
  local tensor = value.tensor
  local key = dtype and dtype ~= tensor.dtype and dtype or ''
  local known = self._constants[value.id] or {}
  self._constants[value.id] = known
  if known[key] then return known[key] end
  if not has_equal_twins(value) then
    local size = size_of_number(self, value)
    if size then return number_of_size(self, size, dtype or tensor.dtype) end
    self:fail('one of its arguments depends on the size of a dynamic axis, and not on the inputs')
  end
  local values = (key ~= '' and tensor:to(key) or tensor):detach():cpu()
  known[key] = tensor:dim() == 0 and not self._parameters[value.id] and values.dtype ~= 'bool'
    and self.graph:scalar(values:item(), values.dtype) or self.graph:constant(values, self._parameters[value.id])
  return known[key]
end

---Returns the graph's name of an argument.
---@param value table|number|boolean|torch.onnx.Size a tensor of the trace, or a number
---@param dtype? string the required dtype; default: its own
---@return string name
function Translator:operand(value, dtype)
  if value == nil then return '' end
  if class.is(value, Size) then return number_of_size(self, value, dtype or 'int64') end
  if not is_tensor(value) then return self.graph:scalar(value, dtype or 'float32') end
  if self._packed[value.id] then self:fail(PACKED) end
  local name = self._names[value.id] or self:_name_again(value)
  if not name then
    self:_check_stale(value)
    return constant(self, value, dtype)
  end
  return (dtype == nil or dtype == value.tensor.dtype) and name or self:cast(name, dtype)
end

---Returns the names of several tensors.
---@param values table[]
---@param dtype? string
---@return string[] names
function Translator:operands(values, dtype)
  local out = {}
  for i, value in ipairs(values) do out[i] = self:operand(value, dtype) end
  return out
end

---Returns whether the tensor depends on an input of the model.
---@param value table
---@return boolean
function Translator:is_computed(value)
  return is_tensor(value) and (self._names[value.id] or self._packed[value.id] or self._views:has(value)) ~= nil
end

---Returns whether the tensor's values, not only its sizes, depend on an input of the model.
---@param value table
---@return boolean
function Translator:follows_input(value) return self._follows_input[value.id] == true end

---Returns the graph's form of the data of a packed sequence: the padded form.
---@param value table
---@return {padded: string, lengths: string, size: integer|torch.onnx.Size, is_clean: boolean} size: the greatest
---  possible length
function Translator:packed(value) return self._packed[value.id] or self:fail(PACKED) end

---Sets the graph's form of the data of a packed sequence.
---@param value table
---@param form table as packed() returns it
function Translator:set_packed(value, form) self._packed[value.id] = form end

---Adds a node of the graph: Graph:add.
---@param ... any
---@return string ... names of the outputs
function Translator:add(...) return self.graph:add(...) end

---Returns the name of a tensor reshaped to the shape of a traced tensor.
---@param name string
---@param like table
---@return string name
function Translator:reshaped(name, like)
  local shape, unknown = self:shape(like), 0
  for i, size in ipairs(shape) do
    if type(size) ~= 'number' then unknown, shape[i] = unknown + 1, unknown == 0 and -1 or size end
  end
  return self:add('Reshape', {name, self:sizes(unknown > 1 and self:shape(like) or shape)})
end

---Adds a reduction of ONNX. Its axes are an input from opset 18 on; those of sums are an input in every opset.
---@param op string
---@param name string
---@param axes? integer[] default: all
---@param keepdims? boolean
---@return string name
function Translator:reduce(op, name, axes, keepdims)
  local attributes, inputs = {keepdims = keepdims and 1 or 0}, {name}
  if axes and (op == 'ReduceSum' or self.opset_version >= 18) then
    inputs[2] = self.graph:integers(axes)
  elseif axes then
    attributes.axes = axes
  end
  return self:add(op, inputs, attributes)
end

---Returns the dtype of the n-th result.
---@param n? integer 1
---@return string dtype
function Translator:result_dtype(n) return self.call.results[n or 1].tensor.dtype end

---Sets the name of a tensor; a tensor whose value has changed gets a new one.
---@param value table
---@param name string
function Translator:set_name(value, name)
  local twins = self._by_storage[value.storage] or {}
  self._by_storage[value.storage] = twins
  twins[#twins + 1] = value.id
  self._names[value.id], self._stale[value.id] = name, nil
end

-- Returns the name of a view whose memory has changed since it was made; nil if the value is not a view.
function Translator:_name_again(value)
  local view = self._views:of(value)
  if not view then return nil end
  local name = view.again(self:operand(view.base))
  self:set_name(value, name)
  return name
end

return Translator
