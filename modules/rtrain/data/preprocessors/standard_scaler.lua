-- rtrain/data/preprocessors/standard_scaler.lua: StandardScaler: (x - mean) / standard deviation.

local Scaler = require 'rtrain.data.preprocessors.scaler'
local sums = require 'rtrain.data.aggregate.sums'

---Scales each column to mean 0 and standard deviation 1, of the population: (x - mean) / std with ddof = 0. A column with
---one value only becomes 0. Null and NaN do not count, and stay NaN. Floats keep their dtype, other numbers become float64.
---Arguments: columns, {output_columns: names of the results, in place of the columns}. Ray equivalent:
---ray.data.preprocessors.StandardScaler.
---
---```lua
---local data = require 'rtrain.data'
---local scaler = data.preprocessors.StandardScaler {columns = {'x'}}
---local rows = scaler:fit_transform(data.from_items{{x = 1, y = 7}, {x = 3, y = 8}}):take_all()
---assert(rows[1].x == -1 and rows[2].x == 1 and rows[2].y == 8)
---assert(scaler.stats_['mean(x)'] == 2 and scaler.stats_['std(x)'] == 1)
---```
---@class rtrain.data.preprocessors.StandardScaler: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], options?: table): rtrain.data.preprocessors.StandardScaler
local StandardScaler = Scaler:extend('StandardScaler')

local signature = Scaler._signature 'StandardScaler'

function StandardScaler:init(...) self:_take_columns(signature:bind(...)) end

function StandardScaler:_aggregates(name) return {sums.Mean(name), sums.Std(name, {ddof = 0})} end

function StandardScaler:_scale(values, name)
  local mean, std = self.stats_[('mean(%s)'):format(name)], self.stats_[('std(%s)'):format(name)]
  if mean == nil or std == nil then return nil end
  return (values - mean) / (std == 0 and 1 or std)
end

return StandardScaler
