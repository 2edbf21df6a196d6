-- text/models/weights.lua: the tensors of a folder: model.safetensors, or shards with an index.

local errors = require 'base.errors'
local json = require 'json'
local ordered = require 'base.ordered'
local read_file = require 'base.read_file'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'
local write_file = require 'base.write_file'

local weights = {}

local ONE = 'model.safetensors'
local INDEX = 'model.safetensors.index.json'
local MAX_SHARD_BYTES = 5e9

local function exists(path)
  local file = io.open(path, 'rb')
  if file then file:close() end
  return file ~= nil
end

local function read_shards(folder)
  local index = json.decode(read_file(folder .. '/' .. INDEX))
  local map = type(index) == 'table' and index.weight_map
  if type(map) ~= 'table' then
    errors.raise('argument', ("%s/%s: there is no 'weight_map'"):format(folder, INDEX))
  end
  local files, out = {}, ordered.new()
  for _, name in ipairs(ordered.keys_of(map)) do
    local file = map[name]
    if type(file) ~= 'string' or file:find '[/\\]' then
      errors.raise('argument', ('%s/%s: %s: expected the name of a file in this folder'):format(folder, INDEX, tostring(name)))
    end
    files[file] = files[file] or torch.load_safetensors(folder .. '/' .. file, {mmap = true})
    local tensor = files[file][name]
    if not tensor then
      errors.raise('argument', ("%s/%s: it has no tensor '%s', which %s says"):format(folder, file, name, INDEX))
    end
    out[name] = tensor
  end
  return out
end

---Returns name → tensor, in the order of the files. The values stay in the files until they are used.
---@param folder string
---@return table
---Errors: 'not_found' without weights; 'argument' for a damaged file, or an index that names what is not there.
function weights.read(folder)
  if exists(folder .. '/' .. ONE) then return torch.load_safetensors(folder .. '/' .. ONE, {mmap = true}) end
  if exists(folder .. '/' .. INDEX) then return read_shards(folder) end
  if exists(folder .. '/pytorch_model.bin') then return torch.load(folder .. '/pytorch_model.bin', {mmap = true}) end
  errors.raise('not_found', ('%s: there is neither %s nor %s'):format(folder, ONE, INDEX))
end

---Returns the state dict of a model for its files. That of a sharded model is gathered from all ranks, which all call
---this: rank 0 has it, in the memory of the CPU.
---@param model nn.Module
---@return table|nil state nil on the other ranks, which write nothing
function weights.state_of(model)
  if not shards.any(model:parameters()) then return model:state_dict() end
  local distributed = torch.distributed
  local options = {full_state_dict = true, cpu_offload = true}
  local state = distributed.checkpoint.state_dict.get_model_state_dict(model, options)
  return distributed.get_rank() == 0 and state or nil
end

local function bytes_of(tensor) return tensor:numel() * tensor:element_size() end

---Writes name → tensor: one file, or several of at most 5 GB with an index.
---@param folder string
---@param tensors table
---@param max_shard_bytes? integer
function weights.write(folder, tensors, max_shard_bytes)
  local files, size, total = {ordered.new()}, 0, 0
  for _, name in ipairs(ordered.keys_of(tensors)) do
    local bytes = bytes_of(tensors[name])
    if size > 0 and size + bytes > (max_shard_bytes or MAX_SHARD_BYTES) then
      files[#files + 1], size = ordered.new(), 0
    end
    files[#files][name] = tensors[name]
    size, total = size + bytes, total + bytes
  end
  local metadata = {metadata = {format = 'pt'}}
  if #files == 1 then return torch.save_safetensors(files[1], folder .. '/' .. ONE, metadata) end
  local map = ordered.new()
  for i, part in ipairs(files) do
    local file = ('model-%05d-of-%05d.safetensors'):format(i, #files)
    torch.save_safetensors(part, folder .. '/' .. file, metadata)
    for _, name in ipairs(ordered.keys_of(part)) do map[name] = file end
  end
  write_file(folder .. '/' .. INDEX, json.encode(ordered.new {
    {'metadata', {total_size = total}}, {'weight_map', map}}, {indent = 2}) .. '\n')
end

return weights
