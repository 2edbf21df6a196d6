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

-- Columns without a value get the type that they have in other files.
local function with_types(block, schema)
  for _, entry in ipairs(schema) do
    local of = block:has(entry.name) and block:column(entry.name)
    if of and column.type_of(of) == 'object' and column.is_null(of) then
      block = block:with(entry.name, column.nulls(entry.type, block:num_rows()))
    end
  end
  return block
end

---The block of rows of a file.
---@param batch userdata what a reader of base._arrow gave
---@param path string
---@return data.Block
function FileSource:block_of(batch, path)
  local block = Block.from_arrow(batch)
  for _, entry in ipairs(block:schema()) do
    if entry.type == 'object' and column.is_null(block:column(entry.name)) then
      block = with_types(block, self:schema())
      break
    end
  end
  return self:with_path(block, path)
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
