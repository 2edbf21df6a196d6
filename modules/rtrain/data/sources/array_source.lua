-- rtrain/data/sources/array_source.lua: ArraySource: arrays in idx and NumPy files. Each process reads the files as a
-- whole at their first use.

local Block = require 'rtrain.data.blocks.block'
local errors = require 'base.errors'
local MemorySource = require 'rtrain.data.sources.memory_source'
local Strings = require 'torch.utils.data.strings'
local torch = require 'torch'

---Columns of arrays in files. Arguments: columns, a list of {name, paths}; {name, load, include_paths}: `load(path)`
---returns a tensor, or a map name → tensor, whose entries are columns.
---@class data.ArraySource: data.Source
---@overload fun(columns: table[], options: table): data.ArraySource
local ArraySource = MemorySource:extend('ArraySource')

function ArraySource:init(columns, options)
  self._columns, self.name, self._load = columns, options.name, options.load
  self._include_paths = options.include_paths
end

-- Returns the columns of one file; an array without dimensions has no rows.
local function file_block(self, name, path)
  local loaded = self._load(path)
  local names, tensors = {name}, {loaded}
  if not torch.is_tensor(loaded) then
    names, tensors = require('base.ordered').keys_of(loaded), {}
    for i, key in ipairs(names) do tensors[i] = loaded[key] end
  end
  for i, tensor in ipairs(tensors) do
    if tensor:dim() == 0 then
      errors.raise('argument', ("cannot read '%s': the array '%s' has no dimensions, so that it has no rows")
        :format(path, names[i]))
    end
  end
  local ok, block = xpcall(Block, errors.wrap, names, tensors)
  if ok then return block end
  block.message = ("cannot read '%s': %s"):format(path, block.message)
  error(block, 0)
end

-- Returns the files of a row, for messages.
local function files_of_row(self, i)
  local paths = {}
  for k, entry in ipairs(self._columns) do paths[k] = entry[2][i] end
  return table.concat(paths, ' and ')
end

-- Makes a block for each file of the first column; the other columns are cut in the same way.
local function load(self)
  local first = self._columns[1]
  local blocks = {}
  for i, path in ipairs(first[2]) do
    local block = file_block(self, first[1], path)
    for k = 2, #self._columns do
      local name, paths = self._columns[k][1], self._columns[k][2]
      local other = file_block(self, name, paths[i])
      if other:num_rows() ~= block:num_rows() then
        errors.raise('argument', ("'%s' has %d rows and '%s' has %d"):format(path, block:num_rows(), paths[i],
          other:num_rows()))
      end
      block = block:with(name, other:column(name))
    end
    if self._include_paths then
      local list = {}
      for row = 1, block:num_rows() do list[row] = path end
      block = block:with('path', Strings.from_list(list, #list))
    end
    blocks[i] = block:from(files_of_row(self, i), 0)
  end
  return blocks
end

-- The loaded blocks, outside of the source: they are not sent along with it.
local loaded = setmetatable({}, {__mode = 'k'})

function ArraySource:blocks()
  loaded[self] = loaded[self] or load(self)
  return loaded[self]
end

function ArraySource:input_files()
  local out = {}
  for _, entry in ipairs(self._columns) do
    for _, path in ipairs(entry[2]) do out[#out + 1] = path end
  end
  return out
end

return ArraySource
