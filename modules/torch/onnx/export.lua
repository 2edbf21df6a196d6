-- torch/onnx/export.lua: torch.onnx.export: writes a model as an ONNX file.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local model_proto = require 'torch.onnx.model_proto'
local ordered = require 'base.ordered'
local torch = require 'torch'
local tracing = require 'torch.onnx.tracing'
local Translation = require 'torch.onnx.translation'

local export = {}

local signature = args.signature('torch.onnx.export', {'model', 'args', 'f', {'input_names'}, {'output_names'},
  {'dynamic_axes'}, {'opset_version', 17}, {'external_data'}})

local function fail(message, ...) errors.raise('argument', 'torch.onnx.export: ' .. message:format(...)) end

local function examples_of(given)
  local out = torch.is_tensor(given) and {given} or given
  if type(out) ~= 'table' or #out == 0 then fail('args: expected a tensor or a list of tensors, got %s', type(given)) end
  for i, example in ipairs(out) do
    if not torch.is_tensor(example) then fail('args[%d]: expected a tensor, got %s', i, type(example)) end
  end
  return out
end

local function check_names(owner, names)
  if names == nil then return end
  if type(names) ~= 'table' then fail('%s: expected a list of names, got %s', owner, type(names)) end
  local seen = {}
  for _, name in ipairs(names) do
    if type(name) ~= 'string' or seen[name] then fail('%s: expected names that differ, got %s', owner, tostring(name)) end
    seen[name] = true
  end
end

local function input_names_of(given, examples)
  check_names('input_names', given)
  if given and #given ~= #examples then fail('input_names: %d names for %d inputs', #given, #examples) end
  local out = {}
  for i = 1, #examples do out[i] = given and given[i] or #examples == 1 and 'input' or 'input_' .. i - 1 end
  return out
end

-- Returns an axis for each name in dynamic_axes, with its places in the inputs.
local function axes_of(dynamic_axes, names, examples)
  local place_of, axes = {}, ordered.new()
  for i, name in ipairs(names) do place_of[name] = i end
  local function add(input, dim, axis_name)
    local size = examples[input]:size(dim)
    local axis = axes[axis_name] or {name = axis_name, size = size, input = names[input], dim = dim, places = {}}
    if axis.size ~= size then
      fail("dynamic_axes: the axis '%s' has size %d in '%s' and %d in '%s'", axis_name, axis.size, axis.input, size,
        names[input])
    end
    table.insert(axis.places, {input = input, dim = dim})
    axes[axis_name] = axis
  end
  if dynamic_axes == nil then
    for i, example in ipairs(examples) do
      if example:dim() > 0 then add(i, 0, 'batch') end
    end
  end
  for _, name in ipairs(dynamic_axes and ordered.keys_of(dynamic_axes) or {}) do
    local input, dims = place_of[name], dynamic_axes[name]
    if input then
      if type(dims) ~= 'table' then fail("dynamic_axes.%s: expected {[0] = 'batch'}, got %s", tostring(name), type(dims)) end
      for _, dim in ipairs(ordered.keys_of(dims)) do
        if type(dim) ~= 'number' or dim < -examples[input]:dim() or dim >= examples[input]:dim() then
          fail("dynamic_axes.%s: the input has dimensions 0 to %d, got %s", name, examples[input]:dim() - 1, tostring(dim))
        end
        if type(dims[dim]) ~= 'string' then fail("dynamic_axes.%s[%d]: expected a name, got %s", name, dim, type(dims[dim])) end
        add(input, dim % examples[input]:dim(), dims[dim])
      end
    end
  end
  local out = {}
  for _, axis in ordered.items(axes) do out[#out + 1] = axis end
  return out
end

local function output_names_of(given, outputs, inputs)
  check_names('output_names', given)
  if #outputs == 0 then fail('the model returned no tensor') end
  if given and #given ~= #outputs then fail('output_names: %d names for %d outputs', #given, #outputs) end
  local taken, out = {}, {}
  for _, name in ipairs(inputs) do taken[name] = true end
  for i, output in ipairs(outputs) do
    out[i] = given and given[i] or output.name or #outputs == 1 and 'output' or 'output_' .. i - 1
    if taken[out[i]] then fail("output_names: an input has the name '%s' too", out[i]) end
  end
  return out
end

-- Raises an error for a name in dynamic_axes that the graph lacks.
local function check_axis_names(dynamic_axes, inputs, outputs)
  local names = {}
  for _, list in ipairs{inputs, outputs} do
    for _, name in ipairs(list) do names[#names + 1] = name end
  end
  for _, name in ipairs(dynamic_axes and ordered.keys_of(dynamic_axes) or {}) do
    args.one_of('torch.onnx.export: dynamic_axes', name, names)
  end
end

-- Returns identity of each parameter and buffer → its name in the state dict.
local function parameters_of(model)
  local identity, out = require('torch._C').profiler.identity, {}
  if not class.is(model, require('torch.nn.module').Module) then return out end
  for _, walk in ipairs{'named_parameters', 'named_buffers'} do
    for name, tensor in model[walk](model) do out[identity(tensor)] = name end
  end
  return out
end

-- Calls fn() with the model and all its modules in eval() mode, and restores their modes.
local function in_eval(model, fn)
  if not class.is(model, require('torch.nn.module').Module) then return fn() end
  local modes = {}
  for _, module in model:named_modules() do modes[#modes + 1] = {module, module.training} end
  model:eval()
  local ok, value = xpcall(fn, errors.wrap)
  for _, entry in ipairs(modes) do entry[1].training = entry[2] end
  if not ok then error(value, 0) end
  return value
end

---Writes a model as an ONNX file, which onnxruntime and many other programs run. PyTorch equivalent: torch.onnx.export.
---
---The model is called with the example and its operators are recorded, in eval mode and without gradients. So Lua code
---in `forward` runs during the export, and its prints, counters and decisions by shapes are not in the file. A
---number that it reads out of a tensor, as x:item() does, raises an error if it depends on an input. For each dynamic
---axis the model is also called with other sizes, and numbers that follow an axis are computed in the graph. Parameters
---and buffers become initializers with their names in state_dict. A value that depends on no input becomes a constant.
---
---Arguments: model (an nn.Module or a function), args (a tensor or a list of tensors: the example arguments of the
---model), f (the path of the file), {input_names ('input', or 'input_0', …), output_names ('output', or 'output_0', …
---or the names of the fields of the model's result), dynamic_axes = {input_name = {[0] = 'batch', [2] = 'length'}}
---(without it the first dimension of each input is 'batch'; {} for no dynamic axis), opset_version = 17 (17 to 21),
---external_data (true: the values of the parameters go to `<f>.data`; default: only if the model has more than 2 GB)}.
---@param ... any
---
---```lua
---local torch = require 'torch'
---local model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
---local path = os.tmpname()
---torch.onnx.export(model, torch.randn(3, 4), path, {input_names = {'features'}, output_names = {'logits'}})
---```
---
---Errors: 'unsupported' for an operator without a mapping to ONNX, or a number that follows a dynamic axis where ONNX
---requires a constant; the message names the module and the line of the script. 'argument' for a model that does not
---accept another size of a dynamic axis. 'environment' if the file cannot be written.
function export.export(...)
  local a = signature:bind(...)
  if type(a.f) ~= 'string' then fail('f: expected a path, got %s', type(a.f)) end
  if not model_proto.has_opset(a.opset_version) then fail('opset_version: 17 to 21, got %s', tostring(a.opset_version)) end
  local examples = examples_of(a.args)
  local input_names = input_names_of(a.input_names, examples)
  local axes = axes_of(a.dynamic_axes, input_names, examples)
  tracing.plan(axes)
  local graph = in_eval(a.model, function()
    local traces = tracing.run(a.model, examples, axes)
    local output_names = output_names_of(a.output_names, traces[1].outputs, input_names)
    check_axis_names(a.dynamic_axes, input_names, output_names)
    local translation = Translation{axes = axes, parameters = parameters_of(a.model), opset_version = a.opset_version}
    return translation:translate(traces, input_names, output_names)
  end)
  model_proto.write(graph, {path = a.f, name = class.of(a.model) and class.of(a.model).__name or 'model',
                            opset_version = a.opset_version, external_data = a.external_data})
end

return export
