-- rtrain/data/preprocessors/normalizer.lua: Normalizer: scales each row to norm 1.

local args = require 'base.args'
local inputs = require 'rtrain.data.preprocessors.inputs'
local Preprocessor = require 'rtrain.data.preprocessors.preprocessor'
local torch = require 'torch'

local NORMS = {
  l1 = function(values) return values:abs():sum(1) end,
  l2 = function(values) return values:square():sum(1):sqrt() end,
  max = function(values) return values:abs():amax(1) end,
}

---Divides the numbers of each row by their norm: 'l2' (the root of the sum of squares), 'l1' (the sum of absolute values)
---or 'max' (the largest absolute value). NaN does not count in the norm, and stays NaN; a row of zeros becomes NaN. Floats
---keep their dtype, other numbers become float64. There is nothing to fit. Arguments: columns, {norm = 'l2',
---output_columns: names of the results, in place of the columns}. Ray equivalent: ray.data.preprocessors.Normalizer.
---
---```lua
---local data = require 'rtrain.data'
---local rows = data.preprocessors.Normalizer({'x', 'y'}):transform(data.from_items{{x = 3, y = 4}}):take_all()
---assert(rows[1].x == 0.6 and rows[1].y == 0.8)
---```
---@class rtrain.data.preprocessors.Normalizer: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], options?: table): rtrain.data.preprocessors.Normalizer
local Normalizer = Preprocessor:extend('Normalizer')
Normalizer._is_fittable = false
Normalizer._keeps_rows = true
Normalizer._saved = {'columns', 'output_columns', 'norm'}

local signature = args.signature('Normalizer', {'columns', {'norm', 'l2'}, {'output_columns'}})

function Normalizer:init(...)
  local a = signature:bind(...)
  self:_take_columns(a)
  self.norm = args.one_of('Normalizer: norm', a.norm, {'l1', 'l2', 'max'})
end

function Normalizer:_transform_block(block)
  local columns, dtypes = {}, {}
  for i, name in ipairs(self.columns) do columns[i], dtypes[i] = inputs.numbers('Normalizer', block, name) end
  local norms = NORMS[self.norm](torch.stack(columns, {dim = 1}):nan_to_num{nan = 0, posinf = math.huge, neginf = -math.huge})
  local out = block
  for i, name in ipairs(self.output_columns) do out = out:with(name, (columns[i] / norms):to(dtypes[i])) end
  return out
end

return Normalizer
