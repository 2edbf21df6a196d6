-- rtrain/data/sources/image_pieces.lua: decodes the columns of images in the blocks of a file.

local errors = require 'base.errors'
local images = require 'rtrain.data.columns.images'

-- Returns the names of the columns with images.
local function image_columns(schema)
  local out = {}
  for _, entry in ipairs(schema) do
    if entry.type == 'image' then out[#out + 1] = entry.name end
  end
  return out
end

local function decode_error(err, name, first_row)
  local text = err.message:gsub('image (%d+)', function(i) return ('row %d'):format(first_row + i) end, 1)
  err.message = ("column '%s': %s"):format(name, text)
  error(err, 0)
end

local function decoded(block, names, image_options, first_row)
  for _, name in ipairs(names) do
    local ok, of = xpcall(images.decode, errors.wrap, block:column(name), image_options)
    if not ok then decode_error(of, name, first_row) end
    block = block:with(name, of)
  end
  return block
end

-- The size of encoded images is unknown: the first piece is small, and its size determines the following pieces.
local FIRST_PIECE = 16

---Returns the stream with decoded images, in pieces within the limits of a block; without a column of images the same
---stream. Errors name the column and the row.
---@param schema {name: string, type: string}[] of the blocks
---@param next_block fun(): data.Block|nil
---@param image_options {mode: string?, size: integer[]?}
---@param options {max_bytes: integer, max_rows: integer?}
---@return fun(): data.Block|nil
local function image_pieces(schema, next_block, image_options, options)
  local names = image_columns(schema)
  if #names == 0 then return next_block end
  local block, start, rows, first_row = nil, 0, FIRST_PIECE, 0
  return function()
    if block == nil or start == block:num_rows() then
      first_row = first_row + (block and block:num_rows() or 0)
      block, start = next_block(), 0
      if block == nil then return nil end
    end
    local count = math.min(rows, block:num_rows() - start, options.max_rows or math.huge)
    local out = decoded(block:narrow(start, count), names, image_options, first_row + start)
    start = start + count
    rows = math.max(1, math.min(1024, math.floor(options.max_bytes * count / math.max(out:size_bytes(), 1))))
    return out
  end
end

return image_pieces
