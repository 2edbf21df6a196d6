-- rtrain/data/read_tables.lua: datasets of Arrow files, of folders of Hugging Face and of SQLite files: read_arrow,
-- from_huggingface, read_sql.

local args = require 'base.args'
local ArrowSource = require 'rtrain.data.sources.arrow_source'
local Dataset = require 'rtrain.data.dataset'
local errors = require 'base.errors'
local files = require 'rtrain.data.files'
local huggingface = require 'rtrain.data.files.huggingface'
local Plan = require 'rtrain.data.executor.plan'
local read_arguments = require 'rtrain.data.read_arguments'
local SqlSource = require 'rtrain.data.sources.sql_source'

local read_tables = {}

local arrow_signature = read_arguments.signature('read_arrow', {'partitioning', 'hive'}, {'columns'}, {'image_mode'},
                                                 {'image_size'})

---Returns the rows of Arrow's own files: IPC files and streams, and Feather of version 2. Only the wanted columns are
---kept, and rows are read batch by batch. Columns of images (structs of bytes and path) are decoded to uint8 (h, w, c).
---Lists and structs become Lua tables. Arguments: paths (a file, a folder, a pattern, a URI or a list of these), {columns,
---include_paths = false, file_extensions = {'arrow', 'feather', 'ipc'}, ignore_missing_paths = false, shuffle, partitioning
---= 'hive' (as for read_parquet), image_mode ('L', 'RGB', …), image_size ({height, width})}. In place of
---ray.data.from_arrow; pyarrow equivalents: pyarrow.ipc.open_file, pyarrow.ipc.open_stream and pyarrow.feather.read_table.
---
---```lua
---local data = require 'rtrain.data'
---local train = require 'rtrain'
---train.tempdir(function(folder)
---  local _C = require 'torch._C'
---  local writer = require('base._arrow').ipc_writer(folder .. '/a.arrow', {stream = true})
---  writer:write(_C.data.to_arrow({'id'}, {require('torch').arange(100)}))
---  writer:close()
---  assert(data.read_arrow(folder):sum('id') == 4950)
---end)
---```
---@return rtrain.data.Dataset
function read_tables.read_arrow(...)
  local a = arrow_signature:bind(...)
  read_arguments.check_columns('read_arrow', a)
  return Dataset(Plan(ArrowSource('read_arrow', read_arguments.files('read_arrow', a, {'arrow', 'feather', 'ipc'}), a)))
end

local huggingface_signature = args.signature('from_huggingface', {'dataset', {'split'}, {'columns'}, {'image_mode'},
                                                                  {'image_size'}})

---Returns the rows of a folder that Hugging Face's Dataset.save_to_disk or DatasetDict.save_to_disk wrote, read as by
---read_arrow. Labels of a ClassLabel are int64. Arguments: dataset (the folder, or its URI), {split (of a DatasetDict:
---'train'), columns, image_mode, image_size}. Ray equivalent: ray.data.from_huggingface; Hugging Face equivalent:
---datasets.load_from_disk.
---
---```lua
---local data = require 'rtrain.data'
---local train = require 'rtrain'
---train.tempdir(function(folder)
---  local writer = require('base._arrow').ipc_writer(folder .. '/data-00000-of-00001.arrow', {stream = true})
---  writer:write(require('torch._C').data.to_arrow({'label'}, {require('torch').arange(3)}))
---  writer:close()
---  local state = io.open(folder .. '/state.json', 'w')
---  state:write '{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}'
---  state:close()
---  assert(data.from_huggingface(folder):count() == 3)
---end)
---```
---@return rtrain.data.Dataset
function read_tables.from_huggingface(...)
  local a = huggingface_signature:bind(...)
  if type(a.dataset) ~= 'string' then
    errors.raise('argument', ('from_huggingface: dataset is the folder that save_to_disk wrote, got a %s'):format(
      type(a.dataset)))
  end
  read_arguments.check_columns('from_huggingface', a)
  return Dataset(Plan(ArrowSource('from_huggingface', huggingface.files(a.dataset, a.split), a)))
end

local sql_signature = args.signature('read_sql', {'sql', 'path', {'sql_params'}, {'column_types'}})

local SQL_TYPES = {'int64', 'float64', 'string', 'binary'}

---Returns the rows of a query on an SQLite file, in the order in which SQLite returns them; the file is opened for
---reading only. INTEGER is int64, REAL float64, TEXT string, BLOB binary; integers and reals in one column are float64.
---The first 1000 rows decide, then the declared type, unless column_types does. NULL is null. Arguments: sql (one SELECT),
---path, {sql_params (a list for the places of ?, or {name = value} for :name), column_types ({price = 'float64'})}. Each
---worker runs the query and passes over the rows of the others, so ORDER BY is needed wherever SQLite would be free to
---choose. Ray equivalent: ray.data.read_sql, which takes a function that opens a connection instead of a path.
---
---```lua
---local data = require 'rtrain.data'
---local train = require 'rtrain'
---train.tempdir(function(folder)
---  local path = folder .. '/empty.db'
---  io.open(path, 'w'):close()  -- an SQLite file without tables
---  local ds = data.read_sql('SELECT 1 + ? AS sum, :name AS name', path, {sql_params = {2, 'a'}})
---  assert(ds:take(1)[1].sum == 3 and ds:schema().types[2] == 'string')
---end)
---```
---@return rtrain.data.Dataset
function read_tables.read_sql(...)
  local a = sql_signature:bind(...)
  if type(a.sql) ~= 'string' then
    errors.raise('argument', ('read_sql: sql is a string, got a %s'):format(type(a.sql)))
  end
  if type(a.path) ~= 'string' or files.is_object(a.path) then
    errors.raise('argument', ('read_sql: path is that of an SQLite file on this machine, got %s'):format(
      type(a.path) == 'string' and a.path or 'a ' .. type(a.path)))
  end
  for _, name in ipairs {'sql_params', 'column_types'} do
    if a[name] ~= nil and type(a[name]) ~= 'table' then
      errors.raise('argument', ('read_sql: %s is a table, got a %s'):format(name, type(a[name])))
    end
  end
  for name, type_name in next, a.column_types or {} do
    args.one_of(('read_sql: column_types.%s'):format(tostring(name)), type_name, SQL_TYPES)
  end
  local path = files.absolute(a.path)
  if files.kind(path) == nil then
    errors.raise('not_found', ("read_sql: no such file: '%s'%s"):format(a.path, files.looked_in(a.path)))
  end
  return Dataset(Plan(SqlSource(a.sql, path, a)))
end

return read_tables
