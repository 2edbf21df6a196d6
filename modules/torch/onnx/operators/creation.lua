-- torch/onnx/operators/creation.lua: new tensors whose shape follows a dynamic axis. Other new tensors are constants.

local creation = {}

local function filled(t, value, call)
  return t:add('Expand', {t:operand(value, t:result_dtype()), t:sizes(t:shape(call.results[1]))})
end

for name, value in next, {zeros = 0, ones = 1, zeros_like = 0, ones_like = 1, new_zeros = 0, new_ones = 1, zero = 0} do
  creation[name] = function(t, _, call) return filled(t, value, call) end
end
-- The values of these are arbitrary.
for _, name in ipairs{'empty', 'empty_like', 'new_empty'} do creation[name] = creation.zeros end
for _, name in ipairs{'full', 'full_like', 'new_full', 'fill'} do
  creation[name] = function(t, a, call) return filled(t, a.fill_value or a.value, call) end
end

creation.arange = function(t, a)
  local dtype = t:result_dtype()
  return t:add('Range', {t:operand(a.start or 0, dtype), t:operand(a['end'], dtype), t:operand(a.step or 1, dtype)})
end

return creation
