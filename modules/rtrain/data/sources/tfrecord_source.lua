-- rtrain/data/sources/tfrecord_source.lua: TfRecordSource: the records of TFRecord files, each a tf.train.Example.

local errors = require 'base.errors'
local FileSource = require 'rtrain.data.sources.file_source'

---Rows of TFRecord files: a column for each feature, in the order of their names. Arguments: paths, {include_paths,
---shuffle, partitioning, column_types}.
---@class data.TfRecordSource: data.Source
---@overload fun(paths: string[], options: table): data.TfRecordSource
local TfRecordSource = FileSource:extend('TfRecordSource')
TfRecordSource.name = 'ReadTFRecord'

local function arrow() return require 'base._arrow' end

-- Returns the types by name, as base._arrow takes them.
local function types_of(schema)
  local out = {}
  for _, entry in ipairs(schema) do out[entry.name] = entry.type end
  return out
end

-- Features with equally many numbers are tensors.
local function with_tensors(schema)
  for _, entry in ipairs(schema) do entry.type = entry.type:gsub('^list<(.*)>%[(%d+)%]$', 'tensor<%1>[%2]') end
  return schema
end

function TfRecordSource:init(paths, options)
  FileSource.init(self, 'read_tfrecords', paths, options)
  self._others = 'refuse'
  self._schema = with_tensors(self:schema_of_files(function(path)
    return arrow().open_tfrecords(path, {column_types = options.column_types}):schema()
  end))
  if #self._schema > 0 then return end
  errors.raise('argument', ("cannot read '%s': it has no record with a feature%s"):format(paths[1],
    #paths > 1 and ', and neither have the other files' or ''))
end

function TfRecordSource:_file_schema() return self._schema end

function TfRecordSource:schema()
  local out = {}
  for i, entry in ipairs(self._schema) do out[i] = {name = entry.name, type = entry.type} end
  return self:schema_with_wanted(self:schema_with_path(out))
end

function TfRecordSource:count_rows(fragment) return self and arrow().count_tfrecords(fragment.path) end

-- A part of a file is read from its first record on: those before are passed over, without a look at their bytes.
function TfRecordSource:cut(fragment, skip, count)
  local start = (fragment.start or 0) + skip
  return self and {path = fragment.path, start = start, skip = 0, count = count, rows = count}
end

function TfRecordSource:read(fragment, options)
  local cursor = arrow().open_tfrecords(fragment.path, {
    column_types = types_of(self._schema), others = self._others, first_record = fragment.start or 0,
    max_rows = options.max_rows, block_bytes = math.max(2 ^ 12, math.min(options.max_bytes, 2 ^ 22))})
  return function()
    local batch = cursor:next()
    if batch == nil then return nil end
    local block = self:block_of(batch, fragment.path)
    return self._selected and block:select(self._selected) or block
  end
end

function TfRecordSource:select(names)
  if self._include_paths or #self._partitions > 0 then return nil end
  local of, schema = {}, {}
  for _, entry in ipairs(self._schema) do of[entry.name] = entry end
  for i, name in ipairs(names) do schema[i] = of[name] end
  return self:changed{_schema = schema, _selected = names, _others = 'skip'}
end

return TfRecordSource
