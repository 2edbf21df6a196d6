-- torch/onnx/views.lua: Views: tensors that share memory, which are separate values in an ONNX graph.
--
-- A write to a view makes a new value of its base; the base's other views are made again at their next use.

local class = require 'base.class'

---@class torch.onnx.Views
local Views = class('Views')

---@param translator torch.onnx.Translator
function Views:init(translator) self._translator, self._known = translator, {} end

---@param value table a tensor of the trace that is a view
---@param base table the tensor that it was made of
---@param again fun(name: string): string the graph's name of the same view of another value of the base
function Views:add(value, base, again) self._known[value.id] = {base = base, again = again} end

---@param value table
---@return {base: table, again: fun(name: string): string}? view
function Views:of(value) return self._known[value.id] end

---@param value table
---@return true? is_view
function Views:has(value) return self._known[value.id] and true end

local function is_whole(value, base)
  return value.tensor:numel() == base.tensor:numel() and value.tensor:is_contiguous() and base.tensor:is_contiguous()
end

-- Returns the base with the values of a view: each number of the base is identified by its place, and the view contains
-- some places.
local function put_back(t, view, base, name)
  local shape, flat = t:add('Shape', {base}), t.graph:integers{-1}
  local count = t:add('ReduceProd', {shape}, {keepdims = 0})
  local places = t:add('Range', {t.graph:scalar(0, 'int64'), count, t.graph:scalar(1, 'int64')})
  local taken = view.again(t:add('Reshape', {places, shape}))
  local changed = t:add('ScatterElements', {t:add('Reshape', {base, flat}), t:add('Reshape', {taken, flat}),
    t:add('Reshape', {name, flat})}, {axis = 0})
  return t:add('Reshape', {changed, shape})
end

---Updates the bases of a view after a write to it: gives them their new names.
---@param value table a tensor with a new name
---@return table<number, boolean> changed the identities of the tensors with new names, including the tensor's own
function Views:write_through(value)
  local t, changed = self._translator, {[value.id] = true}
  local view = self._known[value.id]
  while view do
    local base = t:operand(view.base)
    local name = t:operand(value)
    if is_whole(value, view.base) then
      t:set_name(view.base, t:add('Reshape', {name, t:add('Shape', {base})}))
    else
      t:set_name(view.base, put_back(t, view, base, name))
    end
    value = view.base
    changed[value.id] = true
    view = self._known[value.id]
  end
  return changed
end

return Views
