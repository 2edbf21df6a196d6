-- rtrain/data/files/formats.lua: what the end of a file's name says about its content.

local formats = {}

local FORMATS = {
  parquet = 'parquet', csv = 'csv', json = 'json', jsonl = 'json', ndjson = 'json', txt = 'text', idx = 'idx', npy = 'numpy',
  npz = 'numpy', safetensors = 'safetensors', pt = 'pt', pth = 'pt', bin = 'pt', ckpt = 'pt', png = 'image', jpg = 'image',
  jpeg = 'image',
}

local PACKINGS = {'gz', 'zst', 'zstd', 'bz2', 'xz'}

---A name without the end that says how the file is packed.
---@param name string
---@return string
---
---```lua
---local formats = require 'rtrain.data.files.formats'
---assert(formats.unpacked_name 'rows.csv.gz' == 'rows.csv' and formats.unpacked_name 'rows.csv' == 'rows.csv')
---```
function formats.unpacked_name(name)
  for _, packing in ipairs(PACKINGS) do
    local rest = name:match('^(.*)%.' .. packing .. '$')
    if rest then return rest end
  end
  return name
end

---The format of a file: 'parquet', 'csv', 'json', 'text', 'idx', 'numpy', 'safetensors', 'pt' or 'image'.
---@param path string
---@return string? format nil where its name does not tell
---
---```lua
---local formats = require 'rtrain.data.files.formats'
---assert(formats.of '/data/rows.csv.gz' == 'csv' and formats.of 't10k-images-idx3-ubyte' == 'idx')
---```
function formats.of(path)
  local name = formats.unpacked_name(path:match('[^/]*$'):lower())
  local found = FORMATS[name:match '%.(%w+)$' or '']
  if found then return found end
  if name:find 'idx%d%-ubyte$' or name:find '%-idx%d' or name:find '%.idx%d' then return 'idx' end
  return nil
end

return formats
