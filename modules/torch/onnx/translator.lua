-- torch/onnx/translator.lua: translates the traced calls of a model to nodes of an ONNX graph.
--
-- Of nested calls the outermost one with a mapping (operators/*.lua) is translated. A result that depends on no input
-- of the model is computed during the export: its values in the trace become an initializer. Numbers that differ
-- between the traces follow dynamic axes, and become nodes that compute them.

local class = require 'base.class'
local errors = require 'base.errors'
local Graph = require 'torch.onnx.graph'
local mappings = require 'torch.onnx.mappings'
local Size = require 'torch.onnx.sizes'
local traced = require 'torch.onnx.traced'
local Views = require 'torch.onnx.views'

---@class torch.onnx.Translator what a mapping is given first
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

local any_tensor, each_result, field_of = traced.any_tensor, traced.each_result, traced.field_of
local has_equal_twins, is_tensor = traced.has_equal_twins, traced.is_tensor

local NO_MAPPING = 'it has no mapping to ONNX: write it with other operators, or compute it outside of the model'

local PACKED = 'ONNX has no packed sequences: they go from pack_padded_sequence through RNN, GRU and LSTM to ' ..
  'pad_packed_sequence, and nowhere else'

Translator.is_tensor = is_tensor

local function plain_name(call) return (call.name:gsub('^aten::', '')) end

---Raises that the call has no form in ONNX.
---@param message string a format
---@param ... any its values
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

-- Merges a value of the traces: tensors know their twins, and a number that differs becomes a Size.
local function merged(self, values)
  local first = values[1]
  if is_tensor(first) then
    local twins = {}
    for i = 2, #self._traces do
      if not is_tensor(values[i]) then self:fail('it gets a tensor in one trace and none in another') end
      twins[i] = values[i]
    end
    first.twins = twins
    return first
  elseif type(first) == 'table' then
    local out = {}
    for i = 1, #first do
      local items = {}
      for k = 1, #self._traces do
        if type(values[k]) ~= 'table' or #values[k] ~= #first then
          self:fail('it gets as many values as a dynamic axis has items, and a graph of ONNX has a fixed number')
        end
        items[k] = values[k][i]
      end
      out[i] = merged(self, items)
    end
    return out
  elseif type(first) == 'number' then
    for k = 2, #self._traces do
      if values[k] ~= first then return Size(values, self._axes) end
    end
  end
  return first
end

-- Returns the arguments of a call in the form for its mapping.
local function merged_arguments(self, calls)
  local names, out = {}, {}
  for name in next, calls[1].arguments do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local values = {}
    for i, call in ipairs(calls) do values[i] = call.arguments[name] end
    out[name] = merged(self, values)
  end
  return out
end

---@param value table a tensor of the trace
---@return string dtype
function Translator:dtype(value) return value.tensor.dtype end

---@param value table
---@return integer
function Translator:rank(value) return value.tensor:dim() end

---The sizes of a tensor, a number or a Size each.
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

---The size of a dimension, which has to be the same in every trace.
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

---Refuses a number that follows a dynamic axis.
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

---A list of int64 for a list of numbers and Sizes.
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

local function check_stale(self, value)
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

---The graph's name of an argument.
---@param value table|number|boolean|torch.onnx.Size a tensor of the trace, or a number
---@param dtype? string the one that it is needed in; its own without
---@return string name
function Translator:operand(value, dtype)
  if value == nil then return '' end
  if class.is(value, Size) then return number_of_size(self, value, dtype or 'int64') end
  if not is_tensor(value) then return self.graph:scalar(value, dtype or 'float32') end
  if self._packed[value.id] then self:fail(PACKED) end
  local name = self._names[value.id] or self:_name_again(value)
  if not name then
    check_stale(self, value)
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

---Whether the tensor depends on an input of the model.
---@param value table
---@return boolean
function Translator:is_computed(value)
  return is_tensor(value) and (self._names[value.id] or self._packed[value.id] or self._views:has(value)) ~= nil
end

---Whether the tensor's values, not only its sizes, depend on an input of the model.
---@param value table
---@return boolean
function Translator:follows_input(value) return self._follows_input[value.id] == true end

---Returns the graph's form of the data of a packed sequence: the padded form.
---@param value table
---@return {padded: string, lengths: string, size: integer|torch.onnx.Size, is_clean: boolean} size: the longest there may be
function Translator:packed(value) return self._packed[value.id] or self:fail(PACKED) end

---Says what the graph has of the data of a packed sequence.
---@param value table
---@param form table as packed() returns it
function Translator:set_packed(value, form) self._packed[value.id] = form end

---Adds a node of the graph: Graph:add.
---@param ... any
---@return string ... names of the outputs
function Translator:add(...) return self.graph:add(...) end

---The name with the shape of a traced tensor.
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

---A reduction of ONNX, whose axes are an input from opset 18 on; those of sums are one in any case.
---@param op string
---@param name string
---@param axes? integer[] all without
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

---The dtype of the n-th result.
---@param n? integer 1
---@return string dtype
function Translator:result_dtype(n) return self.call.results[n or 1].tensor.dtype end

local function name_value(self, value, name)
  local twins = self._by_storage[value.storage] or {}
  self._by_storage[value.storage] = twins
  twins[#twins + 1] = value.id
  self._names[value.id], self._stale[value.id] = name, nil
end

---Gives a tensor another name: its value has changed.
---@param value table
---@param name string
function Translator:set_name(value, name) name_value(self, value, name) end

-- Returns the name of a view whose memory has changed since it was made; nil if the value is not a view.
function Translator:_name_again(value)
  local view = self._views:of(value)
  if not view then return nil end
  local name = view.again(self:operand(view.base))
  name_value(self, value, name)
  return name
end

-- Calls fn() while the value has another name in the graph.
function Translator:_with_name(value, name, fn)
  local kept, call = self._names[value.id], self.call
  self._names[value.id] = name
  local results = fn()
  self._names[value.id], self.call = kept, call
  return results
end

local function check_written(self, call)
  for _, argument in ipairs(call.writes) do
    local value = call.arguments[argument]
    if is_tensor(value) and not self:is_computed(value) then
      self:fail('it changes in place what the model does not make of its input: change a clone() of it')
    end
  end
end

-- After an in-place call, whose tensors now have the new values' names, marks tensors that share memory with them as
-- changed.
local function mark_changed(self, call)
  for _, argument in ipairs(call.writes) do
    local value = call.arguments[argument]
    if is_tensor(value) then
      if self._used[value.storage] then self:fail('it changes a constant in place that has been used before') end
      local changed = self._views:write_through(value)
      for _, id in ipairs(self._by_storage[value.storage] or {}) do
        if not changed[id] then
          self._names[id] = nil
          self._stale[id] = plain_name(call)
        end
      end
      self._stale[value.storage] = plain_name(call)
    end
  end
end

-- Returns whether the call is computed during the export: it depends on no input, and all traces have the same values.
local function is_constant(self, call, calls)
  local function is_named(value)
    if self:is_computed(value) then return true end
    check_stale(self, value)
    return false
  end
  if any_tensor(call.arguments, is_named) then return false end
  local is_same = true
  merged(self, field_of(calls, 'results'))
  each_result(call.results, function(result)
    is_same = is_same and not self._written[result.storage] and has_equal_twins(result)
  end)
  return is_same
end

local function check_written_constants(self, call)
  for _, argument in ipairs(call.writes) do
    local value = call.arguments[argument]
    if is_tensor(value) and self._used[value.storage] then
      self:fail('it changes a constant in place that has been used before')
    end
  end
end

local function scope_of(outer)
  local path = outer.module and outer.module:match '^in (%S+)'
  return path and path .. '/' or ''
end

-- Returns the names of the results, or nil if the call has no mapping.
local function map(self, call, calls)
  local mapping = mappings.of(plain_name(call))
  if not mapping then return nil end
  self.graph.scope = scope_of(self.outer)
  merged(self, field_of(calls, 'results'))
  local names = {mapping(self, merged_arguments(self, calls), call)}
  if names[1] == nil then return nil end
  return type(names[1]) == 'table' and names[1] or names
end

local function follows_input(self, call)
  return any_tensor(call.arguments, function(value) return self._follows_input[value.id] end)
end

-- Stores how a result that is a view of an argument is made of a new value of the argument.
local function add_view(self, calls, result, at)
  local call = calls[1]
  any_tensor(call.arguments, function(value)
    if value.storage ~= result.storage or value.id == result.id or not self:is_computed(value) then return false end
    local outer = self.outer
    self._views:add(result, value, function(name)
      return self:_with_name(value, name, function()
        self.call, self.outer = call, outer
        return map(self, call, calls)[at]
      end)
    end)
    return true
  end)
end

local function name_results(self, calls, names)
  local call = calls[1]
  local at, follows = 0, follows_input(self, call)
  each_result(call.results, function(result)
    at = at + 1
    self._follows_input[result.id] = follows
    if names[at] then
      name_value(self, result, names[at])
      if #call.writes == 0 then add_view(self, calls, result, at) end
    end
  end)
  if #call.writes > 0 then mark_changed(self, call) end
end

local function check_results(self, call)
  each_result(call.results, function(result)
    if not self:is_computed(result) and not has_equal_twins(result) then
      self:fail(NO_MAPPING)
    end
  end)
end

-- Operators that make a Lua number from the values of a tensor.
local READS_VALUES = {_local_scalar_dense = true, item = true, is_nonzero = true, equal = true, allclose = true}

-- Returns whether the call only returns shapes or dtypes, which the traces contain.
local function returns_no_tensor(call)
  local found = false
  each_result(call.results, function() found = true end)
  return not found and #call.writes == 0
end

-- Translates a call, given as the same call of each trace.
function Translator:_translate(calls)
  local call = calls[1]
  self.call = call
  if is_constant(self, call, calls) then return check_written_constants(self, call) end
  if READS_VALUES[plain_name(call)] and follows_input(self, call) then
    self:fail('it makes a number of Lua of what depends on the input, and a graph of ONNX cannot follow that')
  end
  if returns_no_tensor(call) then return end
  check_written(self, call)
  local names = map(self, call, calls)
  if names then return name_results(self, calls, names) end
  if #call.calls == 0 then
    self:fail(NO_MAPPING)
  end
  self:_walk(field_of(calls, 'calls'))
  self.call = call
  check_results(self, call)
end

-- Translates the lists of calls of all traces, which must be the same operators.
function Translator:_walk(lists, is_outermost)
  for i, call in ipairs(lists[1]) do
    local calls = {}
    for k, list in ipairs(lists) do
      calls[k] = list[i]
      if not list[i] or list[i].name ~= call.name or #list ~= #lists[1] then
        if not is_outermost then self:fail(NO_MAPPING) end
        self.call, self.outer = call, call
        self:fail('the model calls other operators (%s) for another size of a dynamic axis, or other values of an input',
          list[i] and plain_name(list[i]) or 'fewer')
      end
    end
    if is_outermost then self.outer = call end
    self:_translate(calls)
  end
end

local function declared_shape(self, value)
  local out = {}
  for i, size in ipairs(self:shape(value)) do
    out[i] = type(size) == 'number' and size or size:text() or ('%s_%d'):format(value.name, i - 1)
  end
  return out
end

-- Returns an input or output of the model as a traced value.
local function known(traces, field, i)
  local identity = require('torch._C').profiler.identity
  local function value_of(trace)
    local tensor = field == 'inputs' and trace.inputs[i] or trace.outputs[i].tensor
    local id, storage = identity(tensor)
    return {id = id, storage = storage, tensor = tensor}
  end
  local out = value_of(traces[1])
  out.twins = {}
  for k = 2, #traces do out.twins[k] = value_of(traces[k]) end
  return out
end

local function add_inputs(self, traces, names)
  for i, name in ipairs(names) do
    local value = known(traces, 'inputs', i)
    value.name = self.graph:fresh(name)
    name_value(self, value, value.name)
    self._follows_input[value.id] = true
    table.insert(self.graph.inputs, {name = value.name, dtype = value.tensor.dtype, shape = declared_shape(self, value)})
  end
end

local function add_outputs(self, traces, names)
  for i, name in ipairs(names) do
    local value = known(traces, 'outputs', i)
    self.call = {name = 'output ' .. name}
    self.outer = {}
    value.name = self.graph:fresh(name)
    local from = self:operand(value)
    self.graph.nodes[#self.graph.nodes + 1] = {op = 'Identity', inputs = {from}, outputs = {value.name}, attributes = {},
                                              name = self.graph:fresh('output/' .. name)}
    table.insert(self.graph.outputs, {name = value.name, dtype = value.tensor.dtype, shape = declared_shape(self, value)})
  end
end

-- Returns the storages to which calls write values that depend on the inputs: they hold no constants, whatever the
-- traces show.
local function written_storages(calls, inputs)
  local follows, written = {}, {}
  for _, input in ipairs(inputs) do follows[select(2, require('torch._C').profiler.identity(input))] = true end
  local function walk(list)
    for _, call in ipairs(list) do
      if any_tensor(call.arguments, function(value) return follows[value.storage] == true end) then
        each_result(call.results, function(result) follows[result.storage] = true end)
        for _, argument in ipairs(call.writes) do
          local value = call.arguments[argument]
          if is_tensor(value) then follows[value.storage], written[value.storage] = true, true end
        end
      end
      walk(call.calls)
    end
  end
  walk(calls)
  return written
end

---@param traces table[] of tracing.run
---@param input_names string[]
---@param output_names string[]
---@return torch.onnx.Graph graph
---Errors: 'unsupported', naming operator, module and line.
function Translator:translate(traces, input_names, output_names)
  self._traces, self._written = traces, written_storages(traces[1].calls, traces[1].inputs)
  add_inputs(self, traces, input_names)
  self:_walk(field_of(traces, 'calls'), true)
  add_outputs(self, traces, output_names)
  self.graph:prune()
  return self.graph
end

return Translator
