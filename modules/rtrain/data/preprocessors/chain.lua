-- rtrain/data/preprocessors/chain.lua: Chain: several preprocessors, one after the other.

local class = require 'base.class'
local Preprocessor = require 'rtrain.data.preprocessors.preprocessor'

---Several preprocessors as one. `fit` fits each to the dataset as those before it transform it. Arguments: the
---preprocessors, in order. Ray equivalent: ray.data.preprocessors.Chain.
---
---```lua
---local data = require 'rtrain.data'
---local P = data.preprocessors
---local chain = P.Chain(P.SimpleImputer {'x'}, P.StandardScaler {'x'}, P.LabelEncoder 'y')
---local rows = chain:fit_transform(data.from_items{{x = 1, y = 'b'}, {y = 'a'}, {x = 3, y = 'b'}}):take_all()
---assert(rows[2].x == 0 and rows[3].y == 1 and chain:fit_status() == 'FITTED')
---```
---@class rtrain.data.preprocessors.Chain: rtrain.data.preprocessors.Preprocessor
---@field preprocessors rtrain.data.preprocessors.Preprocessor[]
---@overload fun(...: rtrain.data.preprocessors.Preprocessor): rtrain.data.preprocessors.Chain
local Chain = Preprocessor:extend('Chain')

function Chain:init(...)
  local list = {...}
  if #list == 0 then self:_refuse('expected at least one preprocessor') end
  for i = 1, select('#', ...) do
    if not class.is(list[i], Preprocessor) then
      self:_refuse('argument %d is a %s: expected a preprocessor', i, class.is_class(list[i]) and 'class' or type(list[i]))
    end
  end
  self:_put(list)
end

function Chain:_put(list)
  self.preprocessors, self._keeps_rows = list, true
  for _, each in ipairs(list) do self._keeps_rows = self._keeps_rows and each._keeps_rows end
end

function Chain:fit_status()
  local counts = {FITTED = 0, NOT_FITTED = 0, PARTIALLY_FITTED = 0, NOT_FITTABLE = 0}
  for _, each in ipairs(self.preprocessors) do
    local status = each:fit_status()
    counts[status] = counts[status] + 1
  end
  if counts.NOT_FITTABLE == #self.preprocessors then return 'NOT_FITTABLE' end
  if counts.NOT_FITTED + counts.PARTIALLY_FITTED == 0 then return 'FITTED' end
  return counts.FITTED + counts.PARTIALLY_FITTED > 0 and 'PARTIALLY_FITTED' or 'NOT_FITTED'
end

-- The parts name the columns that they lack.
function Chain:get_input_columns() return {} end

function Chain:_calls_user()
  for _, each in ipairs(self.preprocessors) do
    if each:_calls_user() then return true end
  end
  return false
end

function Chain:_fit(ds)
  for i, each in ipairs(self.preprocessors) do
    each._fitted = nil
    each:fit(ds)
    if i < #self.preprocessors then ds = each:transform(ds) end
  end
end

function Chain:_transform_block(block)
  for _, each in ipairs(self.preprocessors) do block = each:_transform_block(block) end
  return block
end

function Chain:state_dict()
  local state, parts = Preprocessor.state_dict(self), {}
  for i, each in ipairs(self.preprocessors) do parts[i] = each:state_dict() end
  state.columns, state.output_columns, state.stats, state.preprocessors = nil, nil, nil, parts
  return state
end

function Chain:load_state_dict(state, functions)
  Preprocessor.load_state_dict(self, state)
  self._fitted = nil
  if self.preprocessors == nil then
    local list = {}
    for i, part in ipairs(state.preprocessors) do list[i] = self._from_state(part, functions or {}) end
    self:_put(list)
    return
  end
  if #state.preprocessors ~= #self.preprocessors then
    self:_refuse('load_state_dict: the state has %d preprocessors, the chain %d', #state.preprocessors, #self.preprocessors)
  end
  for i, each in ipairs(self.preprocessors) do each:load_state_dict(state.preprocessors[i]) end
end

function Chain:__tostring()
  local parts = {}
  for i, each in ipairs(self.preprocessors) do parts[i] = tostring(each) end
  return ('Chain(%s)'):format(table.concat(parts, ', '))
end

return Chain
