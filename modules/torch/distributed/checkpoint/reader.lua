-- torch/distributed/checkpoint/reader.lua: reads rows of tensors from the files of a checkpoint: only their bytes.
--
-- First the tensors to fill are added, which finds their parts; then the files' headers are checked; then values are read.

local class = require 'base.class'
local errors = require 'base.errors'
local index = require 'torch.distributed.checkpoint.index'

---@class checkpoint.Reader
---@field content checkpoint.Index
---@overload fun(folder: string): checkpoint.Reader
local Reader = class 'Reader'

---@param folder string
function Reader:init(folder)
  self.folder, self.content = folder, index.read(folder)
  self._reads = {}  -- by number of the file + 1
  self._reads_of = {}  -- by name, ordered by rows
end

local function raise(text, ...) errors.raise('checkpoint', text:format(...)) end

local function shape_text(shape) return '[' .. table.concat(shape, ', ') .. ']' end

---Plans to fill a tensor.
---@param name string in the checkpoint
---@param tensor torch.Tensor the whole tensor, or some of its rows
---@param rows? {sizes: integer[], begin: integer, count: integer} which rows of which whole tensor it is
---Errors: 'checkpoint' if the checkpoint has no such tensor, or one of another dtype or shape.
function Reader:add(name, tensor, rows)
  local entry = self.content.tensors[name]
  if not entry then raise("the checkpoint '%s' has no tensor '%s'", self.folder, name) end
  local wanted = {unpack(rows and rows.sizes or tensor.shape)}
  if entry.dtype ~= tensor.dtype or shape_text(entry.shape) ~= shape_text(wanted) then
    raise("tensor '%s' of '%s' is %s %s: it does not fit into %s %s", name, self.folder, entry.dtype, shape_text(entry.shape),
      tensor.dtype, shape_text(wanted))
  end
  self._reads_of[name] = {}
  local begin = rows and rows.begin or 0
  local stop = rows and begin + rows.count or index.rows(wanted)
  for _, part in ipairs(entry.parts) do
    local first, last = math.max(begin, part[2]), math.min(stop, part[2] + part[3])
    if first < last and tensor:numel() > 0 then
      local target = tensor:detach()
      if #wanted > 0 then target = target:narrow(0, first - begin, last - first) end
      local list = self._reads[part[1] + 1] or {}
      self._reads[part[1] + 1] = list
      local read = {name = part[4] or name, entry = entry, part = part, target = target, row = first - part[2]}
      list[#list + 1] = read
      table.insert(self._reads_of[name], read)
    end
  end
end

-- Returns the shape of a part in its file.
local function shape_of_part(entry, part)
  if #entry.shape == 0 then return {} end
  local shape = {unpack(entry.shape)}
  shape[1] = part[3]
  return shape
end

local function path_of(self, number) return self.folder .. '/' .. index.part_name(number, self.content.files) end

local function header_of(self, number)
  local name = index.part_name(number, self.content.files)
  local ok, tensors, metadata = pcall(require('torch._C')._safetensors_header, path_of(self, number))
  if not ok then
    local problem = type(tensors) == 'table' and tensors.message or tostring(tensors)
    raise("the checkpoint '%s' is damaged: %s: %s", self.folder, name, problem)
  end
  if metadata.rtrain_save ~= ('%d'):format(self.content.save) then
    raise("the checkpoint '%s' is damaged: %s belongs to another save than %s, or was not written to its end", self.folder,
      name, index.FILE)
  end
  local wanted = ('%d of %d'):format(number + 1, self.content.files)
  if metadata.rtrain_part ~= wanted then
    raise("the checkpoint '%s' is damaged: %s is part %s, not part %s", self.folder, name, tostring(metadata.rtrain_part),
      wanted)
  end
  return tensors, name
end

-- Finds the place of what is read in the file.
local function locate(self, read, tensors, file)
  local found = tensors[read.name]
  if not found then raise("the checkpoint '%s' is damaged: %s has no tensor '%s'", self.folder, file, read.name) end
  local shape = shape_of_part(read.entry, read.part)
  if found.dtype ~= read.entry.dtype or shape_text(found.shape) ~= shape_text(shape) then
    raise("the checkpoint '%s' is damaged: tensor '%s' of %s is %s %s, not %s %s as %s says", self.folder, read.name, file,
      found.dtype, shape_text(found.shape), read.entry.dtype, shape_text(shape), index.FILE)
  end
  local row_size = read.target:element_size()
  for i = 2, #shape do row_size = row_size * shape[i] end
  read.offset, read.row_size = found.offset + read.row * row_size, row_size
end

---Checks the files with what is to be read, and finds the place of each part in them.
---Errors: 'checkpoint' with the file, and the tensor, that are missing, damaged or of another save.
function Reader:check()
  for number = 0, self.content.files - 1 do
    local list = self._reads[number + 1]
    if list then
      local tensors, file = header_of(self, number)
      for _, read in ipairs(list) do locate(self, read, tensors, file) end
    end
  end
end

---Returns where the bytes of a tensor that was added lie, in their order, after check.
---@param name string
---@return {path: string, offset: integer, size: integer}[]
function Reader:places(name)
  local places = {}
  for i, read in ipairs(self._reads_of[name]) do
    local rows = #read.entry.shape == 0 and 1 or read.target.shape[1]
    places[i] = {path = path_of(self, read.part[1]), offset = read.offset, size = read.row_size * rows}
  end
  return places
end

---Reads the values, after check.
function Reader:read()
  for number = 0, self.content.files - 1 do
    local list = self._reads[number + 1]
    if list then
      local offsets, targets = {}, {}
      for i, read in ipairs(list) do offsets[i], targets[i] = read.offset, read.target end
      require('torch._C')._read_tensors(path_of(self, number), offsets, targets)
    end
  end
end

return Reader
