-- rtrain/data/dataset/mix.lua: the method mix of Dataset.

local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local conditions = require 'rtrain.data.dataset.mix_stopping_condition'
local errors = require 'base.errors'
local Mix = require 'rtrain.data.operators.mix'

---@class rtrain.data.Dataset
local Dataset = require 'rtrain.data.dataset.base'

local OPTIONS = {'weights', 'stopping_condition'}
local CONDITIONS = {conditions.STOP_ON_LONGEST_DROP, conditions.STOP_ON_SHORTEST}

-- Weights are rounded to millionths.
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

---Interleaves the rows of this dataset and others by their weights. The weights and the numbers of rows fix the order:
---a cycle has as many rows as the sum of the weights in lowest terms (4 for 0.75 and 0.25). After each cycle every
---dataset has given exactly its share, and within a cycle none is a whole row ahead. While all datasets have rows, each
---batch of that size has exact shares, on every worker. A shard continues exactly where its state was saved. Each
---dataset keeps its own order; shuffle it first. Ray interleaves blocks, rtrain rows. Ray equivalent: Dataset.mix.
---
---If no operator changes the number of rows, each worker reads only its part of each dataset. All datasets are read at
---the same time, each with the threads and the memory of DataContext.
---@param ... any other datasets with the same columns; then {weights, a list of positive numbers, this dataset's
---  first, rounded to six decimals (default: equal weights); stopping_condition = 'stop_on_longest_drop'}, see
---  MixStoppingCondition
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
  -- Raises an error at once for different columns, if they are known.
  mixed._plan:schema()
  return mixed
end

return Dataset
