-- rtrain/data/read.lua: datasets of files: read_parquet, read_csv, read_json, read_text, read_images, read_binary_files,
-- read_idx, read_numpy.

local args = require 'base.args'
local ArraySource = require 'rtrain.data.sources.array_source'
local binary = require 'rtrain.data.sources.binary_sources'
local Dataset = require 'rtrain.data.dataset'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local ParquetSource = require 'rtrain.data.sources.parquet_source'
local paths = require 'rtrain.data.files.paths'
local Plan = require 'rtrain.data.executor.plan'
local read_arguments = require 'rtrain.data.read_arguments'
local text = require 'rtrain.data.sources.text_sources'

local files, signature = read_arguments.files, read_arguments.signature

local read = {}

local parquet_signature = signature('read_parquet', {'partitioning', 'hive'}, {'columns'}, {'image_mode'}, {'image_size'})

---Returns the rows of Parquet files. Only the wanted columns are read, row group by row group, in pieces. Columns of
---images (structs of bytes and path) are decoded to uint8 (h, w, c). Lists and structs become Lua tables. Arguments:
---paths (a file, a folder, a pattern, one of these in an object store such as 's3://bucket/folder', or a list of them),
---{columns, include_paths = false, file_extensions = {'parquet'}, ignore_missing_paths = false, shuffle ('files' or a
---FileShuffleConfig), partitioning = 'hive' (folders such as 'year=2024' give columns of strings; false: none), image_mode
---('L', 'RGB', …), image_size ({height, width})}. Ray equivalent: ray.data.read_parquet.
---
---```lua
---local data = require 'rtrain.data'
---local train = require 'rtrain'
---train.tempdir(function(folder)
---  data.range(100):write_parquet(folder)
---  assert(data.read_parquet(folder):count() == 100)
---end)
---```
---@return rtrain.data.Dataset
function read.read_parquet(...)
  local a = parquet_signature:bind(...)
  read_arguments.check_columns('read_parquet', a)
  return Dataset(Plan(ParquetSource(files('read_parquet', a, {'parquet'}), a)))
end

local CSV_OPTIONS = {'delimiter', 'quote', 'escape', 'newlines_in_values', 'null_values', 'strings_can_be_null',
                     'column_types', 'header', 'column_names', 'columns', 'skip_rows'}

local csv_parameters = {}
for i, name in ipairs(CSV_OPTIONS) do csv_parameters[i] = {name} end
local csv_signature = signature('read_csv', {'partitioning', 'hive'}, unpack(csv_parameters))

---Returns the rows of CSV files. Types come from the first rows of each file, unless column_types gives them; an empty
---file is skipped. Files that are packed with gzip, Zstandard, bzip2 or xz are unpacked while they are read. Arguments:
---paths (a file, a folder, a pattern or a list of these), {include_paths = false, file_extensions = {'csv', 'tsv',
---'csv.gz', …}, ignore_missing_paths = false, shuffle, partitioning = 'hive' (folders such as 'year=2024' give columns
---of strings; false: none), delimiter = ',', quote = '"', escape, newlines_in_values = true, null_values,
---strings_can_be_null = false, column_types ({name = 'float32'}), header = true, column_names, columns, skip_rows = 0}.
---Ray equivalent: ray.data.read_csv.
---@return rtrain.data.Dataset
function read.read_csv(...)
  local a = csv_signature:bind(...)
  local csv = {}
  for _, name in ipairs(CSV_OPTIONS) do csv[name] = a[name] end
  local list = files('read_csv', a, {'csv', 'tsv'}, {with_packed = true})
  return Dataset(Plan(text.CsvSource(list, {
    include_paths = a.include_paths, shuffle = a.shuffle, partitioning = a.partitioning, csv = csv})))
end

local json_signature = signature('read_json', {'partitioning', 'hive'}, {'lines'}, {'column_types'})

---Returns the rows of files of JSON lines, or of one JSON array of objects each. Lists and objects in them become Lua
---tables. An empty file is skipped, and packed files are unpacked, as by read_csv. Arguments: paths (a file, a folder,
---a pattern or a list of these), {include_paths = false, file_extensions = {'json', 'jsonl', 'json.gz', …},
---ignore_missing_paths = false, shuffle, partitioning = 'hive' (as for read_csv), lines (both forms are recognized),
---column_types: that of a key which the first rows of a file lack}. Ray equivalent: ray.data.read_json.
---@return rtrain.data.Dataset
function read.read_json(...)
  local a = json_signature:bind(...)
  return Dataset(Plan(text.JsonSource(files('read_json', a, {'json', 'jsonl'}, {with_packed = true}), a)))
end

local text_signature = signature('read_text', {'encoding', 'utf-8'}, {'drop_empty_lines', true})

---Returns the lines of text files in the column `text`; packed files are unpacked, as by read_csv. Arguments: paths (a
---file, a folder, a pattern or a list of these), {include_paths = false, file_extensions, ignore_missing_paths = false,
---shuffle, encoding = 'utf-8', drop_empty_lines = true}. Ray equivalent: ray.data.read_text.
---@return rtrain.data.Dataset
function read.read_text(...)
  local a = text_signature:bind(...)
  if not tostring(a.encoding):lower():match '^utf%-?8$' and tostring(a.encoding):lower() ~= 'ascii' then
    errors.raise('unsupported', ("read_text: encoding '%s': texts are UTF-8 here"):format(tostring(a.encoding)))
  end
  return Dataset(Plan(text.TextSource(files('read_text', a), a)))
end

local images_signature = signature('read_images', {'size'}, {'mode'})

---Returns image files (JPEG, PNG) in the column `image`: uint8 (h, w, c); images of one size make tensors. Arguments:
---paths (a file, a folder, a pattern or a list of these), {include_paths = false, file_extensions = {'png', 'jpg',
---'jpeg'}, ignore_missing_paths = false, shuffle, size ({height, width}), mode ('L', 'RGB', 'RGBA'; default as in the
---file)}. Ray equivalent: ray.data.read_images.
---@return rtrain.data.Dataset
function read.read_images(...)
  local a = images_signature:bind(...)
  read_arguments.check_size('read_images', 'size', a.size)
  read_arguments.check_mode('read_images', 'mode', a.mode)
  return Dataset(Plan(binary.ImageSource(files('read_images', a, {'png', 'jpg', 'jpeg'}), a)))
end

local binary_signature = signature 'read_binary_files'

---Returns the bytes of files in the column `bytes`. Arguments: paths (a file, a folder, a pattern or a list of these),
---{include_paths = false, file_extensions, ignore_missing_paths = false, shuffle}. Ray equivalent: ray.data.read_binary_files.
---@return rtrain.data.Dataset
function read.read_binary_files(...)
  local a = binary_signature:bind(...)
  return Dataset(Plan(binary.BinarySource(files('read_binary_files', a), a)))
end

local array_parameters = {'paths', {'include_paths', false}, {'file_extensions'}, {'ignore_missing_paths', false}}

-- Returns the columns that the argument names: {name = paths}, else one column with the default name.
local function array_columns(owner, a, default, extensions)
  local given = a.paths
  if type(given) ~= 'table' or (#given > 0 and not ordered.is(given)) then
    return {{default, files(owner, a, extensions, {is_local = true})}}
  end
  local out = {}
  for i, name in ipairs(ordered.keys_of(given)) do
    local list = paths.expand(owner, given[name], {file_extensions = a.file_extensions or extensions, is_local = true})
    out[i] = {name, list}
    if #list ~= #out[1][2] then
      errors.raise('argument', ("%s: column '%s' has %d files and '%s' has %d"):format(owner, name, #list, out[1][1],
        #out[1][2]))
    end
  end
  return out
end

local idx_signature = args.signature('read_idx', array_parameters)

local function load_idx(path) return require('torch._C').read_idx(path) end

---Returns arrays of idx files, plain or packed with gzip, in the column `data`; {image = path, label = path} reads
---several files, one column each. They are read into memory as a whole. Arguments: paths, {include_paths = false,
---file_extensions, ignore_missing_paths = false}.
---@return rtrain.data.Dataset
function read.read_idx(...)
  local first, rest = ...
  -- A table of columns is a positional argument, although it looks like keywords.
  local a = idx_signature:bind(args.is_keywords(first) and ordered.new() or first, rest)
  a.paths = first
  return Dataset(Plan(ArraySource(array_columns('read_idx', a, 'data'), {
    name = 'ReadIdx', load = load_idx, include_paths = a.include_paths})))
end

local numpy_signature = args.signature('read_numpy', array_parameters)

local function load_numpy(path) return require('torch').load_numpy(path) end

---Returns arrays of NumPy files: .npy files in the column `data`, .npz files with one column for each array. They are
---read into memory as a whole. Arguments: paths (a file, a folder, a pattern, a list of these, or {name = path} for
---columns next to each other), {include_paths = false, file_extensions = {'npy', 'npz'}, ignore_missing_paths = false}.
---Ray equivalent: ray.data.read_numpy.
---
---```lua
---local data = require 'rtrain.data'
---local train = require 'rtrain'
---train.tempdir(function(folder)
---  data.range(10):write_numpy(folder, {column = 'id'})
---  assert(data.read_numpy(folder):sum('data') == 45)
---end)
---```
---@return rtrain.data.Dataset
function read.read_numpy(...)
  local first, rest = ...
  local a = numpy_signature:bind(args.is_keywords(first) and ordered.new() or first, rest)
  a.paths = first
  return Dataset(Plan(ArraySource(array_columns('read_numpy', a, 'data', {'npy', 'npz'}), {
    name = 'ReadNumpy', load = load_numpy, include_paths = a.include_paths})))
end

return read
