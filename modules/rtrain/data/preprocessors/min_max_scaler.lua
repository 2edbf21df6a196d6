-- rtrain/data/preprocessors/min_max_scaler.lua: MinMaxScaler: (x - min) / (max - min).

local extremes = require 'rtrain.data.aggregate.extremes'
local Scaler = require 'rtrain.data.preprocessors.scaler'

---Scales each column to the range from 0 to 1: (x - min) / (max - min). A column with one value only becomes 0. Null and
---NaN do not count, and stay NaN. Floats keep their dtype, other numbers become float64. Arguments: columns,
---{output_columns: names of the results, in place of the columns}. Ray equivalent: ray.data.preprocessors.MinMaxScaler.
---
---```lua
---local data = require 'rtrain.data'
---local scaler = data.preprocessors.MinMaxScaler {columns = {'x'}, output_columns = {'scaled'}}
---local rows = scaler:fit_transform(data.from_items{{x = -2}, {x = 0}, {x = 2}}):take_all()
---assert(rows[2].scaled == 0.5 and rows[3].scaled == 1 and rows[3].x == 2)
---```
---@class rtrain.data.preprocessors.MinMaxScaler: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], options?: table): rtrain.data.preprocessors.MinMaxScaler
local MinMaxScaler = Scaler:extend('MinMaxScaler')

local signature = Scaler._signature 'MinMaxScaler'

function MinMaxScaler:init(...) self:_take_columns(signature:bind(...)) end

function MinMaxScaler:_aggregates(name) return {extremes.Min(name), extremes.Max(name)} end

function MinMaxScaler:_scale(values, name)
  local least, most = self.stats_[('min(%s)'):format(name)], self.stats_[('max(%s)'):format(name)]
  if least == nil or most == nil then return nil end
  least, most = tonumber(least), tonumber(most)
  return (values - least) / (most == least and 1 or most - least)
end

return MinMaxScaler
