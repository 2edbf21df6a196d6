-- torch/onnx/translation.lua: translates the traced calls of a model to nodes of an ONNX graph.
--
-- Of nested calls the outermost one with a mapping (operators/*.lua) is translated. A result that depends on no input
-- of the model is computed during the export: its values in the trace become an initializer.

local class = require 'base.class'
local mappings = require 'torch.onnx.mappings'
local Size = require 'torch.onnx.sizes'
local traced = require 'torch.onnx.traced'
local Translator = require 'torch.onnx.translator'

---@class torch.onnx.Translation: torch.onnx.Translator
local Translation = class('Translation', Translator)

local any_tensor, each_result, field_of = traced.any_tensor, traced.each_result, traced.field_of
local has_equal_twins, is_tensor, plain_name = traced.has_equal_twins, traced.is_tensor, traced.plain_name

local NO_MAPPING = 'it has no mapping to ONNX: write it with other operators, or compute it outside of the model'

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

-- Calls fn() while the value has another name in the graph.
function Translation:_with_name(value, name, fn)
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
    self:_check_stale(value)
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
      self:set_name(result, names[at])
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
function Translation:_translate(calls)
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
function Translation:_walk(lists, is_outermost)
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
    self:set_name(value, value.name)
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

---@param traces table[] result of tracing.run
---@param input_names string[]
---@param output_names string[]
---@return torch.onnx.Graph graph
---Errors: 'unsupported', with operator, module and line.
function Translation:translate(traces, input_names, output_names)
  self._traces, self._written = traces, written_storages(traces[1].calls, traces[1].inputs)
  add_inputs(self, traces, input_names)
  self:_walk(field_of(traces, 'calls'), true)
  add_outputs(self, traces, output_names)
  self.graph:prune()
  return self.graph
end

return Translation
