-- rtrain/results/checkpoint_export.lua: `rtrain checkpoint export`: writes a checkpoint's tensors as one safetensors
-- file.

local errors = require 'base.errors'
local ordered = require 'base.ordered'
local state_part = require 'rtrain.results.state_part'
local tensor_file = require 'rtrain.results.tensor_file'

local checkpoint_export = {}

local function raise(...) errors.raise('usage', 'checkpoint export: ' .. (...):format(select(2, ...))) end

-- Adds every tensor below `value` to `tensors`, with names joined by dots; adds the names of other values to
-- `left_out`.
local function collect(value, name, tensors, left_out)
  if state_part.is_tensor(value) then
    tensors[name == '' and 'tensor' or name] = value
  elseif type(value) == 'table' then
    for _, key in ipairs(state_part.keys_of(value)) do
      collect(state_part.get(value, key), name == '' and tostring(key) or name .. '.' .. tostring(key), tensors, left_out)
    end
  else
    left_out[#left_out + 1] = name == '' and 'the value' or name
  end
end

---Writes the tensors of a checkpoint's state dict as a safetensors file; tensors that share memory become copies.
---@param request table {folder, files, output, metadata, file, part}: `file` and `part` are the options of the
---  command
---@return table written {file, part, tensors, left_out}
---Errors: 'usage' for an ambiguous request, or if there is no tensor; those of torch.load.
function checkpoint_export.to_safetensors(request)
  local torch = require 'torch'
  local file = tensor_file.choose(request.files, request.file, raise, '--file')
  local value = tensor_file.load(request.folder .. '/' .. file, {map_location = 'cpu', mmap = true})
  local part, part_name = state_part.choose(value, request.part, file, raise)
  local tensors, left_out = ordered.new(), {}
  collect(part, '', tensors, left_out)
  if ordered.len(tensors) == 0 then raise('%s has no tensors', part_name or file) end
  local copies = ordered.new()
  for name, tensor in ordered.items(tensors) do copies[name] = tensor:contiguous():clone() end
  torch.save_safetensors(copies, request.output, {metadata = request.metadata})
  return {file = file, part = part_name, tensors = ordered.len(tensors),
          left_out = #left_out > 0 and left_out or nil}
end

return checkpoint_export
