-- rtrain/data/preprocessors/multi_hot_encoder.lua: MultiHotEncoder: a list becomes the vector of how often each value is in it.

local args = require 'base.args'
local Encoder = require 'rtrain.data.preprocessors.encoder'
local vectors = require 'rtrain.data.preprocessors.vectors'

---Replaces each list of a column by a vector, int64: how often each of the sorted distinct items of the fitted dataset is in
---it. A value that is not a list counts as a list of one. Null is an error, in `fit` and `transform`. Arguments: columns,
---{max_categories: column → the most items that have a place, the most frequent ones, in that order,
---output_columns: names of the results, in place of the columns}. Ray equivalent: ray.data.preprocessors.MultiHotEncoder.
---
---```lua
---local data = require 'rtrain.data'
---local encoder = data.preprocessors.MultiHotEncoder {columns = {'genre'}}
---local films = encoder:fit_transform(data.from_items{{genre = {'comedy', 'action'}}, {genre = {'drama'}}}):take_all()
---assert(table.concat(films[1].genre:tolist(), ' ') == '1 1 0')
---```
---@class rtrain.data.preprocessors.MultiHotEncoder: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], options?: table): rtrain.data.preprocessors.MultiHotEncoder
local MultiHotEncoder = Encoder:extend('MultiHotEncoder')
MultiHotEncoder._saved = {'columns', 'output_columns', 'max_categories'}

local signature = args.signature('MultiHotEncoder', {'columns', {'max_categories'}, {'output_columns'}})

function MultiHotEncoder:init(...)
  local a = signature:bind(...)
  self:_take_columns(a)
  self:_take_limits(a)
end

function MultiHotEncoder:_fit(dataset) return self:_fit_categories(dataset, true) end

-- Scalars become vectors too.
function MultiHotEncoder:_needs_values() return false end

local function as_list(value) return type(value) == 'table' and value or {value} end

function MultiHotEncoder:_transform_block(block)
  local out = block
  for i, name in ipairs(self.columns) do
    local values, _, count = self:_values(block, name)
    local counts = vectors.counts(count, self:_count(name), function(row) return as_list(values[row]) end, self:_coder(name))
    out = out:with(self.output_columns[i], counts)
  end
  return out
end

return MultiHotEncoder
