-- rtrain/data/files/huggingface.lua: the files of a folder that Hugging Face's save_to_disk wrote.

local errors = require 'base.errors'
local files = require 'rtrain.data.files'

local huggingface = {}

local function read_json(path)
  local ok, value = xpcall(require('json').decode, errors.wrap, files.read(path))
  if ok and type(value) == 'table' then return value end
  errors.raise('argument', ("from_huggingface: cannot read '%s': %s"):format(path,
    ok and 'it is not an object' or value.message))
end

local function is_file(folder, name) return files.kind(files.join(folder, name)) == 'file' end

local function raise_split(folder, splits, split)
  local known = {}
  for i, name in ipairs(splits) do known[i] = ("'%s'"):format(tostring(name)) end
  local names = table.concat(known, ', ')
  if split == nil then
    errors.raise('argument', ("from_huggingface: '%s' has several splits: say split, one of %s"):format(folder, names))
  end
  errors.raise('argument', ("from_huggingface: '%s' has no split '%s'%s; there are: %s"):format(folder, tostring(split),
    errors.suggestion(tostring(split), splits), names))
end

-- Returns the folder of a split.
local function split_folder(folder, split)
  local splits = read_json(files.join(folder, 'dataset_dict.json')).splits
  if type(splits) ~= 'table' then splits = {} end
  for _, name in ipairs(splits) do
    if type(name) == 'string' and name == (split or #splits == 1 and name) and not name:find '/' then
      return files.join(folder, name)
    end
  end
  raise_split(folder, splits, split)
end

local function check_folder(folder, given)
  if files.is_object(folder) or files.kind(folder) == 'folder' then return end
  errors.raise('not_found', ("from_huggingface: no such folder: '%s'%s"):format(given, files.looked_in(given)))
end

---Returns the Arrow files of a dataset, in the order of its rows.
---@param given string the folder
---@param split? string of a DatasetDict
---@return string[]
---Errors: 'not_found'; 'argument' for a folder that save_to_disk has not written, and for an unknown split.
function huggingface.files(given, split)
  local folder = files.absolute(given)
  check_folder(folder, given)
  if is_file(folder, 'dataset_dict.json') then
    folder = split_folder(folder, split)
  elseif split ~= nil then
    errors.raise('argument', ("from_huggingface: '%s' is a dataset without splits: leave split out"):format(given))
  end
  if not is_file(folder, 'state.json') then
    errors.raise('argument', ("from_huggingface: '%s' has no state.json: it is not a folder that save_to_disk wrote; "
      .. 'read_arrow reads Arrow files, read_parquet Parquet files'):format(folder))
  end
  local state, out = read_json(files.join(folder, 'state.json')), {}
  for i, entry in ipairs(type(state._data_files) == 'table' and state._data_files or {}) do
    local name = type(entry) == 'table' and entry.filename
    if type(name) ~= 'string' or name:find '/' then
      errors.raise('argument', ("from_huggingface: '%s/state.json' names the file %s"):format(folder, tostring(name)))
    end
    out[i] = files.join(folder, name)
  end
  if #out > 0 and state._indices_data_files == nil then return out end
  errors.raise('argument', ("from_huggingface: '%s' %s"):format(folder, #out == 0 and 'has no data files'
    or 'is of an old version of datasets, with a file of indices: save it again'))
end

return huggingface
