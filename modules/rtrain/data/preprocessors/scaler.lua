-- rtrain/data/preprocessors/scaler.lua: Scaler: the base of what scales each column by statistics of its own.

local args = require 'base.args'
local class = require 'base.class'
local inputs = require 'rtrain.data.preprocessors.inputs'
local Preprocessor = require 'rtrain.data.preprocessors.preprocessor'
local warnings = require 'base.warnings'

-- A subclass defines `_aggregates(column)`, the aggregates of a column, and `_scale(values, column)`, which returns the
-- scaled numbers, nil if the statistics of the column are missing.
local Scaler = Preprocessor:extend('Scaler')
Scaler._keeps_rows = true

---Returns the signature of a scaler.
---@param name string
---@param own? table a parameter of this scaler alone
---@return table
function Scaler._signature(name, own)
  local parameters = {'columns', {'output_columns'}}
  if own then table.insert(parameters, 2, own) end
  return args.signature(name, parameters)
end

function Scaler:_fit(dataset)
  local aggregates = {}
  for _, name in ipairs(self.columns) do
    for _, aggregate in ipairs(self:_aggregates(name)) do aggregates[#aggregates + 1] = aggregate end
  end
  local found = inputs.statistics(class.of(self).__name, dataset, aggregates)
  for _, aggregate in ipairs(aggregates) do
    if found[aggregate.name] == nil then
      warnings.warn(("%s: fit: column '%s' has no values, and becomes NaN"):format(class.of(self).__name, aggregate.on))
    end
  end
  return found
end

function Scaler:_transform_block(block)
  local out, owner = block, class.of(self).__name
  for i, name in ipairs(self.columns) do
    local values, dtype = inputs.numbers(owner, block, name)
    local scaled = self:_scale(values, name) or values:mul(0 / 0)
    out = out:with(self.output_columns[i], scaled:to(dtype))
  end
  return out
end

return Scaler
