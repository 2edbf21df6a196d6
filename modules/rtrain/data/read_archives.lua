-- rtrain/data/read_archives.lua: datasets of files with many samples each: read_tfrecords.

local Dataset = require 'rtrain.data.dataset'
local Plan = require 'rtrain.data.executor.plan'
local read_arguments = require 'rtrain.data.read_arguments'
local TfRecordSource = require 'rtrain.data.sources.tfrecord_source'

local files, signature = read_arguments.files, read_arguments.signature

local read_archives = {}

local tfrecords_signature = signature('read_tfrecords', {'column_types'}, {'partitioning', false})

---Returns the records of TFRecord files, each a tf.train.Example: a column for each feature, in the order of the names. The
---first 1000 records of the first file decide on its type: int64, float32 or binary for a single value, a tensor for
---equally many numbers in each record, else a list. A missing feature is null. Checksums are checked; files may be packed
---with gzip, Zstandard, bzip2 or xz. Arguments: paths (a file, a folder, a pattern, a URI or a list of these),
---{column_types ({image = 'tensor<float32>[28,28]', words = 'list<int64>', name = 'string'}), include_paths = false,
---file_extensions = {'tfrecord', 'tfrecords', 'tfrecord.gz', …}, ignore_missing_paths = false, shuffle, partitioning =
---false (or 'hive')}. Ray equivalent: ray.data.read_tfrecords.
---
---```lua
---local data = require 'rtrain.data'
---local train = require 'rtrain'
---train.tempdir(function(folder)
---  -- A record is its length, a checksum, a tf.train.Example, here {label = [7]}, and a checksum.
---  local file = io.open(folder .. '/a.tfrecord', 'wb')
---  file:write('\18\0\0\0\0\0\0\0', '$\31d%', '\10\16\10\14\10\5label\18\5\26\3\10\1\7', '\54\140\132\185')
---  file:close()
---  assert(data.read_tfrecords(folder):take(1)[1].label == 7)
---end)
---```
---@return rtrain.data.Dataset
function read_archives.read_tfrecords(...)
  local a = tfrecords_signature:bind(...)
  local list = files('read_tfrecords', a, {'tfrecord', 'tfrecords'}, {with_packed = true})
  return Dataset(Plan(TfRecordSource(list, a)))
end

return read_archives
