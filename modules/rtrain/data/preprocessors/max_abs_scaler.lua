-- rtrain/data/preprocessors/max_abs_scaler.lua: MaxAbsScaler: x / max |x|.

local extremes = require 'rtrain.data.aggregate.extremes'
local Scaler = require 'rtrain.data.preprocessors.scaler'

---Divides each column by its largest absolute value; 0 stays 0. A column of zeros stays as it is. Null and NaN do not
---count, and stay NaN. Floats keep their dtype, other numbers become float64. Arguments: columns, {output_columns: names of
---the results, in place of the columns}. Ray equivalent: ray.data.preprocessors.MaxAbsScaler.
---
---```lua
---local data = require 'rtrain.data'
---local rows = data.preprocessors.MaxAbsScaler({'x'}):fit_transform(data.from_items{{x = -6}, {x = 3}}):take_all()
---assert(rows[1].x == -1 and rows[2].x == 0.5)
---```
---@class rtrain.data.preprocessors.MaxAbsScaler: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], options?: table): rtrain.data.preprocessors.MaxAbsScaler
local MaxAbsScaler = Scaler:extend('MaxAbsScaler')

local signature = Scaler._signature 'MaxAbsScaler'

function MaxAbsScaler:init(...) self:_take_columns(signature:bind(...)) end

function MaxAbsScaler:_aggregates(name) return {extremes.AbsMax(name)} end

function MaxAbsScaler:_scale(values, name)
  local most = self.stats_[('abs_max(%s)'):format(name)]
  if most == nil then return nil end
  most = tonumber(most)
  return values / (most == 0 and 1 or most)
end

return MaxAbsScaler
