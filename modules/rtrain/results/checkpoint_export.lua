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

-- Returns the contents of the file, and where the bytes of tensors lie that are on the device 'meta'.
local function contents_of(path)
  if tensor_file.is_index(path) then
    return require('torch.distributed.checkpoint.whole').outline(path:match '^(.*)/')
  end
  return tensor_file.load(path, {map_location = 'cpu', mmap = true}), {}
end

---Writes the tensors of a checkpoint's state dict as a safetensors file, one after the other; of tensors that share
---memory each is written. What all ranks have written is copied from their files.
---@param request table {folder, files, output, metadata, file, part}: `file` and `part` are the options of the
---  command
---@return table written {file, part, tensors, left_out}
---Errors: 'usage' for an ambiguous request, or if there is no tensor; those of torch.load.
function checkpoint_export.to_safetensors(request)
  local file = tensor_file.choose(request.files, request.file, raise, '--file')
  local value, places = contents_of(request.folder .. '/' .. file)
  local part, part_name = state_part.choose(value, request.part, file, raise)
  local tensors, left_out = ordered.new(), {}
  collect(part, '', tensors, left_out)
  if ordered.len(tensors) == 0 then raise('%s has no tensors', part_name or file) end
  local joined = {}
  for name, tensor in ordered.items(tensors) do
    joined[#joined + 1] = places[tensor] and {name = name, dtype = tensor.dtype, shape = {unpack(tensor.shape)},
                                              parts = places[tensor]} or {name = name, tensor = tensor}
  end
  require('torch._C')._join_safetensors(joined, request.output, request.metadata)
  return {file = file, part = part_name, tensors = ordered.len(tensors),
          left_out = #left_out > 0 and left_out or nil}
end

return checkpoint_export
