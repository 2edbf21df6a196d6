-- rtrain/data/preprocessors/custom_kbins_discretizer.lua: CustomKBinsDiscretizer: bins whose edges are given.

local Discretizer = require 'rtrain.data.preprocessors.discretizer'

---Replaces numbers by the numbers of their bins, int64 from 0, as pandas.cut does: bin i reaches from edge i to edge i + 1.
---A number outside of all bins, null and NaN become null. There is nothing to fit. Arguments: columns, bins (the edges, in
---order: a list for all columns, or a table column → list), {right = true: a bin has its right edge and not its left one;
---false: the other way round, include_lowest = false: the first edge belongs to the first bin, duplicates = 'raise': for
---edges that are there twice, or 'drop', dtypes: column → a dtype of whole numbers, or a list of labels, one for each bin,
---output_columns: names of the results, in place of the columns}. Ray equivalent:
---ray.data.preprocessors.CustomKBinsDiscretizer.
---
---```lua
---local data = require 'rtrain.data'
---local bins = data.preprocessors.CustomKBinsDiscretizer {columns = {'x'}, bins = {0, 1, 4, 10}}
---local rows = bins:transform(data.from_items{{x = 0.2}, {x = 4}, {x = 11}}):take_all()
---assert(rows[1].x == 0 and rows[2].x == 1 and rows[3].x == nil)
---```
---@class rtrain.data.preprocessors.CustomKBinsDiscretizer: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], bins: any, options?: table): rtrain.data.preprocessors.CustomKBinsDiscretizer
local CustomKBinsDiscretizer = Discretizer:extend('CustomKBinsDiscretizer')
CustomKBinsDiscretizer._is_fittable = false

local signature = Discretizer._signature 'CustomKBinsDiscretizer'

function CustomKBinsDiscretizer:init(...)
  self:_take(signature:bind(...), function(edges, name) self:_checked_edges(edges, name) end)
end

function CustomKBinsDiscretizer:_edges(name) return self:_checked_edges(self:_bins_of(name), name) end

return CustomKBinsDiscretizer
