-- rtrain/data/preprocessors/robust_scaler.lua: RobustScaler: (x - median) / (high quantile - low quantile).

local collected = require 'rtrain.data.aggregate.collected'
local args = require 'base.args'
local is_list = require 'base.is_list'
local Scaler = require 'rtrain.data.preprocessors.scaler'

---Scales each column by its quantiles, which outliers hardly change: (x - median) / (high quantile - low quantile). Where
---the two quantiles are equal the column becomes 0. Null and NaN do not count. Floats keep their dtype, other numbers
---become float64. The quantiles are exact, with linear interpolation as numpy.quantile's; `fit` holds the numbers of the
---columns in memory. Arguments: columns, {quantile_range = {0.25, 0.75}, output_columns: names of the results, in place of
---the columns, quantile_precision: accepted, without effect; Ray's quantiles are approximate}. Ray equivalent:
---ray.data.preprocessors.RobustScaler.
---
---```lua
---local data = require 'rtrain.data'
---local scaler = data.preprocessors.RobustScaler {columns = {'x'}}
---local rows = scaler:fit_transform(data.from_items{{x = 1}, {x = 2}, {x = 3}, {x = 4}, {x = 500}}):take_all()
---assert(rows[1].x == -1 and rows[3].x == 0 and scaler.stats_['median(x)'] == 3)
---```
---@class rtrain.data.preprocessors.RobustScaler: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], options?: table): rtrain.data.preprocessors.RobustScaler
local RobustScaler = Scaler:extend('RobustScaler')
RobustScaler._saved = {'columns', 'output_columns', 'quantile_range'}

local signature = args.signature('RobustScaler', {'columns', {'quantile_range'}, {'output_columns'}, {'quantile_precision'}})

local function is_quantile(q) return type(q) == 'number' and q >= 0 and q <= 1 end

function RobustScaler:init(...)
  local a = signature:bind(...)
  self:_take_columns(a)
  self.quantile_range = a.quantile_range or {0.25, 0.75}
  local low, high = self.quantile_range[1], self.quantile_range[2]
  if not is_list(self.quantile_range) or #self.quantile_range ~= 2 or not is_quantile(low) or not is_quantile(high)
    or low > high then
    self:_refuse('quantile_range: expected two numbers from 0 to 1, the lower one first, as {0.25, 0.75}')
  end
end

function RobustScaler:_aggregates(name)
  local function quantile(what, q)
    return collected.Quantile(name, {q = q, alias_name = ('%s(%s)'):format(what, name)})
  end
  return {quantile('low_quantile', self.quantile_range[1]), quantile('median', 0.5),
          quantile('high_quantile', self.quantile_range[2])}
end

function RobustScaler:_scale(values, name)
  local stats = self.stats_
  local low, high = stats[('low_quantile(%s)'):format(name)], stats[('high_quantile(%s)'):format(name)]
  local median = stats[('median(%s)'):format(name)]
  if low == nil or high == nil or median == nil then return nil end
  if low == high then return values:mul(0):nan_to_num() end
  return (values - median) / (high - low)
end

return RobustScaler
