-- rtrain/data/files/part_writers.lua: the writers of write_json and write_numpy. Like the writers of base._arrow they
-- have write(block) and close(), and the file appears under its name when it is closed.

local Block = require 'rtrain.data.blocks.block'
local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local ffi = require 'ffi'
local files = require 'rtrain.data.files'
local json_text = require 'rtrain.data.files.json_text'

local part_writers = {}

-- Opens a hidden file, which gets its name at the end; an object has no name before it is complete. If a stop is raised
-- right after the file was created, abort() is never called, and the garbage collector removes the file.
local function open_hidden(part)
  if files.is_object(part.path) then
    part.file = require('base._arrow').object_writer(part.path)
    return
  end
  part.hidden = part.path:gsub('([^/]*)$', '.%1.tmp', 1)
  part.guard = newproxy(true)
  getmetatable(part.guard).__gc = function()
    if part.hidden then os.remove(part.hidden) end
  end
  local file, why = io.open(part.hidden, 'wb')
  if not file then
    part.hidden = nil
    errors.raise('environment', ('cannot write %s'):format(why))
  end
  part.file = file
end

local function check_write(path, ok, why)
  if not ok then errors.raise('environment', ("cannot write '%s': %s"):format(path, tostring(why))) end
end

-- The common base of the two writers.
local Part = {}
Part.__index = Part

local function new_part(class, path)
  local part = setmetatable({path = path}, class)
  open_hidden(part)
  return part
end

---Removes the unfinished file.
function Part:abort()
  if not self.file or self.file == io.stdout then return end
  if self.hidden then self.file:close() else self.file:release() end
  self.file = nil
  if self.hidden then os.remove(self.hidden) end
  self.hidden = nil
end

---Gives the file its name.
function Part:publish()
  if self.file == io.stdout then return check_write(self.path, io.stdout:flush()) end
  local ok, why = self.file:close()
  self.file = nil
  if ok and self.hidden then ok, why = os.rename(self.hidden, self.path) end
  if not ok and self.hidden then os.remove(self.hidden) end
  self.hidden = nil
  check_write(self.path, ok, why)
end

local JsonPart = setmetatable({}, {__index = Part})
JsonPart.__index = JsonPart

---Creates a writer of JSON lines.
---@param path string
---@return table writer
function part_writers.json(path) return new_part(JsonPart, path) end

---Creates a writer of JSON lines to stdout.
---@return table writer
function part_writers.json_to_stdout() return setmetatable({path = 'stdout', file = io.stdout}, JsonPart) end

local function row_text(names, columns, i)
  local out = {}
  for k, name in ipairs(names) do out[k] = json_text.of(name) .. ':' .. json_text.of(columns[k][i]) end
  return '{' .. table.concat(out, ',') .. '}\n'
end

---Writes a line for each row.
---@param block data.Block
function JsonPart:write(block)
  local names, columns, lines = block:names(), {}, {}
  for k, name in ipairs(names) do
    local of = block:column(name)
    if column.type_of(of) == 'binary' then
      errors.raise('argument', ("write_json: column '%s' holds bytes, which JSON has not"):format(name))
    end
    columns[k] = column.values(of)
  end
  for i = 1, block:num_rows() do lines[i] = row_text(names, columns, i) end
  check_write(self.path, self.file:write(table.concat(lines)))
end

---Completes the file.
function JsonPart:close() self:publish() end

local DESCR = {bool = '|b1', uint8 = '|u1', int8 = '|i1', int16 = '<i2', int32 = '<i4', int64 = '<i8', float16 = '<f2',
               float32 = '<f4', float64 = '<f8', uint16 = '<u2', uint32 = '<u4', uint64 = '<u8', complex64 = '<c8',
               complex128 = '<c16'}

local NumpyPart = setmetatable({}, {__index = Part})
NumpyPart.__index = NumpyPart

---Creates a writer of a .npy file with one column. It holds the blocks until it is closed.
---@param path string
---@param name string
---@return table writer
function part_writers.numpy(path, name)
  local part = new_part(NumpyPart, path)
  part.name, part.blocks = name, {}
  return part
end

---Adds the rows.
---@param block data.Block
function NumpyPart:write(block) self.blocks[#self.blocks + 1] = block:select{self.name} end

-- Returns the header of format version 1.0: magic, length, and a dictionary padded so that the data begins at a
-- multiple of 64.
local function header(tensor)
  local sizes = tensor:size()
  local shape = table.concat(sizes, ', ') .. (#sizes == 1 and ',' or '')
  local text = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }"):format(DESCR[tensor.dtype], shape)
  local padding = (64 - (10 + #text + 1) % 64) % 64
  local length = #text + padding + 1
  return '\147NUMPY\1\0' .. string.char(length % 256, math.floor(length / 256)) .. text .. (' '):rep(padding) .. '\n'
end

local CHUNK = 2 ^ 20

---Completes the file.
function NumpyPart:close()
  local of = Block.concat(self.blocks):column(self.name)
  if column.is_masked(of) then
    if of:has_null() then
      errors.raise('argument', ("write_numpy: column '%s' is %s and has rows that are null, which an array has not: give them "
        .. 'a value before, or leave them out with filter'):format(self.name, column.type_of(of)))
    end
    of = of.data
  end
  if not column.is_tensor(of) or not DESCR[of.dtype] then
    errors.raise('argument', ("write_numpy: column '%s' is not an array but %s"):format(self.name, column.type_of(of)))
  end
  local tensor = of:contiguous()
  check_write(self.path, self.file:write(header(tensor)))
  local bytes, from = tensor:numel() * tensor:element_size(), ffi.cast('const char *', tensor:data_ptr())
  for at = 0, bytes - 1, CHUNK do
    check_write(self.path, self.file:write(ffi.string(from + at, math.min(CHUNK, bytes - at))))
  end
  self:publish()
end

return part_writers
