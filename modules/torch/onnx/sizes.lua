-- torch/onnx/sizes.lua: Sizes: a number that differs between the traces of a model, as an expression of its dynamic
-- axes.
--
-- The first trace has the sizes of the example; in each of the next traces one axis has another size, in the last trace
-- all axes have other sizes. A number that follows one axis is a · size + b, and a number that follows several is a ·
-- size · size …; the last trace verifies the expression.

local class = require 'base.class'

---@class torch.onnx.Axis
---@field name string 'batch'
---@field values integer[] its size in each trace
---@field input string name of an input of the graph
---@field dim integer dimension of that input

---@class torch.onnx.Size
---@field values number[] in each trace
local Size = class('Size')

---@param values number[]
---@param axes torch.onnx.Axis[]
function Size:init(values, axes) self.values, self._axes = values, axes end

local function is_integer(value) return value == math.floor(value) and math.abs(value) < 2 ^ 53 end

local function value_of(expression, trace)
  local value = expression.factor
  for _, axis in ipairs(expression.axes) do value = value * axis.values[trace] end
  return value + expression.offset
end

local function of_one_axis(values, axis, trace)
  local factor = (values[trace] - values[1]) / (axis.values[trace] - axis.values[1])
  return {factor = factor, axes = {axis}, offset = values[1] - factor * axis.values[1]}
end

local function of_axes(values, axes)
  local product = 1
  for _, axis in ipairs(axes) do product = product * axis.values[1] end
  return {factor = values[1] / product, axes = axes, offset = 0}
end

---@return {factor: integer, axes: torch.onnx.Axis[], offset: integer}? expression nil if the values have no such form
function Size:expression()
  local values, followed, trace = self.values, {}, nil
  for i, axis in ipairs(self._axes) do
    if values[i + 1] ~= values[1] then followed[#followed + 1], trace = axis, i + 1 end
  end
  if #followed == 0 then return nil end
  local out = #followed == 1 and of_one_axis(values, followed[1], trace) or of_axes(values, followed)
  if not is_integer(out.factor) or not is_integer(out.offset) then return nil end
  for i = 1, #values do
    if value_of(out, i) ~= values[i] then return nil end
  end
  return out
end

---Returns the name of the size in the model's declaration: 'batch', '2*batch + 1'.
---@return string? nil if expression() is nil
function Size:text()
  local expression = self:expression()
  if not expression then return nil end
  local names = {}
  for i, axis in ipairs(expression.axes) do names[i] = axis.name end
  local text = table.concat(names, '*')
  if expression.factor ~= 1 then text = ('%d*%s'):format(expression.factor, text) end
  if expression.offset == 0 then return text end
  return ('%s %s %d'):format(text, expression.offset < 0 and '-' or '+', math.abs(expression.offset))
end

return Size
