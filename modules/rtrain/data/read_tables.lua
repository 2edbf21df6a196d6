-- rtrain/data/read_tables.lua: datasets of Arrow files and of folders of Hugging Face: read_arrow, from_huggingface.

local args = require 'base.args'
local ArrowSource = require 'rtrain.data.sources.arrow_source'
local Dataset = require 'rtrain.data.dataset'
local errors = require 'base.errors'
local huggingface = require 'rtrain.data.files.huggingface'
local Plan = require 'rtrain.data.executor.plan'
local read_arguments = require 'rtrain.data.read_arguments'

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

return read_tables
