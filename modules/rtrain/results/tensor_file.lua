-- rtrain/results/tensor_file.lua: finds the file with the tensors of a checkpoint, and reads it.

local tensor_file = {}

local LOADERS = {
  pt = function(path, options) return require('torch').load(path, options) end,
  safetensors = function(path, options)
    return require('torch').load_safetensors(path, {mmap = options.mmap, device = options.map_location})
  end,
}
LOADERS.pth, LOADERS.bin, LOADERS.ckpt = LOADERS.pt, LOADERS.pt, LOADERS.pt

local function loader_of(file) return LOADERS[file:match '%.(%w+)$' or ''] end

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
  local found = {}
  for _, file in ipairs(files) do
    if loader_of(file) and not file:find '%-rank%-%d+%.' then found[#found + 1] = file end
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
