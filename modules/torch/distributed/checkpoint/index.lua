-- torch/distributed/checkpoint/index.lua: `shards.json`: which rows of which tensor lie in which file of a checkpoint.
--
--   {"format": "rtrain.shards", "version": 1, "save": 1790000000000, "files": 2,
--    "tensors": {"model.weight": {"path": ["model", "weight"], "dtype": "float32", "shape": [3, 4],
--                                 "parts": [[0, 0, 2], [1, 2, 1]]}},
--    "values": {"epoch": {"path": ["epoch"], "value": 7}}}
--
-- A part is file (from 0), first row, number of rows, and the tensor's name in the file if that is another one. The bytes'
-- place is in the file's header. Files of another save have another number of the save in their metadata.

local errors = require 'base.errors'
local json = require 'json'
local leaves = require 'torch.distributed.checkpoint.leaves'
local ordered = require 'base.ordered'
local read_file = require 'base.read_file'
local system = require 'base._system'
local torch = require 'torch'

local FORMAT, VERSION = 'rtrain.shards', 1

---@class checkpoint.Entry
---@field path any[]
---@field dtype string
---@field shape integer[]
---@field device string|nil 'cuda': it was on a GPU
---@field parts any[][] ordered by rows

---@class checkpoint.Index
---@field save integer the number of the save
---@field files integer
---@field tensors table<string, checkpoint.Entry>
---@field values table<string, {path: any[], value: any}>

local index = {FILE = 'shards.json'}

---@param number integer from 0
---@param count integer of all files
---@return string name
function index.part_name(number, count) return ('shards-%05d-of-%05d.safetensors'):format(number, count) end

---Returns the number of rows of a tensor; one without dimensions counts as one row.
---@param shape integer[]
---@return integer
function index.rows(shape) return #shape == 0 and 1 or shape[1] end

---Returns the number of elements of a shape.
---@param shape integer[]
---@return integer
function index.numel(shape)
  local numel = 1
  for _, size in ipairs(shape) do numel = numel * size end
  return numel
end

local function damaged(path, text, ...) errors.raise('checkpoint', ("'%s': %s"):format(path, text:format(...))) end

-- Returns what is wrong with an entry of the file; nil if nothing is.
local function problem_of(entry, files)
  if type(entry) ~= 'table' or type(entry.path) ~= 'table' or type(entry.dtype) ~= 'string' or type(entry.shape) ~= 'table'
    or type(entry.parts) ~= 'table' then
    return 'its entry is damaged'
  end
  local next_row = 0
  for _, part in ipairs(entry.parts) do
    local file, begin, count = part[1], part[2], part[3]
    if type(file) ~= 'number' or type(begin) ~= 'number' or type(count) ~= 'number' or file < 0 or file >= files
      or count < 1 then
      return 'its entry is damaged'
    end
    if begin > next_row then return ('its rows %d to %d are missing'):format(next_row, begin - 1) end
    if begin < next_row then return ('its row %d is there twice'):format(begin) end
    next_row = begin + count
  end
  local rows = index.rows(entry.shape)
  if next_row < rows and index.numel(entry.shape) > 0 then
    return ('its rows %d to %d are missing'):format(next_row, rows - 1)
  end
  return next_row > rows and ('it has more than its %d rows'):format(rows) or nil
end

---Checks that the parts of each tensor are all its rows, each once.
---@param content checkpoint.Index
---@param path string for messages
---Errors: 'checkpoint' with the tensor.
function index.check(content, path)
  for _, name in ipairs(ordered.keys_of(content.tensors)) do
    local problem = problem_of(content.tensors[name], content.files)
    if problem then damaged(path, "tensor '%s': %s", name, problem) end
  end
end

---Writes the index of a checkpoint.
---@param folder string
---@param content checkpoint.Index
function index.write(folder, content)
  system.write_file(folder .. '/' .. index.FILE, json.encode(ordered.new{
    {'format', FORMAT}, {'version', VERSION}, {'save', content.save}, {'files', content.files}, {'tensors', content.tensors},
    {'values', content.values}}) .. '\n')
end

---Returns whether the folder is such a checkpoint.
---@param folder string
---@return boolean
function index.is_in(folder) return system.path_kind(folder .. '/' .. index.FILE) == 'file' end

---Returns the index of a checkpoint.
---@param folder string
---@return checkpoint.Index
---Errors: 'checkpoint' if there is none, or with what is wrong in it.
function index.read(folder)
  local path = folder .. '/' .. index.FILE
  local text = read_file(path)
  if not text then
    errors.raise('checkpoint', ("'%s' has no %s: it is not a checkpoint of torch.distributed.checkpoint.save"):format(folder,
      index.FILE))
  end
  local ok, content = pcall(json.decode, text)
  if not ok or type(content) ~= 'table' or content.format ~= FORMAT then
    damaged(path, 'it is damaged, or another kind of file')
  end
  if content.version ~= VERSION then
    damaged(path, 'it was written by another version of rtrain (version %s, this one reads %d)', tostring(content.version),
      VERSION)
  end
  if type(content.files) ~= 'number' or type(content.tensors) ~= 'table' or type(content.values) ~= 'table' then
    damaged(path, 'it is damaged')
  end
  index.check(content, path)
  return content
end

local function put(root, path, value)
  local at = root
  for i, key in ipairs(path) do
    local is_item = type(key) == 'table'
    local own = is_item and key[1] + 1 or key
    if i == #path then
      at[own] = value
      return
    end
    if at[own] == nil then
      local next_kind = type(path[i + 1])
      at[own] = next_kind == 'table' and torch.list{} or next_kind == 'number' and setmetatable({}, torch._intmap_meta)
        or ordered.new()
    end
    at = at[own]
  end
end

---Returns the state dict of a checkpoint, with a result of `make(name, entry)` in the place of each tensor.
---@param content checkpoint.Index
---@param make fun(name: string, entry: checkpoint.Entry): any
---@return table
function index.tree(content, make)
  local root = ordered.new()
  for _, name in ipairs(ordered.keys_of(content.values)) do
    put(root, content.values[name].path, leaves.restored(content.values[name].value))
  end
  for _, name in ipairs(ordered.keys_of(content.tensors)) do
    put(root, content.tensors[name].path, make(name, content.tensors[name]))
  end
  return root
end

return index
