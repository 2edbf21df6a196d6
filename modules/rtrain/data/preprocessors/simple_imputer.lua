-- rtrain/data/preprocessors/simple_imputer.lua: SimpleImputer: gives a value where one is missing.

local args = require 'base.args'
local categories = require 'rtrain.data.preprocessors.categories'
local column = require 'rtrain.data.columns.column'
local inputs = require 'rtrain.data.preprocessors.inputs'
local Masked = require 'rtrain.data.columns.masked'
local ordered = require 'base.ordered'
local Preprocessor = require 'rtrain.data.preprocessors.preprocessor'
local Strings = require 'torch.utils.data.strings'
local sums = require 'rtrain.data.aggregate.sums'
local to_column = require('rtrain.data.columns.values').to_column

---Replaces null, and NaN, by a value for each column. Strategies: 'mean', of columns of numbers, which makes float64 of whole
---numbers and booleans; 'most_frequent', among equally frequent values the one whose text is last; 'constant', the
---fill_value, with nothing to fit. A column that the dataset lacks is made. Arguments: columns, {strategy = 'mean',
---fill_value, output_columns: names of the results, in place of the columns}. Ray equivalent:
---ray.data.preprocessors.SimpleImputer.
---
---```lua
---local data = require 'rtrain.data'
---local ds = data.from_items{{x = 0, y = 'a'}, {y = 'c'}, {x = 3}, {x = 3, y = 'c'}}
---local mean = data.preprocessors.SimpleImputer {columns = {'x'}, strategy = 'mean'}
---assert(mean:fit_transform(ds):take(2)[2].x == 2)
---local common = data.preprocessors.SimpleImputer {columns = {'x', 'y'}, strategy = 'most_frequent'}
---assert(common:fit_transform(ds):take(3)[3].y == 'c')
---```
---@class rtrain.data.preprocessors.SimpleImputer: rtrain.data.preprocessors.Preprocessor
---@overload fun(columns: string[], options?: table): rtrain.data.preprocessors.SimpleImputer
local SimpleImputer = Preprocessor:extend('SimpleImputer')
SimpleImputer._keeps_rows = true
SimpleImputer._saved = {'columns', 'output_columns', 'strategy', 'fill_value'}

local signature = args.signature('SimpleImputer', {'columns', {'strategy', 'mean'}, {'fill_value'}, {'output_columns'}})

local KINDS = {number = 'number', cdata = 'number', string = 'string', boolean = 'boolean'}

function SimpleImputer:init(...)
  local a = signature:bind(...)
  self:_take_columns(a)
  self.strategy = args.one_of('SimpleImputer: strategy', a.strategy, {'mean', 'most_frequent', 'constant'})
  self.fill_value = a.fill_value
  if (self.strategy == 'constant') ~= (a.fill_value ~= nil) then
    self:_refuse(self.strategy == 'constant' and "fill_value: the strategy 'constant' needs one"
      or "fill_value: only the strategy 'constant' takes one")
  end
  if a.fill_value ~= nil and not KINDS[type(a.fill_value)] then
    self:_refuse('fill_value: expected a number, a string or a boolean, got a %s', type(a.fill_value))
  end
  self:_restored()
end

function SimpleImputer:_restored() self._is_fittable = self.strategy ~= 'constant' end

local function key_of(self, name) return ('%s(%s)'):format(self.strategy, name) end

local function most_frequent(counter)
  local best
  for i, value in ipairs(counter.values) do
    local count, most = counter.counts[i], best and counter.counts[best] or 0
    if count > most or count == most and categories.text(value) > categories.text(counter.values[best]) then best = i end
  end
  return best and counter.values[best]
end

local function means(dataset, names)
  local aggregates, out = {}, {}
  for i, name in ipairs(names) do aggregates[i] = sums.Mean(name) end
  local found = dataset:aggregate(unpack(aggregates))
  for i, name in ipairs(names) do out[name] = found[aggregates[i].name] end
  return out
end

local function most_frequent_values(dataset, names)
  local out = categories.counters(dataset, names, {})
  for _, name in ipairs(names) do out[name] = most_frequent(out[name]) end
  return out
end

function SimpleImputer:_fit(dataset)
  local found = (self.strategy == 'mean' and means or most_frequent_values)(dataset, self.columns)
  local stats = ordered.new()
  for _, name in ipairs(self.columns) do
    if found[name] == nil then self:_refuse("fit: column '%s' has no values to choose one from", name) end
    stats[key_of(self, name)] = found[name]
  end
  return stats
end

local function refuse_kind(self, name, of, value)
  self:_refuse("column '%s' is %s, and the value for null is the %s %s", name, column.type_of(of), KINDS[type(value)],
    tostring(value))
end

local function filled_strings(of, value)
  if not of.valid or of.valid:all():item() then return of end
  local texts = of:values()
  for i = 1, of:len() do texts[i] = texts[i] or value end
  return Strings.from_list(texts, of:len(), of.binary)
end

-- Fills whole numbers and booleans; they become float64 where the value for null is not whole.
local function filled_integers(self, name, of, value)
  local masked = column.is_masked(of) and of or Masked.of(of)
  local is_boolean, missing = masked.data.dtype == 'bool', masked.valid:logical_not()
  if self.strategy == 'mean' then return masked.data:to('float64'):masked_fill(missing, value) end
  if KINDS[type(value)] ~= (is_boolean and 'boolean' or 'number') then refuse_kind(self, name, of, value) end
  if not is_boolean and value % 1 ~= 0 then return masked.data:to('float64'):masked_fill(missing, value) end
  if not missing:any():item() then return masked.data:clone() end
  local values = of:values()
  for i = 1, of:len() do
    if values[i] == nil then values[i] = value end
  end
  return to_column(values, of:len(), {name = name, dtype = masked.data.dtype})
end

local function filled(self, name, of, value)
  if column.is_strings(of) then
    if type(value) ~= 'string' then refuse_kind(self, name, of, value) end
    return filled_strings(of, value)
  end
  if column.is_masked(of) or column.is_tensor(of) and of:dim() == 1 and not of:is_floating_point() then
    return filled_integers(self, name, of, value)
  end
  if column.is_tensor(of) and of:dim() == 1 then
    if KINDS[type(value)] ~= 'number' then refuse_kind(self, name, of, value) end
    return of:masked_fill(of:isnan(), tonumber(value))
  end
  if column.is_tensor(of) then self:_refuse("column '%s' is %s, which has no nulls", name, column.type_of(of)) end
  local values = of:values()
  for i = 1, of:len() do
    if values[i] == nil then values[i] = value end
  end
  return to_column(values, of:len(), {name = name, default = 'number'})
end

local function constant(name, value, count)
  local values = {}
  for i = 1, count do values[i] = value end
  if count == 0 then values = {value} end
  return column.narrow(to_column(values, math.max(count, 1), {name = name, default = 'number'}), 0, count)
end

function SimpleImputer:_transform_block(block)
  local out = block
  for i, name in ipairs(self.columns) do
    local value = self.fill_value
    if value == nil then value = self.stats_[key_of(self, name)] end
    local of = block:has(name) and block:column(name)
    local is_missing = not of or inputs.has_no_type(of)
    local made = is_missing and constant(name, value, block:num_rows()) or filled(self, name, of, value)
    out = out:with(self.output_columns[i], made)
  end
  return out
end

-- The type of a column of Lua values depends on them.
function SimpleImputer:_needs_values(types)
  for _, name in ipairs(self.columns) do
    if types[name] == 'object' then return true end
  end
  return false
end

return SimpleImputer
