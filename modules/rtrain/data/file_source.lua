-- rtrain/data/file_source.lua: what sources of files have in common: their order, and the column with the path.

local class = require 'base.class'
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
