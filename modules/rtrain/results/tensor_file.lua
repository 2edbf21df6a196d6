-- rtrain/results/tensor_file.lua: finds the file with the tensors of a checkpoint, and reads it.

-- The index of a checkpoint of torch.distributed.checkpoint.
local INDEX = 'shards.json'

local tensor_file = {}

local LOADERS = {
  pt = function(path, options) return require('torch').load(path, options) end,
  safetensors = function(path, options)
    return require('torch').load_safetensors(path, {mmap = options.mmap, device = options.map_location})
  end,
}
LOADERS.pth, LOADERS.bin, LOADERS.ckpt = LOADERS.pt, LOADERS.pt, LOADERS.pt

-- The index says which files have which rows of the tensors.
local function load_shards(path, options)
  local folder = path:match '^(.*)/' or '.'
  return require('torch.distributed.checkpoint.whole').load(folder, options.map_location)
end

---Returns whether a file of that name is the index of a checkpoint that all ranks have written.
---@param file string
---@return boolean
function tensor_file.is_index(file) return file:match '[^/]*$' == INDEX end

local function loader_of(file)
  if tensor_file.is_index(file) then return load_shards end
  return LOADERS[file:match '%.(%w+)$' or '']
end

-- Returns whether it holds tensors of one rank, or next to an index the small state of train.state.
local function is_part(file, has_index)
  return file:find '%-rank%-%d+%.' or file:find 'shards%-%d+%-of%-%d+%.safetensors$'
    or has_index and file:find 'train_state%.pt$'
end

---Returns whether a file of that name holds tensors.
---@param file string
---@return boolean
function tensor_file.is_one(file) return loader_of(file) ~= nil end

---Returns the requested file, or the file with tensors that all ranks share.
---@param files string[] names within the checkpoint
---@param wanted? string the requested name
---@param raise fun(format: string, ...) raises an error with that message
---@param option string the option that names another file, for the message
---@return string file
function tensor_file.choose(files, wanted, raise, option)
  if wanted then
    for _, file in ipairs(files) do
      if file == wanted then
        if not loader_of(file) then raise('%s is none of .pt, .pth, .bin, .ckpt, .safetensors', file) end
        return file
      end
    end
    raise("no file '%s', the checkpoint has %s", wanted, table.concat(files, ', '))
  end
  local found, has_index = {}, false
  for _, file in ipairs(files) do has_index = has_index or tensor_file.is_index(file) end
  for _, file in ipairs(files) do
    if loader_of(file) and not is_part(file, has_index) then found[#found + 1] = file end
  end
  if #found == 1 then return found[1] end
  if #found == 0 then
    raise('the checkpoint has no file of tensors (.pt, .pth, .safetensors): it %s',
      #files > 0 and 'has ' .. table.concat(files, ', ') or 'is empty')
  end
  raise('several files may be meant, say %s: %s', option, table.concat(found, ', '))
end

---Returns the contents of the file.
---@param path string
---@param options {mmap: boolean?, map_location: string?}
---@return any value
function tensor_file.load(path, options) return loader_of(path)(path, options) end

return tensor_file
