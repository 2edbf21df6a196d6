-- rtrain/data/preprocessors/encoder.lua: Encoder: the base of what replaces values by their places among the distinct ones.

local categories = require 'rtrain.data.preprocessors.categories'
local class = require 'base.class'
local column = require 'rtrain.data.columns.column'
local inputs = require 'rtrain.data.preprocessors.inputs'
local lists = require 'rtrain.data.columns.lists'
local Masked = require 'rtrain.data.columns.masked'
local Preprocessor = require 'rtrain.data.preprocessors.preprocessor'
local torch = require 'torch'

local Encoder = Preprocessor:extend('Encoder')
Encoder._keeps_rows = true

-- A column of Lua values may hold lists or not, which changes the type of the result.
function Encoder:_needs_values(types)
  for _, name in ipairs(self:get_input_columns()) do
    if types[name] == 'object' then return true end
  end
  return false
end

-- Takes `max_categories`.
function Encoder:_take_limits(a)
  self.max_categories = categories.checked_limits(class.of(self).__name, a.max_categories, self.columns)
end

-- Returns the statistics 'unique_values(column)'.
function Encoder:_fit_categories(dataset, encode_lists)
  return categories.fit(class.of(self).__name, dataset, self:get_input_columns(), {
    encode_lists = encode_lists, max_categories = self.max_categories,
  })
end

-- Returns the function from a value of a column to its code, made once.
function Encoder:_coder(name)
  self._coders = self._coders or {}
  local made = self._coders[name]
  if not made or made.stats ~= self.stats_ then
    made = {stats = self.stats_, code = categories.coder(self.stats_, name)}
    self._coders[name] = made
  end
  return made.code
end

-- Returns the number of categories of a column.
function Encoder:_count(name) return #self.stats_[('unique_values(%s)'):format(name)] end

-- Returns the values of a column, which has no null, and whether they are lists.
function Encoder:_values(block, name)
  local of = inputs.complete(class.of(self).__name, block, name)
  local rows = lists.rows(of)
  return rows or column.values(of), rows ~= nil, column.len(of)
end

---Returns the codes of values; null for an unknown value.
---@param values any[]
---@param count integer
---@param code fun(value: any): integer?
---@return torch.Tensor|data.Masked int64 (count)
function Encoder._codes(values, count, code)
  local codes, valid, is_known = {}, {}, true
  for i = 1, count do
    local found = code(values[i])
    codes[i], valid[i] = found or 0, found ~= nil
    is_known = is_known and found ~= nil
  end
  local data = torch.tensor(codes, {dtype = 'int64'})
  return is_known and data or Masked(data, torch.tensor(valid, {dtype = 'bool'}))
end

return Encoder
