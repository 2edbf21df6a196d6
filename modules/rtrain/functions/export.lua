-- rtrain/functions/export.lua: train.export: writes a trained model to a file for other programs.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'

local ONNX_FIELDS = {'args', 'input_names', 'output_names', 'dynamic_axes', 'opset_version', 'external_data'}
-- File extension → format.
local FORMATS = {onnx = 'onnx', safetensors = 'safetensors', pt = 'state_dict', pth = 'state_dict', bin = 'state_dict'}
local FIELDS = {'format', 'metadata', unpack(ONNX_FIELDS)}

local function fail(message, ...) errors.raise('argument', 'train.export: ' .. message:format(...)) end

local function format_of(path, format)
  if format ~= nil then return args.one_of('train.export: format', format, {'onnx', 'safetensors', 'state_dict'}) end
  local known = FORMATS[path:match '%.(%w+)$' or '']
  return known or fail("format: 'onnx', 'safetensors' or 'state_dict', which the path '%s' does not say", path)
end

-- Returns the model itself, without the wrapper of prepare_model.
local function unwrapped(model)
  local Module = require('torch.nn.module').Module
  if class.is(model, Module) then return require('rtrain.torch').unwrap(model) end
  return model
end

local function state_of(model)
  if class.is(model, require('torch.nn.module').Module) then return model:state_dict() end
  if type(model) == 'table' and not class.of(model) then return model end
  fail('expected a module, or a state dict, got %s', class.of(model) and class.of(model).__name or type(model))
end

-- Copies tensors that share memory, such as tied weights: safetensors has no shared tensors.
local function separate(state)
  local torch = require 'torch'
  local identity, seen, out = require('torch._C').profiler.identity, {}, ordered.new()
  for _, name in ipairs(ordered.keys_of(state)) do
    local tensor = state[name]
    if not torch.is_tensor(tensor) then fail("safetensors holds tensors only, '%s' is a %s", tostring(name), type(tensor)) end
    local _, storage = identity(tensor)
    out[name] = seen[storage] and tensor:detach():clone() or tensor:detach()
    seen[storage] = true
  end
  return out
end

local function check_options(format, options)
  for _, name in ipairs(ONNX_FIELDS) do
    if options[name] ~= nil and format ~= 'onnx' then fail("%s is for format = 'onnx', this is '%s'", name, format) end
  end
  if options.metadata ~= nil and format ~= 'safetensors' then
    fail("metadata is for format = 'safetensors', this is '%s'", format)
  end
  if format == 'onnx' and options.args == nil then
    fail('args: a model becomes ONNX by being called: pass an example of its input, args = torch.randn(1, 3, 224, 224)')
  end
end

local WRITERS = {
  onnx = function(model, path, options)
    require('torch.onnx').export(model, options.args, path, {input_names = options.input_names,
      output_names = options.output_names, dynamic_axes = options.dynamic_axes, opset_version = options.opset_version,
      external_data = options.external_data})
  end,
  safetensors = function(model, path, options)
    require('torch').save_safetensors(separate(state_of(model)), path, {metadata = options.metadata or {format = 'pt'}})
  end,
  state_dict = function(model, path) require('torch').save(state_of(model), path) end,
}

---Writes a model for other programs: 'onnx' for onnxruntime and similar programs (torch.onnx.export lists the
---operators), 'safetensors' and 'state_dict' for Python, where `model.load_state_dict` takes the result of
---safetensors.torch.load_file or torch.load(weights_only=True). For a model from prepare_model the wrapped model is
---written. In a train function only one rank should call it: `if train.get_context():get_world_rank() == 0`.
---@param model nn.Module|table the model; a state dict for 'safetensors' and 'state_dict', a function for 'onnx'
---@param path string the file; it is replaced only when the new file is complete
---@param options? table format (default: by the extension of the path: .onnx, .safetensors, .pt, .pth, .bin); for
---  'onnx' args (required), input_names, output_names, dynamic_axes, opset_version, external_data of torch.onnx.export;
---  for 'safetensors' metadata, strings by name
---Errors: 'argument' for a wrong option; 'unsupported' for an operator that ONNX cannot express; 'environment' if the
---file cannot be written.
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local model = torch.nn.Linear(4, 2)
---train.tempdir(function(dir)
---  train.export(model, dir .. '/model.onnx', {args = torch.randn(1, 4), input_names = {'x'}, output_names = {'y'}})
---  train.export(model, dir .. '/model.safetensors')
---  assert(torch.load_safetensors(dir .. '/model.safetensors').weight.shape[2] == 4)
---end)
---```
local function export(model, path, options)
  if type(path) ~= 'string' then fail('path: expected a string, got %s', type(path)) end
  options = args.options(options, FIELDS, 'train.export')
  local format = format_of(path, options.format)
  check_options(format, options)
  WRITERS[format](unwrapped(model), path, options)
end

return export
