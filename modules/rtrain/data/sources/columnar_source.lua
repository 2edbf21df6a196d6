-- rtrain/data/sources/columnar_source.lua: ColumnarSource: the base of sources of files that state their columns and
-- rows, and of which single columns can be read.

local FileSource = require 'rtrain.data.sources.file_source'
local image_pieces = require 'rtrain.data.sources.image_pieces'
local SelectColumns = require('rtrain.data.operators.columns').SelectColumns

---Rows of files with a schema. Arguments: owner, the function that made it; paths; {columns, include_paths, shuffle,
---partitioning, image_mode, image_size}. Subclasses have schema_of_file, parts_of_file and blocks_of.
---@class data.ColumnarSource: data.FileSource
local ColumnarSource = FileSource:extend('ColumnarSource')

function ColumnarSource:init(owner, paths, options)
  FileSource.init(self, owner, paths, options)
  self._owner, self._images = owner, {mode = options.image_mode, size = options.image_size}
  self._schema = self:schema_of_files(function(path) return self:schema_of_file(path) end)
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
function ColumnarSource:_choose(columns)
  local chosen = SelectColumns(columns, self._owner):schema_of(self._wanted_schema or all_columns(self))
  local own, names = {}, {}
  for _, entry in ipairs(chosen) do
    if self._in_file[entry.name] then own[#own + 1] = entry end
  end
  if #own == 0 then own[1] = self._schema[1] end
  for i, entry in ipairs(own) do names[i] = entry.name end
  self._schema, self._columns, self._wanted, self._wanted_schema = own, names, columns, chosen
end

function ColumnarSource:_file_schema() return self._schema end

function ColumnarSource:schema()
  if not self._wanted then return self:schema_with_path(all_columns(self)) end
  local out = {}
  for i, entry in ipairs(self._wanted_schema) do out[i] = entry end
  if self._include_paths then out[#out + 1] = {name = 'path', type = 'string'} end
  return out
end

-- Returns the parts of a file, which are found once.
local function parts_of(self, path)
  self._parts = self._parts or {}
  self._parts[path] = self._parts[path] or self:parts_of_file(path)
  return self._parts[path]
end

function ColumnarSource:fragments(context)
  local out = {}
  for _, path in ipairs(self:ordered_paths(context)) do
    for _, part in ipairs(parts_of(self, path)) do
      if part.rows > 0 then out[#out + 1] = part end
    end
  end
  return out
end

local function sum(self, name)
  local out = 0
  for _, path in ipairs(self._paths) do
    for _, part in ipairs(parts_of(self, path)) do out = out + part[name] end
  end
  return out
end

function ColumnarSource:num_rows() return sum(self, 'rows') end

---Returns the bytes of all columns, as the files state them.
---@return integer
function ColumnarSource:size_bytes() return sum(self, 'bytes') end

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

function ColumnarSource:read(fragment, options)
  local row_bytes = bytes_of_row(self, fragment)
  local max_rows = math.max(1, math.min(fragment.rows, math.floor(options.max_bytes / row_bytes)))
  if options.max_rows then max_rows = math.min(max_rows, math.max(options.max_rows, 1)) end
  return image_pieces(self._schema, self:blocks_of(fragment, max_rows), self._images, options)
end

---Returns a source that reads only these columns.
---@param names string[]
---@return data.Source|nil
function ColumnarSource:select(names)
  if self._include_paths then return nil end
  local out = self:changed{}
  out:_choose(names)
  return out
end

return ColumnarSource
