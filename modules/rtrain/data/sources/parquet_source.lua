-- rtrain/data/sources/parquet_source.lua: ParquetSource: the rows of Parquet files. A fragment is a row group, so that
-- many threads can read a file.

local ColumnarSource = require 'rtrain.data.sources.columnar_source'

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
local ParquetSource = ColumnarSource:extend('ParquetSource')
ParquetSource.name = 'ReadParquet'

function ParquetSource:init(paths, options) ColumnarSource.init(self, 'read_parquet', paths, options) end

---Returns the columns of a file.
---@param path string
---@return {name: string, type: string}[]
function ParquetSource:schema_of_file(path) return self and reader_of(path):schema() end

---Returns the row groups of a file as fragments.
---@param path string
---@return table[]
function ParquetSource:parts_of_file(path)
  local out, reader = {}, reader_of(path)
  for g = 0, reader:num_row_groups() - 1 do
    out[g + 1] = {path = path, group = g, rows = reader:row_group_rows(g), bytes = reader:row_group_bytes(g)}
  end
  return self and out
end

function ParquetSource:describe(fragment) return ('%s, row group %d'):format(fragment.path, fragment.group) end

---Returns the blocks of a fragment.
---@param fragment table
---@param max_rows integer rows of a block at most
---@return fun(): data.Block|nil
function ParquetSource:blocks_of(fragment, max_rows)
  local cursor = reader_of(fragment.path):read(fragment.group, self._columns, max_rows)
  return function()
    local batch = cursor:next()
    return batch and self:block_of(batch, fragment.path)
  end
end

return ParquetSource
