-- rtrain/data/preprocessors/uniform_kbins_discretizer.lua: UniformKBinsDiscretizer: bins of equal width.

local Discretizer = require 'rtrain.data.preprocessors.discretizer'
local extremes = require 'rtrain.data.aggregate.extremes'
local inputs = require 'rtrain.data.preprocessors.inputs'
local ordered = require 'base.ordered'

---Replaces numbers by the numbers of their bins, int64 from 0: bins of equal width, from the smallest to the largest number
---of the fitted dataset. The range is 0.1 % wider at the end that its bin would not have. Numbers outside, null and NaN
---become null. Arguments: columns, bins (how many: a number, or a table column → number), {right, include_lowest,
---duplicates, dtypes, output_columns, as of CustomKBinsDiscretizer}. Ray equivalent:
---ray.data.preprocessors.UniformKBinsDiscretizer.
---
---```lua
---local data = require 'rtrain.data'
---local bins = data.preprocessors.UniformKBinsDiscretizer {columns = {'x'}, bins = 4}
---local rows = bins:fit_transform(data.from_items{{x = 0.2}, {x = 6.2}, {x = 9.7}}):take_all()
---assert(rows[1].x == 0 and rows[2].x == 2 and rows[3].x == 3)
---```
---@class rtrain.data.preprocessors.UniformKBinsDiscretizer: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], bins: any, options?: table): rtrain.data.preprocessors.UniformKBinsDiscretizer
local UniformKBinsDiscretizer = Discretizer:extend('UniformKBinsDiscretizer')

local signature = Discretizer._signature 'UniformKBinsDiscretizer'

function UniformKBinsDiscretizer:init(...)
  self:_take(signature:bind(...), function(count, name)
    if type(count) ~= 'number' or count < 1 or count % 1 ~= 0 then
      self:_refuse("bins: column '%s' has a whole number of bins from 1 on, got %s", name, tostring(count))
    end
  end)
end

-- As pandas.cut for a number of bins.
local function edges_of(least, most, count)
  local out = {}
  if least == most then
    local room = 0.001 * (least ~= 0 and math.abs(least) or 1)
    least, most = least - room, most + room
  end
  for i = 0, count do out[i + 1] = i == count and most or least + (most - least) * (i / count) end
  return out, (most - least) * 0.001
end

local function widened(edges, by, right)
  local place = right and 1 or #edges
  edges[place] = edges[place] + (right and -by or by)
  return edges
end

function UniformKBinsDiscretizer:_fit(dataset)
  local aggregates, stats = {}, ordered.new()
  for _, name in ipairs(self.columns) do
    aggregates[#aggregates + 1], aggregates[#aggregates + 2] = extremes.Min(name), extremes.Max(name)
  end
  local found = inputs.statistics('UniformKBinsDiscretizer', dataset, aggregates)
  for _, name in ipairs(self.columns) do
    local least, most = found[('min(%s)'):format(name)], found[('max(%s)'):format(name)]
    if least == nil then self:_refuse("fit: column '%s' has no numbers", name) end
    least, most = tonumber(least), tonumber(most)
    if least == -math.huge or most == math.huge then self:_refuse("fit: column '%s' has infinity", name) end
    local edges, by = edges_of(least, most, self:_bins_of(name))
    stats[name] = least == most and edges or widened(edges, by, self.right)
  end
  return stats
end

function UniformKBinsDiscretizer:_edges(name) return self:_checked_edges(self.stats_[name], name) end

return UniformKBinsDiscretizer
