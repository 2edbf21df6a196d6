-- rtrain/data/preprocessors/ordinal_encoder.lua: OrdinalEncoder: values become their places in the sorted distinct values.

local args = require 'base.args'
local Encoder = require 'rtrain.data.preprocessors.encoder'
local Objects = require 'rtrain.data.columns.objects'
local torch = require 'torch'

---Replaces each value of a column by its place, from 0, among the sorted distinct values of the fitted dataset, int64. A
---value that is not among them becomes null. In lists each item is replaced; with encode_lists = false a list is one value.
---Null is an error, in `fit` and `transform`. Arguments: columns, {encode_lists = true, output_columns: names of the results,
---in place of the columns}. stats_['unique_values(x)'] is the list of values. Ray equivalent:
---ray.data.preprocessors.OrdinalEncoder.
---
---```lua
---local data = require 'rtrain.data'
---local encoder = data.preprocessors.OrdinalEncoder {columns = {'genre'}}
---local films = data.from_items{{genre = {'comedy', 'action'}}, {genre = {'drama'}}}
---assert(encoder:fit_transform(films):take(1)[1].genre[1] == 1)
---assert(table.concat(encoder.stats_['unique_values(genre)'], ' ') == 'action comedy drama')
---```
---@class rtrain.data.preprocessors.OrdinalEncoder: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], options?: table): rtrain.data.preprocessors.OrdinalEncoder
local OrdinalEncoder = Encoder:extend('OrdinalEncoder')
OrdinalEncoder._saved = {'columns', 'output_columns', 'encode_lists'}

local signature = args.signature('OrdinalEncoder', {'columns', {'encode_lists', true}, {'output_columns'}})

function OrdinalEncoder:init(...)
  local a = signature:bind(...)
  self:_take_columns(a)
  self.encode_lists = a.encode_lists
end

function OrdinalEncoder:_fit(dataset) return self:_fit_categories(dataset, self.encode_lists) end

local function codes_of_lists(values, count, code)
  local out = {}
  for i = 1, count do
    local list = {}
    for k, item in ipairs(values[i]) do
      local found = code(item)
      list[k] = found == nil and torch.none or found
    end
    out[i] = torch.list(list)
  end
  return Objects(out, count)
end

function OrdinalEncoder:_transform_block(block)
  local out = block
  for i, name in ipairs(self.columns) do
    local values, are_lists, count = self:_values(block, name)
    local encode = are_lists and self.encode_lists and codes_of_lists or self._codes
    out = out:with(self.output_columns[i], encode(values, count, self:_coder(name)))
  end
  return out
end

return OrdinalEncoder
