-- rtrain/data/dataset/writes.lua: methods of Dataset that write a folder of part files: write_parquet, write_csv,
-- write_json, write_numpy.
--
-- Each file gets its name only when it is complete. If the dataset fails, the files that this call wrote are removed.

local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local errors = require 'base.errors'
local files = require 'rtrain.data.files'
local part_writers = require 'rtrain.data.files.part_writers'
local system = require 'base._system'

---@class rtrain.data.Dataset
local Dataset = require 'rtrain.data.dataset.base'

local FILE_BYTES = 128 * 2 ^ 20

-- Returns a file name prefix that distinguishes the files of this call from those of other calls.
local function new_prefix()
  local seed = (os.time() * 1000003 + math.floor(system.monotonic() * 1e6)) % 2 ^ 32
  return ('part-%08x'):format(seed)
end

-- Returns the folder to write into, or nil if nothing is to be written.
local function prepare(owner, a)
  if type(a.path) ~= 'string' then
    errors.raise('argument', ('%s: the path of a folder is a string, got a %s'):format(owner, type(a.path)))
  end
  local mode = args.one_of(owner .. ': mode', a.mode, {'append', 'error', 'ignore'})
  local folder = files.absolute(a.path)
  local kind = files.kind(folder)
  if kind and kind ~= 'folder' then errors.raise('argument', ("%s: '%s' is not a folder"):format(owner, a.path)) end
  if kind and mode == 'error' then errors.raise('argument', ("%s: '%s' exists already"):format(owner, a.path)) end
  if kind and mode == 'ignore' then return nil end
  files.make_folder(folder)
  return folder
end

local function remove_all(paths)
  for _, path in ipairs(paths) do files.remove(path) end
end

-- Writes the blocks to files, and starts a new file when the current one has enough rows or bytes.
local function write_blocks(execution, folder, format)
  local prefix, written, writer, rows, bytes = new_prefix(), {}, nil, 0, 0
  local function finish()
    if writer then writer:close() end
    writer, rows, bytes = nil, 0, 0
  end
  local ok, err = xpcall(function()
    for block in execution do
      if not writer then
        written[#written + 1] = files.join(folder, ('%s-%06d.%s'):format(prefix, #written, format.extension))
        writer = format.open(written[#written])
      end
      writer:write(format.convert and format.convert(block) or block)
      rows, bytes = rows + block:num_rows(), bytes + block:size_bytes()
      if format.min_rows then
        if rows >= format.min_rows then finish() end
      elseif bytes >= FILE_BYTES then
        finish()
      end
    end
    finish()
  end, errors.wrap)
  if ok then return end
  execution:close()
  if writer and writer.abort then writer:abort() end
  writer = nil
  remove_all(written)
  error(err, 0)
end

local function min_rows_of(owner, a)
  local rows = a.min_rows_per_file or a.num_rows_per_file
  return rows and checks.count(owner, 'min_rows_per_file', rows, 1)
end

local function write(self, owner, a, format)
  format.min_rows = min_rows_of(owner, a)
  local folder = prepare(owner, a)
  if folder then write_blocks(self:_execute(), folder, format) end
end

local function signature(name, ...)
  return args.signature(name, {'path', {'min_rows_per_file'}, {'num_rows_per_file'}, {'mode', 'append'}, ...})
end

-- Returns those of the named options that were given.
local function picked(a, names)
  local out = {}
  for _, name in ipairs(names) do out[name] = a[name] end
  return out
end

local function to_arrow(block) return block:to_arrow() end

local PARQUET = {'compression', 'compression_level', 'row_group_size', 'use_dictionary'}
local parquet_signature = signature('write_parquet', {'compression'}, {'compression_level'}, {'row_group_size'},
                                    {'use_dictionary', true})

---Writes Parquet files into a folder, a new file after each 128 MiB. Tensor columns become fixed-shape tensors of
---Arrow, which read_parquet and pyarrow can read. Arguments: path, {min_rows_per_file, mode = 'append' ('error',
---'ignore': if the folder exists), compression = 'snappy' ('zstd', 'gzip', 'lz4', 'none'), compression_level,
---row_group_size, use_dictionary = true}. Ray equivalent: Dataset.write_parquet.
---
---```lua
---local data = require 'rtrain.data'
---local train = require 'rtrain'
---train.tempdir(function(folder)
---  data.from_items{{x = 1, s = 'a'}, {x = 2, s = 'b'}}:write_parquet(folder)
---  assert(data.read_parquet(folder):take(2)[2].s == 'b')
---end)
---```
function Dataset:write_parquet(...)
  local a = parquet_signature:bind(...)
  local options = picked(a, PARQUET)
  write(self, 'write_parquet', a, {extension = 'parquet', convert = to_arrow, open = function(path)
    return require('base._arrow').parquet_writer(path, options)
  end})
end

local CSV = {'delimiter', 'header', 'quoting', 'null_text'}
local csv_signature = signature('write_csv', {'delimiter'}, {'header'}, {'quoting'}, {'null_text'})

---Writes CSV files into a folder: columns of numbers, booleans and strings. Arguments: path, {min_rows_per_file, mode =
---'append', delimiter = ',', header = true, quoting = 'needed' ('all', 'none'), null_text = ''}. Ray equivalent:
---Dataset.write_csv.
function Dataset:write_csv(...)
  local a = csv_signature:bind(...)
  local options = picked(a, CSV)
  write(self, 'write_csv', a, {extension = 'csv', convert = to_arrow, open = function(path)
    return require('base._arrow').csv_writer(path, options)
  end})
end

local json_signature = signature 'write_json'

---Writes files of JSON lines into a folder; tensors become arrays, NaN null. Arguments: path, {min_rows_per_file, mode =
---'append'}. Ray equivalent: Dataset.write_json.
function Dataset:write_json(...)
  write(self, 'write_json', json_signature:bind(...), {extension = 'json', open = part_writers.json})
end

local numpy_signature = signature('write_numpy', 'column')

---Writes one column as .npy files into a folder. Arguments: path, {column, min_rows_per_file, mode = 'append'}.
---Ray equivalent: Dataset.write_numpy.
function Dataset:write_numpy(...)
  local a = numpy_signature:bind(...)
  local dataset = self:select_columns{a.column}
  write(dataset, 'write_numpy', a, {extension = 'npy', open = function(path)
    return part_writers.numpy(path, a.column)
  end})
end

return Dataset
