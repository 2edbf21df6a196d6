-- rtrain/data/sources/parquet_source.lua: ParquetSource: the rows of Parquet files. A fragment is a row group, so that
-- many threads can read a file.

local errors = require 'base.errors'
local FileSource = require 'rtrain.data.sources.file_source'
local images = require 'rtrain.data.columns.images'
local SelectColumns = require('rtrain.data.operators.columns').SelectColumns

-- Readers of this thread: the row groups of a file share its footer.
local readers = setmetatable({}, {__mode = 'v'})

local function reader_of(path)
  local reader = readers[path] or require('base._arrow').open_parquet(path)
  readers[path] = reader
  return reader
end

---Rows of Parquet files. Arguments: paths, {columns, include_paths, shuffle, partitioning, image_mode, image_size}.
---@class data.ParquetSource: data.Source
---@overload fun(paths: string[], options: table): data.ParquetSource
local ParquetSource = FileSource:extend('ParquetSource')
ParquetSource.name = 'ReadParquet'

function ParquetSource:init(paths, options)
  FileSource.init(self, 'read_parquet', paths, options)
  self._images = {mode = options.image_mode, size = options.image_size}
  self._schema = self:schema_of_files(function(path) return reader_of(path):schema() end)
  self._in_file = {}
  for _, entry in ipairs(self._schema) do self._in_file[entry.name] = true end
  if options.columns then self:_choose(options.columns) end
end

-- Returns the columns except `path`.
local function all_columns(self)
  local out = {}
  for i, entry in ipairs(self._schema) do out[i] = entry end
  return self:schema_with_partitions(out)
end

-- Selects these columns; wrong names raise an error. At least one column of the file is always read: it gives the
-- number of rows.
function ParquetSource:_choose(columns)
  local chosen = SelectColumns(columns, 'read_parquet'):schema_of(self._wanted_schema or all_columns(self))
  local own, names = {}, {}
  for _, entry in ipairs(chosen) do
    if self._in_file[entry.name] then own[#own + 1] = entry end
  end
  if #own == 0 then own[1] = self._schema[1] end
  for i, entry in ipairs(own) do names[i] = entry.name end
  self._schema, self._columns, self._wanted, self._wanted_schema = own, names, columns, chosen
end

function ParquetSource:_file_schema() return self._schema end

function ParquetSource:schema()
  if not self._wanted then return self:schema_with_path(all_columns(self)) end
  local out = {}
  for i, entry in ipairs(self._wanted_schema) do out[i] = entry end
  if self._include_paths then out[#out + 1] = {name = 'path', type = 'string'} end
  return out
end

-- Returns the rows and bytes of a file's row groups, which are read once.
local function groups_of(self, path)
  self._groups = self._groups or {}
  local groups = self._groups[path]
  if groups then return groups end
  groups = {}
  local reader = reader_of(path)
  for g = 0, reader:num_row_groups() - 1 do
    groups[g + 1] = {rows = reader:row_group_rows(g), bytes = reader:row_group_bytes(g)}
  end
  self._groups[path] = groups
  return groups
end

function ParquetSource:fragments(context)
  local out = {}
  for _, path in ipairs(self:ordered_paths(context)) do
    for i, group in ipairs(groups_of(self, path)) do
      if group.rows > 0 then
        out[#out + 1] = {path = path, group = i - 1, rows = group.rows, bytes = group.bytes}
      end
    end
  end
  return out
end

function ParquetSource:num_rows()
  local rows = 0
  for _, path in ipairs(self._paths) do
    for _, group in ipairs(groups_of(self, path)) do rows = rows + group.rows end
  end
  return rows
end

---Returns the decompressed bytes of all columns, as the files state them.
---@return integer
function ParquetSource:size_bytes()
  local bytes = 0
  for _, path in ipairs(self._paths) do
    for _, group in ipairs(groups_of(self, path)) do bytes = bytes + group.bytes end
  end
  return bytes
end

function ParquetSource:describe(fragment) return ('%s, row group %d'):format(fragment.path, fragment.group) end

-- Returns the names of the columns with images.
local function image_columns(self)
  local out = {}
  for _, entry in ipairs(self._schema) do
    if entry.type == 'image' then out[#out + 1] = entry.name end
  end
  return out
end

local function decode_error(err, name, first_row)
  local text = err.message:gsub('image (%d+)', function(i) return ('row %d'):format(first_row + i) end, 1)
  err.message = ("column '%s': %s"):format(name, text)
  error(err, 0)
end

local function decoded(block, names, options, first_row)
  for _, name in ipairs(names) do
    local ok, of = xpcall(images.decode, errors.wrap, block:column(name), options)
    if not ok then decode_error(of, name, first_row) end
    block = block:with(name, of)
  end
  return block
end

-- The size of encoded images is unknown: the first piece is small, and its size determines the following pieces.
local FIRST_PIECE = 16

local function decoded_pieces(self, next_block, names, options)
  local block, start, rows, first_row = nil, 0, FIRST_PIECE, 0
  return function()
    if block == nil or start == block:num_rows() then
      first_row = first_row + (block and block:num_rows() or 0)
      block, start = next_block(), 0
      if block == nil then return nil end
    end
    local count = math.min(rows, block:num_rows() - start, options.max_rows or math.huge)
    local out = decoded(block:narrow(start, count), names, self._images, first_row + start)
    start = start + count
    rows = math.max(1, math.min(1024, math.floor(options.max_bytes * count / math.max(out:size_bytes(), 1))))
    return out
  end
end

local WIDTHS = {bool = 1, int8 = 1, uint8 = 1, int16 = 2, uint16 = 2, float16 = 2, int32 = 4, uint32 = 4, float32 = 4}

-- Returns the bytes of a row of numbers in memory. A dictionary may make it much smaller in the file.
local function width_of(entry)
  local element, sizes = entry.type:match '^tensor<([%w]+)>%[([%d,]+)%]$'
  local bytes = WIDTHS[element or entry.type] or 8
  for size in (sizes or ''):gmatch '%d+' do bytes = bytes * tonumber(size) end
  return bytes
end

local function bytes_of_row(self, fragment)
  local bytes = 0
  for _, entry in ipairs(self._schema) do bytes = bytes + width_of(entry) end
  return math.max(bytes, fragment.bytes / fragment.rows)
end

function ParquetSource:read(fragment, options)
  local row_bytes = bytes_of_row(self, fragment)
  local max_rows = math.max(1, math.min(fragment.rows, math.floor(options.max_bytes / row_bytes)))
  if options.max_rows then max_rows = math.min(max_rows, math.max(options.max_rows, 1)) end
  local cursor = reader_of(fragment.path):read(fragment.group, self._columns, max_rows)
  local function next_block()
    local batch = cursor:next()
    return batch and self:block_of(batch, fragment.path)
  end
  local names = image_columns(self)
  if #names == 0 then return next_block end
  return decoded_pieces(self, next_block, names, options)
end

---Returns a source that reads only these columns.
---@param names string[]
---@return data.Source|nil
function ParquetSource:select(names)
  if self._include_paths then return nil end
  local out = self:changed{}
  out:_choose(names)
  return out
end

return ParquetSource
