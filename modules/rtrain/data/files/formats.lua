-- rtrain/data/files/formats.lua: finds the format of a file by the end of its name.

local formats = {}

local FORMATS = {
  parquet = 'parquet', csv = 'csv', json = 'json', jsonl = 'json', ndjson = 'json', txt = 'text', idx = 'idx', npy = 'numpy',
  npz = 'numpy', safetensors = 'safetensors', pt = 'pt', pth = 'pt', bin = 'pt', ckpt = 'pt', png = 'image', jpg = 'image',
  jpeg = 'image', arrow = 'arrow', feather = 'arrow', ipc = 'arrow', tfrecord = 'tfrecord', tfrecords = 'tfrecord',
  tar = 'webdataset', tgz = 'webdataset',
}

local PACKINGS = {'gz', 'zst', 'zstd', 'bz2', 'xz'}

---Returns the name without the end for its compression.
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

---Returns the format of a file: 'parquet', 'csv', 'json', 'text', 'idx', 'numpy', 'safetensors', 'pt', 'image', 'arrow',
---'tfrecord' or 'webdataset'.
---@param path string
---@return string? format nil if the name does not show it
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
