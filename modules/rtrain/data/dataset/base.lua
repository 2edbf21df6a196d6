-- rtrain/data/dataset/base.lua: the class Dataset: its plan, and how the plan is executed.

local class = require 'base.class'
local executor = require 'rtrain.data.executor'
local Plan = require 'rtrain.data.executor.plan'

---Rows with named columns. A dataset is lazy: methods that transform return a new dataset at once, and nothing is read
---until rows are requested; then they stream through threads, with bounded memory. Functions of rtrain.data such as
---from_items and read_parquet make datasets; scripts do not pass a plan themselves. Ray equivalent: ray.data.Dataset.
---
---```lua
---local data = require 'rtrain.data'
---local squares = data.range(5):map(function(row) return {id = row.id, square = row.id * row.id} end)
---local rows = squares:take(3)
---assert(rows[3].square == 4 and squares:count() == 5)
---```
---@class rtrain.data.Dataset
---@overload fun(plan: data.Plan): rtrain.data.Dataset
local Dataset = class('Dataset')

function Dataset:init(plan) self._plan, self._epochs = plan, {n = 0} end

-- Executes the dataset's plan in the consuming loop.
function Dataset:_execute(options)
  local execution = executor.execute(self._plan, options)
  self._stats = execution:stats()
  return execution
end

-- Returns a dataset with an additional operator.
function Dataset:_with(operator) return Dataset(self._plan:with(operator)) end

-- Returns a dataset of another source with the same operators.
function Dataset:_over(source) return Dataset(Plan(source, self._plan.operators)) end

function Dataset:__tostring()
  local plan = self._plan
  local steps, rows, schema = {}, plan:num_rows(), plan:schema()
  for i, operator in ipairs(plan.operators) do steps[i] = operator.name end
  local columns = 'Unknown schema'
  if schema then
    local parts = {}
    for i, entry in ipairs(schema) do parts[i] = entry.name .. ': ' .. entry.type end
    columns = '{' .. table.concat(parts, ', ') .. '}'
  end
  return ('Dataset(num_rows=%s, schema=%s%s)'):format(rows or '?', columns,
    #steps > 0 and ', steps=' .. plan.source.name .. ' -> ' .. table.concat(steps, ' -> ') or '')
end

return Dataset
