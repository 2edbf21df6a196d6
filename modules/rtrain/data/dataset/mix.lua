-- rtrain/data/dataset/mix.lua: Dataset: mix.

local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local conditions = require 'rtrain.data.dataset.mix_stopping_condition'
local errors = require 'base.errors'
local Mix = require 'rtrain.data.operators.mix'

---@class rtrain.data.Dataset
local Dataset = require 'rtrain.data.dataset.base'

local OPTIONS = {'weights', 'stopping_condition'}
local CONDITIONS = {conditions.STOP_ON_LONGEST_DROP, conditions.STOP_ON_SHORTEST}

-- Weights count to millionths.
local PARTS, LEAST, MOST = 10 ^ 6, 1e-6, 1e6

local function whole_weights(weights, count)
  if weights == nil then
    weights = {}
    for i = 1, count do weights[i] = 1 end
  end
  if type(weights) ~= 'table' or #weights ~= count then
    errors.raise('argument', ('mix: weights is a list of %d numbers, one for each dataset, this one first; got %s'):format(
      count, type(weights) == 'table' and #weights or tostring(weights)))
  end
  local out = {}
  for i, weight in ipairs(weights) do
    if type(weight) ~= 'number' or not (weight >= LEAST and weight <= MOST) then
      errors.raise('argument', ('mix: weight %d is %s: expected a number from 0.000001 to 1000000; leave out a dataset that is '
        .. 'not to come'):format(i, tostring(weight)))
    end
    out[i] = math.floor(weight * PARTS + 0.5)
  end
  return out
end

---The rows of this dataset and of others in turn, each with its share. The order is fixed by the weights and the numbers of
---rows: after as many rows as the sum of the weights (in lowest terms: 4 of 0.75 and 0.25) every dataset has given exactly
---its part of them, and in between none is a whole row ahead. While all have rows, each batch of that many rows has exact
---shares, on every worker. A shard goes on exactly where its state was saved. Each dataset keeps its own order; shuffle it
---before. Ray interleaves blocks, rtrain rows. Ray equivalent: Dataset.mix.
---
---Where a dataset has as many rows as its operators get, each worker reads only its part of each dataset. All are read at the
---same time, with the threads and the memory of DataContext for each.
---@param ... any other datasets with the same columns; then {weights, a list of positive numbers, this dataset's first, that
---  count to six decimals (default: equal ones); stopping_condition = 'stop_on_longest_drop'}, see MixStoppingCondition
---@return rtrain.data.Dataset
---
---```lua
---local data = require 'rtrain.data'
---local web = data.range(6)
---local code = data.range(2):map(function(row) row.id = row.id + 100 return row end)
---local ids = {}
---for i, row in ipairs(web:mix(code, {weights = {0.75, 0.25}}):take_all()) do ids[i] = row.id end
---assert(table.concat(ids, ' ') == '0 1 100 2 3 4 101 5')
---```
function Dataset:mix(...)
  local options, count = args.trailing('mix', OPTIONS, ...)
  local condition = options.stopping_condition or conditions.STOP_ON_LONGEST_DROP
  args.one_of('mix: stopping_condition', condition, CONDITIONS)
  local plans = {}
  for i = 1, count do plans[i] = checks.dataset('mix', (select(i, ...)))._plan end
  local weights = whole_weights(options.weights, count + 1)
  if count == 0 then return self end
  local mixed = self:_with(Mix(plans, {weights = weights, stops_on_shortest = condition == conditions.STOP_ON_SHORTEST}))
  -- Columns that differ are refused at once where they are known.
  mixed._plan:schema()
  return mixed
end

return Dataset
