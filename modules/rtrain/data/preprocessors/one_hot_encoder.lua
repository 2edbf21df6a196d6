-- rtrain/data/preprocessors/one_hot_encoder.lua: OneHotEncoder: each value becomes a vector with a 1 at its place.

local args = require 'base.args'
local Encoder = require 'rtrain.data.preprocessors.encoder'
local vectors = require 'rtrain.data.preprocessors.vectors'

---Replaces each value of a column by a vector, int64, with a 1 at the place of the value among the sorted distinct values of
---the fitted dataset and 0 elsewhere. A value that is not among them becomes zeros. A list is one value. Null is an error,
---in `fit` and `transform`. Arguments: columns, {max_categories: column → the most values that have a place, the most
---frequent ones, in that order, output_columns: names of the results, in place of the columns}. Ray equivalent:
---ray.data.preprocessors.OneHotEncoder.
---
---```lua
---local data = require 'rtrain.data'
---local encoder = data.preprocessors.OneHotEncoder {columns = {'color'}}
---local rows = encoder:fit_transform(data.from_items{{color = 'red'}, {color = 'blue'}, {color = 'red'}}):take_all()
---assert(rows[1].color:tolist()[2] == 1 and rows[2].color:tolist()[1] == 1)
---assert(encoder:transform_batch{color = {'green'}}.color:sum():item() == 0)
---```
---@class rtrain.data.preprocessors.OneHotEncoder: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], options?: table): rtrain.data.preprocessors.OneHotEncoder
local OneHotEncoder = Encoder:extend('OneHotEncoder')
OneHotEncoder._saved = {'columns', 'output_columns', 'max_categories'}

local signature = args.signature('OneHotEncoder', {'columns', {'max_categories'}, {'output_columns'}})

function OneHotEncoder:init(...)
  local a = signature:bind(...)
  self:_take_columns(a)
  self:_take_limits(a)
end

function OneHotEncoder:_fit(dataset) return self:_fit_categories(dataset, false) end

-- A list becomes a vector too.
function OneHotEncoder:_needs_values() return false end

function OneHotEncoder:_transform_block(block)
  local out = block
  for i, name in ipairs(self.columns) do
    local values, _, count = self:_values(block, name)
    local hot = vectors.counts(count, self:_count(name), function(row) return {values[row]} end, self:_coder(name))
    out = out:with(self.output_columns[i], hot)
  end
  return out
end

return OneHotEncoder
