-- rtrain/data/sources/arrow_source.lua: ArrowSource: the rows of Arrow's own files and streams (IPC, Feather version 2),
-- such as datasets of Hugging Face. A fragment is some batches of a file, so that many threads can read it.

local ColumnarSource = require 'rtrain.data.sources.columnar_source'
local pieces = require 'rtrain.data.blocks.pieces'

-- Readers of this thread: the fragments of a file share its index.
local readers = setmetatable({}, {__mode = 'v'})

local function reader_of(path)
  local reader = readers[path] or require('base._arrow').open_ipc_batches(path)
  readers[path] = reader
  return reader
end

-- Batches are often small (Hugging Face: 1000 rows): some of them make a fragment.
local FRAGMENT_BYTES = 4 * 2 ^ 20

---Rows of Arrow files. Arguments: owner, the function that made it; paths; {columns, include_paths, shuffle,
---partitioning, image_mode, image_size}.
---@class data.ArrowSource: data.Source
---@overload fun(owner: string, paths: string[], options: table): data.ArrowSource
local ArrowSource = ColumnarSource:extend('ArrowSource')
ArrowSource.name = 'ReadArrow'

---Returns the columns of a file.
---@param path string
---@return {name: string, type: string}[]
function ArrowSource:schema_of_file(path) return self and reader_of(path):schema() end

---Returns the batches of a file as fragments: `first`, `batches` and `start`, the number of the first row in the file.
---@param path string
---@return table[]
function ArrowSource:parts_of_file(path)
  local out, reader, start = {}, reader_of(path), 0
  for b = 0, reader:num_batches() - 1 do
    local rows, bytes, last = reader:batch_rows(b), reader:batch_bytes(b), out[#out]
    if last and last.bytes + bytes <= FRAGMENT_BYTES then
      last.batches, last.rows, last.bytes = last.batches + 1, last.rows + rows, last.bytes + bytes
    else
      out[#out + 1] = {path = path, first = b, batches = 1, start = start, rows = rows, bytes = bytes}
    end
    start = start + rows
  end
  return self and out
end

---Returns the blocks of a fragment.
---@param fragment table
---@param max_rows integer rows of a block at most
---@return fun(): data.Block|nil
function ArrowSource:blocks_of(fragment, max_rows)
  local cursor = reader_of(fragment.path):read(fragment.first, fragment.batches, self._columns, max_rows)
  return pieces(function()
    local batch = cursor:next()
    return batch and self:block_of(batch, fragment.path)
  end, max_rows)
end

return ArrowSource
