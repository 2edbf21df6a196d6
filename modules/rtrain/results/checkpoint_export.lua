-- rtrain/results/checkpoint_export.lua: a checkpoint's tensors as one safetensors file, for `rtrain checkpoints RUN export`.

local errors = require 'base.errors'
local ordered = require 'base.ordered'
local tensor_file = require 'rtrain.results.tensor_file'

local checkpoint_export = {}

-- Where scripts keep a model's state dict; the first that is there counts. The second is train.state's.
local MODEL_PARTS = {'model', 'parts.model', 'model_state_dict', 'state_dict'}

local function raise(...) errors.raise('usage', 'checkpoints export: ' .. (...):format(select(2, ...))) end

local function is_tensor(value) return type(value) == 'userdata' and require('torch').is_tensor(value) end

local function is_list(value) return type(value) == 'table' and not ordered.is(value) and #value > 0 end

-- Of a list 0, 1, …, as Python counts.
local function keys_of(value)
  if type(value) ~= 'table' then return {} end
  if not is_list(value) then return ordered.keys_of(value) end
  local keys = {}
  for i = 1, #value do keys[i] = i - 1 end
  return keys
end

local function get(value, key)
  if is_list(value) then return value[tonumber(key) + 1] end
  return value[key]
end

-- Every tensor below `value` as an entry of `tensors`, names joined by dots; names of other values go to `left_out`.
local function collect(value, name, tensors, left_out)
  if is_tensor(value) then
    tensors[name == '' and 'tensor' or name] = value
  elseif type(value) == 'table' then
    for _, key in ipairs(keys_of(value)) do
      collect(get(value, key), name == '' and tostring(key) or name .. '.' .. tostring(key), tensors, left_out)
    end
  else
    left_out[#left_out + 1] = name == '' and 'the value' or name
  end
end

-- The value under 'a.b', or nil.
local function find_part(value, part)
  for key in part:gmatch '[^.]+' do
    if type(value) ~= 'table' or is_list(value) and not tonumber(key) then return nil end
    local inner = get(value, key)
    if inner == nil and tonumber(key) then inner = get(value, tonumber(key)) end
    value = inner
  end
  return value
end

local function has_tensors(value)
  local tensors = ordered.new()
  collect(value, '', tensors, {})
  return ordered.len(tensors) > 0
end

local function is_state_dict(value)
  if type(value) ~= 'table' then return false end
  for _, key in ipairs(keys_of(value)) do
    if not is_tensor(get(value, key)) then return false end
  end
  return #keys_of(value) > 0
end

local function choose_part(value, wanted, file)
  if wanted then
    local part = find_part(value, wanted)
    if part ~= nil then return part, wanted end
    local names = {}
    for _, key in ipairs(keys_of(value)) do names[#names + 1] = tostring(key) end
    raise("%s has no part '%s', it has %s", file, wanted, table.concat(names, ', '))
  end
  if is_state_dict(value) then return value, nil end
  for _, name in ipairs(MODEL_PARTS) do
    local part = find_part(value, name)
    if type(part) == 'table' and has_tensors(part) then return part, name end
  end
  return value, nil
end

---Writes the tensors of a checkpoint's state dict as a safetensors file; tensors that share memory become copies.
---@param request table {folder, files, output, metadata, file, part}: `file` and `part` as the options of the command say
---@return table written {file, part, tensors, left_out}
---Errors: 'usage' where it is not clear what is meant, or there is no tensor; those of torch.load.
function checkpoint_export.to_safetensors(request)
  local torch = require 'torch'
  local file = tensor_file.choose(request.files, request.file, raise, '--file')
  local value = tensor_file.load(request.folder .. '/' .. file, {map_location = 'cpu', mmap = true})
  local part, part_name = choose_part(value, request.part, file)
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
