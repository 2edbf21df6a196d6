-- torch/onnx/graph.lua: Graph: an ONNX graph under construction: nodes, and initializers (constant tensors), each with
-- a name.

local class = require 'base.class'
local ordered = require 'base.ordered'

---@class torch.onnx.Graph
---@field nodes {op: string, inputs: string[], outputs: string[], attributes: table, name: string}[]
---@field initializers table an ordered map: name → tensor
---@field inputs {name: string, dtype: string, shape: (integer|string)[]}[]
---@field outputs {name: string, dtype: string, shape: (integer|string)[]}[]
---@field scope string prefix of the names of new nodes
local Graph = class('Graph')

function Graph:init()
  self.nodes, self.initializers, self.inputs, self.outputs, self.scope = {}, ordered.new(), {}, {}, ''
  self._counts, self._scalars, self._sizes = {}, {}, {}
end

---Returns a name that the graph does not have yet.
---@param hint string
---@return string name
function Graph:fresh(hint)
  local count = self._counts[hint]
  self._counts[hint] = (count or 0) + 1
  return count and self:fresh(('%s_%d'):format(hint, count)) or hint
end

---Adds a node. Attributes are integers, lists of integers, strings, or {float = x}.
---@param op string ONNX's operator
---@param inputs string[] names; '' for an omitted input
---@param attributes? table
---@param count? integer number of outputs (1)
---@return string ... names of the outputs
function Graph:add(op, inputs, attributes, count)
  local name = self:fresh(self.scope .. op)
  local outputs = {}
  for i = 1, count or 1 do outputs[i] = self:fresh(name .. '_output_' .. i - 1) end
  self.nodes[#self.nodes + 1] = {op = op, inputs = inputs, outputs = outputs, attributes = attributes or {}, name = name}
  return unpack(outputs)
end

---@param tensor torch.Tensor
---@param name? string
---@return string name
function Graph:constant(tensor, name)
  name = self:fresh(name or self.scope .. 'Constant')
  self.initializers[name] = tensor
  return name
end

---Adds a 0-dim constant and returns its name.
---@param value number|boolean
---@param dtype string
---@return string name
function Graph:scalar(value, dtype)
  local key = ('%s %s'):format(dtype, type(value) == 'number' and ('%.17g'):format(value) or tostring(value))
  if not self._scalars[key] then
    local tensor = require('torch').full({}, value, {dtype = dtype})
    self._scalars[key] = self:constant(tensor, 'scalar')
  end
  return self._scalars[key]
end

---Adds a constant list of int64 and returns its name.
---@param values integer[]
---@return string name
function Graph:integers(values)
  local key = 'ints ' .. table.concat(values, ' ')
  if not self._scalars[key] then
    local torch = require 'torch'
    local tensor = #values == 0 and torch.empty({0}, {dtype = 'int64'}) or torch.tensor(values, {dtype = 'int64'})
    self._scalars[key] = self:constant(tensor, 'ints')
  end
  return self._scalars[key]
end

-- Returns the size of an axis of an input, as a list of one int64.
function Graph:_axis(axis)
  local shape = self:add('Shape', {axis.input})
  return self:add('Gather', {shape, self:integers{axis.dim}}, {axis = 0})
end

local function multiplied(self, expression)
  local name
  for _, axis in ipairs(expression.axes) do
    local key = axis.name
    self._sizes[key] = self._sizes[key] or self:_axis(axis)
    name = name and self:add('Mul', {name, self._sizes[key]}) or self._sizes[key]
  end
  return expression.factor == 1 and name or self:add('Mul', {name, self:integers{expression.factor}})
end

---Returns the name of a list of one int64 with the size's value.
---@param size torch.onnx.Size a size that has an expression
---@return string name
function Graph:size(size)
  local key = size:text()
  if not self._sizes[key] then
    local expression = size:expression()
    local name = multiplied(self, expression)
    if expression.offset ~= 0 then name = self:add('Add', {name, self:integers{expression.offset}}) end
    self._sizes[key] = name
  end
  return self._sizes[key]
end

---Removes nodes and initializers that no output needs.
function Graph:prune()
  local needed, kept = {}, {}
  for _, output in ipairs(self.outputs) do needed[output.name] = true end
  for i = #self.nodes, 1, -1 do
    local node, is_needed = self.nodes[i], false
    for _, name in ipairs(node.outputs) do is_needed = is_needed or needed[name] end
    if is_needed then
      for _, name in ipairs(node.inputs) do needed[name] = true end
      table.insert(kept, 1, node)
    end
  end
  local initializers = ordered.new()
  for name, tensor in ordered.items(self.initializers) do
    if needed[name] then initializers[name] = tensor end
  end
  self.nodes, self.initializers = kept, initializers
end

return Graph
