-- torch/onnx/mappings.lua: ATen's operators → the functions that make nodes of their calls.
--
-- A mapping gets the translator, the call's arguments by ATen's names (tensors in the form of the trace; numbers that
-- follow a dynamic axis as Sizes), and the call. It returns the graph's names of the results, or a list of them; nil to
-- translate the nested calls of operators instead.

local mappings = {}

local FILES = {'torch.onnx.operators.elementwise', 'torch.onnx.operators.arithmetic', 'torch.onnx.operators.shapes',
               'torch.onnx.operators.indexing', 'torch.onnx.operators.scattering', 'torch.onnx.operators.creation',
               'torch.onnx.operators.products', 'torch.onnx.operators.convolution', 'torch.onnx.operators.normalization',
               'torch.onnx.operators.pooling', 'torch.onnx.operators.reductions', 'torch.onnx.operators.recurrent'}
local known

local function load()
  known = {}
  for _, file in ipairs(FILES) do
    for name, mapping in next, require(file) do known[name] = mapping end
  end
end

---@param name string 'relu'; 'relu_' gives the same mapping
---@return function? mapping
function mappings.of(name)
  if not known then load() end
  return known[name] or known[name:gsub('([^_])_$', '%1')]
end

return mappings
