-- rtrain/data/file_source.lua: what sources of files have in common: their order, and the column with the path.

local Block = require 'rtrain.data.block'
local class = require 'base.class'
local column = require 'rtrain.data.column'
local errors = require 'base.errors'
local exchange = require 'rtrain.data.exchange'
local FileShuffleConfig = require 'rtrain.data.file_shuffle_config'
local seeds = require 'base.seed'
local Source = require 'rtrain.data.source'
local Strings = require 'torch.utils.data.strings'
local torch = require 'torch'

---Base of the sources of files. Arguments: owner, the function that made it; paths; {include_paths, shuffle}.
---@class data.FileSource: data.Source
local FileSource = Source:extend('FileSource')

local function shuffle_of(owner, shuffle)
  if shuffle == nil or class.is(shuffle, FileShuffleConfig) then return shuffle end
  if shuffle == 'files' then return FileShuffleConfig() end
  errors.raise('argument', ("%s: shuffle is 'files' or a FileShuffleConfig, got %s"):format(owner, tostring(shuffle)))
end

function FileSource:init(owner, paths, options)
  self._paths, self._include_paths = paths, options.include_paths
  self._shuffle = shuffle_of(owner, options.shuffle)
  self.is_random = self._shuffle ~= nil
end

---The paths in the order of an epoch.
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

-- A fragment for each file: sources with smaller pieces override it.
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

---The schema of the first file, with the types of columns that have no value there from the next files that have some.
---@param schema_of fun(path: string): {name: string, type: string}[]
---@return {name: string, type: string}[]
function FileSource:schema_of_files(schema_of)
  local out, missing = {}, {}
  for i, entry in ipairs(schema_of(self._paths[1])) do
    out[i] = {name = entry.name, type = entry.type}
    if entry.type == 'null' then missing[entry.name] = out[i] end
  end
  for i = 2, #self._paths do
    if next(missing) == nil then break end
    for _, entry in ipairs(schema_of(self._paths[i])) do
      local waiting = missing[entry.name]
      if waiting and entry.type ~= 'null' then waiting.type, missing[entry.name] = entry.type, nil end
    end
  end
  return out
end

-- Whether a file may lack columns that others have, as JSON lines do whose keys are optional.
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

-- The columns of a block in the order of the schema, then those that it does not know.
local function in_order(block, schema)
  local names, known = {}, {}
  for i, entry in ipairs(schema) do names[i], known[entry.name] = entry.name, true end
  for _, name in ipairs(block:names()) do
    if not known[name] then names[#names + 1] = name end
  end
  return block:select(names)
end

---The block of rows of a file. Columns without a value get the type that they have in other files.
---@param batch userdata what a reader of base._arrow gave
---@param path string
---@return data.Block
function FileSource:block_of(batch, path)
  local block, lacks_any = Block.from_arrow(batch), false
  if not self.columns_are_optional and not any_has_no_type(block) then return self:with_path(block, path) end
  for _, entry in ipairs(self:_file_schema()) do
    local lacks = self.columns_are_optional and not block:has(entry.name)
    lacks_any = lacks_any or lacks
    if lacks or block:has(entry.name) and has_no_type(block, entry.name) then
      block = block:with(entry.name, column.nulls(entry.type, block:num_rows()))
    end
  end
  return self:with_path(lacks_any and in_order(block, self:_file_schema()) or block, path)
end

---The columns that the files have, see `schema`.
---@return {name: string, type: string}[]
function FileSource:_file_schema()
  errors.raise('internal', ('%s has no _file_schema()'):format(class.of(self).__name))
end

---The block with the column `path`, where it was asked for.
---@param block data.Block
---@param path string
---@return data.Block
function FileSource:with_path(block, path)
  if not self._include_paths then return block end
  local list = {}
  for i = 1, block:num_rows() do list[i] = path end
  return block:with('path', Strings.from_list(list, #list))
end

---The schema with the column `path`, where it was asked for.
---@param schema {name: string, type: string}[]
---@return {name: string, type: string}[]
function FileSource:schema_with_path(schema)
  if self._include_paths then schema[#schema + 1] = {name = 'path', type = 'string'} end
  return schema
end

---A source of the same kind that differs in some fields.
---@param fields table
---@return data.FileSource
function FileSource:changed(fields)
  local out = setmetatable({}, getmetatable(self))
  for key, value in next, self do out[key] = value end
  for key, value in next, fields do out[key] = value end
  return out
end

return FileSource
