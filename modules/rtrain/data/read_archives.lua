-- rtrain/data/read_archives.lua: datasets of files with many samples each: read_webdataset, read_tfrecords.

local Dataset = require 'rtrain.data.dataset'
local errors = require 'base.errors'
local Plan = require 'rtrain.data.executor.plan'
local read_arguments = require 'rtrain.data.read_arguments'
local TfRecordSource = require 'rtrain.data.sources.tfrecord_source'
local WebDatasetSource = require 'rtrain.data.sources.webdataset_source'

local files, signature = read_arguments.files, read_arguments.signature

local read_archives = {}

-- Returns the decoder as whether the default one runs, and the functions that follow it.
local function decoders_of(decoder)
  local list = type(decoder) == 'table' and decoder or {decoder}
  local functions = {}
  for i, item in ipairs(list) do
    if type(item) == 'function' then
      functions[#functions + 1] = item
    elseif type(item) ~= 'boolean' or i > 1 then
      errors.raise('argument', ('read_webdataset: decoder is true, false, a function of a row, or a list of functions that '
        .. 'may begin with true, got %s'):format(type(item) == 'boolean' and 'true after a function' or tostring(item)))
    end
  end
  return list[1] == true, functions
end

local function check_choice(name, choice)
  if choice == nil or type(choice) == 'function' then return end
  local is_list = type(choice) == 'table' and #choice > 0
  for _, item in ipairs(is_list and choice or {}) do
    is_list = is_list and type(item) == (name == 'filerename' and 'function' or 'string')
  end
  if is_list then return end
  errors.raise('argument', ('read_webdataset: %s is a function or a list of %s, got %s'):format(name,
    name == 'filerename' and 'functions' or 'names and patterns',
    type(choice) == 'table' and 'another table' or tostring(choice)))
end

local webdataset_signature = signature('read_webdataset', {'decoder', true}, {'fileselect'}, {'filerename'}, {'suffixes'},
                                       {'partitioning', false})

---Returns the samples of tar archives in the form of WebDataset: neighbouring files whose names are the same up to the
---first dot are a row, with the columns `__key__`, one for each ending of their names, and `__url__`, the archive. Archives
---may be packed with gzip, Zstandard, bzip2 or xz. The columns are those of the first 1000 samples, unless `suffixes`
---names each. By default .txt gives strings, .cls int64, .json Lua values, .npy tensors, .jpg and .png images as in
---read_images, and all else bytes. Arguments: paths (a file, a folder, a pattern, a URI or a list of these), {decoder =
---true (false: bytes only; a function that gets a row and returns one; or a list {true, function, …}), fileselect (a
---list of names and patterns, or a function of a file's name), filerename (a function of a file's name, or a list of
---these), suffixes (as fileselect, for the endings), include_paths = false, file_extensions = {'tar', 'tar.gz', 'tgz', …},
---ignore_missing_paths = false, shuffle, partitioning = false (or 'hive')}. Ray equivalent: ray.data.read_webdataset.
---
---```lua
---local data = require 'rtrain.data'
---local train = require 'rtrain'
---local function member(name, text)
---  local header = name .. ('\0'):rep(100 - #name) .. ('0'):rep(24) .. ('%011o\0'):format(#text) .. ('0'):rep(12)
---  local sum = 8 * 32 + ('0'):byte()
---  for i = 1, #header do sum = sum + header:byte(i) end
---  header = header .. ('%06o\0 0'):format(sum)
---  return header .. ('\0'):rep(512 - #header) .. text .. ('\0'):rep(-#text % 512)
---end
---train.tempdir(function(folder)
---  local file = io.open(folder .. '/a.tar', 'wb')
---  file:write(member('01.txt', 'a cat'), member('01.cls', '3'), member('02.txt', 'a dog'), member('02.cls', '5'))
---  file:close()
---  local row = data.read_webdataset(folder):take(2)[2]
---  assert(row.__key__ == '02' and row.txt == 'a dog' and row.cls == 5)
---end)
---```
---@return rtrain.data.Dataset
function read_archives.read_webdataset(...)
  local a = webdataset_signature:bind(...)
  local decode, functions = decoders_of(a.decoder)
  for _, name in ipairs {'fileselect', 'filerename', 'suffixes'} do check_choice(name, a[name]) end
  local list = files('read_webdataset', a, {'tar', 'tgz'}, {with_packed = true})
  local out = Dataset(Plan(WebDatasetSource(list, {
    include_paths = a.include_paths, shuffle = a.shuffle, partitioning = a.partitioning, decode = decode,
    fileselect = a.fileselect, filerename = a.filerename, suffixes = a.suffixes})))
  for _, fn in ipairs(functions) do out = out:map(fn) end
  return out
end

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
