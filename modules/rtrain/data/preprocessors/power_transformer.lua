-- rtrain/data/preprocessors/power_transformer.lua: PowerTransformer: Yeo-Johnson's and Box-Cox's transforms.

local args = require 'base.args'
local inputs = require 'rtrain.data.preprocessors.inputs'
local Preprocessor = require 'rtrain.data.preprocessors.preprocessor'
local torch = require 'torch'

---Makes the numbers of each column more like those of a normal distribution, by a power that you choose:
---
---* 'yeo-johnson': ((x + 1)^power - 1) / power, or log(x + 1) where power is 0, of numbers from 0 on;
---  -((1 - x)^(2 - power) - 1) / (2 - power), or -log(1 - x) where power is 2, of negative ones;
---* 'box-cox', for positive numbers: (x^power - 1) / power, or log(x) where power is 0; other numbers can become NaN.
---
---Null stays NaN. Floats keep their dtype, other numbers become float64. There is nothing to fit. Arguments: columns,
---power, {method = 'yeo-johnson', output_columns: names of the results, in place of the columns}. Ray equivalent:
---ray.data.preprocessors.PowerTransformer.
---
---```lua
---local data = require 'rtrain.data'
---local transformer = data.preprocessors.PowerTransformer {columns = {'x'}, power = 2}
---assert(transformer:transform(data.from_items{{x = 3}}):take(1)[1].x == 7.5)
---```
---@class rtrain.data.preprocessors.PowerTransformer: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], power: number, options?: table): rtrain.data.preprocessors.PowerTransformer
local PowerTransformer = Preprocessor:extend('PowerTransformer')
PowerTransformer._is_fittable = false
PowerTransformer._keeps_rows = true
PowerTransformer._saved = {'columns', 'output_columns', 'power', 'method'}

local signature = args.signature('PowerTransformer', {'columns', 'power', {'method', 'yeo-johnson'}, {'output_columns'}})

function PowerTransformer:init(...)
  local a = signature:bind(...)
  self:_take_columns(a)
  if type(a.power) ~= 'number' then self:_refuse('power: expected a number, got a %s', type(a.power)) end
  self.power = a.power
  self.method = args.one_of('PowerTransformer: method', a.method, {'yeo-johnson', 'box-cox'})
end

-- Returns (x^power - 1) / power, which has the limit log(x) at 0.
local function box_cox(values, power)
  if power == 0 then return values:log() end
  return (values:pow(power) - 1) / power
end

local function yeo_johnson(values, power)
  local at_least_0 = box_cox(values:clamp{min = 0} + 1, power)
  local negative = -box_cox(1 - values:clamp{max = 0}, 2 - power)
  -- clamp keeps NaN.
  return torch.where(values:lt(0), negative, at_least_0)
end

function PowerTransformer:_transform_block(block)
  local out, transform = block, self.method == 'box-cox' and box_cox or yeo_johnson
  for i, name in ipairs(self.columns) do
    local values, dtype = inputs.numbers('PowerTransformer', block, name)
    out = out:with(self.output_columns[i], transform(values, self.power):to(dtype))
  end
  return out
end

return PowerTransformer
