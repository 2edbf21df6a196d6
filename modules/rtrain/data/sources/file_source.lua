-- rtrain/data/sources/file_source.lua: FileSource: the base of sources of files: their order, and the columns from
-- paths.

local Block = require 'rtrain.data.blocks.block'
local class = require 'base.class'
local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local exchange = require 'rtrain.data.exchange'
local FileShuffleConfig = require 'rtrain.data.sources.file_shuffle_config'
local index_of = require 'base.index_of'
local partitions = require 'rtrain.data.files.partitions'
local seeds = require 'base.seed'
local Source = require 'rtrain.data.sources.source'
local Strings = require 'torch.utils.data.strings'
local torch = require 'torch'

---Base of the sources of files. Arguments: owner, the function that made it; paths; {include_paths, shuffle,
---partitioning}: 'hive' for columns from the names of folders.
---@class data.FileSource: data.Source
local FileSource = Source:extend('FileSource')

local function shuffle_of(owner, shuffle)
  if shuffle == nil or class.is(shuffle, FileShuffleConfig) then return shuffle end
  if shuffle == 'files' then return FileShuffleConfig() end
  errors.raise('argument', ("%s: shuffle is 'files' or a FileShuffleConfig, got %s"):format(owner, tostring(shuffle)))
end

local function partitions_of(owner, paths, partitioning)
  if partitioning == 'hive' then return partitions.names(owner, paths) end
  if not partitioning then return {} end
  errors.raise('argument', ("%s: partitioning is 'hive' or false, got %s"):format(owner, tostring(partitioning)))
end

function FileSource:init(owner, paths, options)
  self._paths, self._include_paths = paths, options.include_paths
  self._partitions = partitions_of(owner, paths, options.partitioning)
  self._shuffle = shuffle_of(owner, options.shuffle)
  self.is_random = self._shuffle ~= nil
end

---Returns the paths in the order of an epoch.
---@param context data.ExecutionContext
---@return string[]
function FileSource:ordered_paths(context)
  local shuffle = self._shuffle
  if not shuffle then return self._paths end
  local seed = shuffle.seed or seeds.of(context.seed, #self._paths)
  local order = exchange.permutation(#self._paths, seed, shuffle.reseed_after_execution and context.epoch or 0)
  local out = {}
  for i, place in ipairs(order:row_at(torch.arange(#self._paths)):tolist()) do out[i] = self._paths[place + 1] end
  return out
end

-- Returns a fragment for each file. Sources with smaller pieces override it.
function FileSource:fragments(context)
  local out = {}
  for i, path in ipairs(self:ordered_paths(context)) do out[i] = {path = path} end
  return out
end

function FileSource:input_files()
  local out = {}
  for i, path in ipairs(self._paths) do out[i] = path end
  return out
end

---Returns the schema of the first file that has columns. If a column has no value there, its type comes from the next
---file that has some.
---@param schema_of fun(path: string): {name: string, type: string}[]
---@return {name: string, type: string}[]
function FileSource:schema_of_files(schema_of)
  local out, missing, first = {}, {}, 0
  local columns
  repeat
    first = first + 1
    columns = schema_of(self._paths[first])
  until #columns > 0 or first == #self._paths
  for i, entry in ipairs(columns) do
    out[i] = {name = entry.name, type = entry.type}
    if entry.type == 'null' then missing[entry.name] = out[i] end
  end
  for i = first + 1, #self._paths do
    if next(missing) == nil then break end
    for _, entry in ipairs(schema_of(self._paths[i])) do
      local waiting = missing[entry.name]
      if waiting and entry.type ~= 'null' then waiting.type, missing[entry.name] = entry.type, nil end
    end
  end
  return out
end

-- Whether a file may lack columns that other files have, such as optional keys of JSON lines.
FileSource.columns_are_optional = false

local function has_no_type(block, name)
  local of = block:column(name)
  return column.type_of(of) == 'object' and column.is_null(of)
end

local function any_has_no_type(block)
  for _, name in ipairs(block:names()) do
    if has_no_type(block, name) then return true end
  end
  return false
end

-- Returns the columns of a block in the order of the schema, followed by unknown columns.
local function in_order(block, schema)
  local names, known = {}, {}
  for i, entry in ipairs(schema) do names[i], known[entry.name] = entry.name, true end
  for _, name in ipairs(block:names()) do
    if not known[name] then names[#names + 1] = name end
  end
  return block:select(names)
end

-- Gives columns without a value the type that they have in other files.
local function with_types(self, block)
  local lacks_any = false
  if not self.columns_are_optional and not any_has_no_type(block) then return block end
  for _, entry in ipairs(self:_file_schema()) do
    local lacks = self.columns_are_optional and not block:has(entry.name)
    lacks_any = lacks_any or lacks
    if lacks or block:has(entry.name) and has_no_type(block, entry.name) then
      block = block:with(entry.name, column.nulls(entry.type, block:num_rows()))
    end
  end
  return lacks_any and in_order(block, self:_file_schema()) or block
end

---Returns the block of rows of a file, with the columns from its path.
---@param batch userdata a result of a reader of base._arrow
---@param path string
---@return data.Block
function FileSource:block_of(batch, path)
  return self:with_wanted(self:with_path(with_types(self, Block.from_arrow(batch)), path), self._wanted)
end

---Returns the columns of the files, see `schema`.
---@return {name: string, type: string}[]
function FileSource:_file_schema()
  errors.raise('internal', ('%s has no _file_schema()'):format(class.of(self).__name))
end

local function with_text(block, name, text)
  local list, n = {}, block:num_rows()
  for i = 1, n do list[i] = text end
  return block:with(name, Strings.from_list(list, n))
end

---Returns the block with the columns from the path: those of its folders, unless the file has them itself, and `path`,
---if requested.
---@param block data.Block
---@param path string
---@return data.Block
function FileSource:with_path(block, path)
  for _, entry in ipairs(#self._partitions > 0 and partitions.of(path) or {}) do
    if not block:has(entry.name) then block = with_text(block, entry.name, entry.value) end
  end
  return self._include_paths and with_text(block, 'path', path) or block
end

---Returns the schema with the columns of folders that the file does not have itself.
---@param schema {name: string, type: string}[]
---@return {name: string, type: string}[]
function FileSource:schema_with_partitions(schema)
  local has = {}
  for _, entry in ipairs(schema) do has[entry.name] = true end
  for _, name in ipairs(self._partitions) do
    if not has[name] then schema[#schema + 1] = {name = name, type = 'string'} end
  end
  return schema
end

---Returns the schema with the columns that with_path adds.
---@param schema {name: string, type: string}[]
---@return {name: string, type: string}[]
function FileSource:schema_with_path(schema)
  schema = self:schema_with_partitions(schema)
  if self._include_paths then schema[#schema + 1] = {name = 'path', type = 'string'} end
  return schema
end

---Returns the names without those of folder columns.
---@param names string[]
---@return string[]
function FileSource:own_names(names)
  local out = {}
  for _, name in ipairs(names) do
    if not index_of(self._partitions, name) then out[#out + 1] = name end
  end
  return out
end

---Returns the schema of the selected columns, like with_wanted.
---@param schema {name: string, type: string}[]
---@return {name: string, type: string}[]
function FileSource:schema_with_wanted(schema)
  if self._wanted == nil or #self._partitions == 0 then return schema end
  local by_name, out = {}, {}
  for _, entry in ipairs(schema) do by_name[entry.name] = entry end
  for i, name in ipairs(self._wanted) do out[i] = by_name[name] end
  if self._include_paths then out[#out + 1] = by_name.path end
  return out
end

---Returns the block with only the selected columns, if they include folder columns or leave some out.
---@param block data.Block
---@param wanted? string[] nil: all
---@return data.Block
function FileSource:with_wanted(block, wanted)
  if wanted == nil or #self._partitions == 0 then return block end
  local names = {unpack(wanted)}
  if self._include_paths then names[#names + 1] = 'path' end
  return block:select(names)
end

---Returns a source of the same kind with some fields changed.
---@param fields table
---@return data.FileSource
function FileSource:changed(fields)
  local out = setmetatable({}, getmetatable(self))
  for key, value in next, self do out[key] = value end
  for key, value in next, fields do out[key] = value end
  return out
end

return FileSource
