-- rtrain/data/dataset/aggregates.lua: Dataset: sum, min, max, mean, std, unique: native, in one pass.

local args = require 'rtrain.args'
local column = require 'rtrain.data.column'
local errors = require 'rtrain.errors'
local ordered = require 'rtrain.ordered'
local torch = require 'torch'

---@class rtrain.data.Dataset
local Dataset = require 'rtrain.data.dataset.base'

-- A running sum, mean and squared distance from it, of float64, after Chan, Golub and LeVeque.
local function new_moments() return {count = 0, sum = 0, mean = 0, squares = 0, has_null = false} end

local function add_values(moments, values)
  local count = values:numel()
  if count == 0 then return end
  local sum, low, high = values:sum():item(), values:min():item(), values:max():item()
  local wide = values:to('float64')
  local mean = wide:mean():item()
  local total, difference = moments.count + count, mean - moments.mean
  moments.squares = moments.squares + (wide - mean):square():sum():item()
    + difference * difference * moments.count * count / total
  moments.mean = moments.mean + difference * count / total
  moments.count, moments.sum = total, moments.sum + sum
  if not moments.min or low < moments.min then moments.min = low end
  if not moments.max or high > moments.max then moments.max = high end
end

-- NaN stands for null.
local function add_column(moments, name, of, what)
  if not column.is_tensor(of) then
    errors.raise('argument', ("%s: column '%s' has no numbers but %s values"):format(what, name, column.type_of(of)))
  end
  local values = of:flatten()
  if values.dtype == 'bool' then values = values:to('int64') end
  if values:is_floating_point() then
    if values.dtype ~= 'float64' then values = values:to('float64') end
    local valid = values:isnan():logical_not()
    if not valid:all():item() then
      moments.has_null = true
      values = values:masked_select(valid)
    end
  end
  add_values(moments, values)
end

-- The moments of each column.
local function moments_of(self, names, what)
  local out = {}
  for i in ipairs(names) do out[i] = new_moments() end
  for block in self:select_columns(names):_execute() do
    for i, name in ipairs(names) do add_column(out[i], name, block:column(name), what) end
  end
  return out
end

local READ = {
  sum = function(moments) return moments.sum end,
  min = function(moments) return moments.min end,
  max = function(moments) return moments.max end,
  mean = function(moments) return moments.mean end,
  std = function(moments, ddof)
    if moments.count <= ddof then return nil end
    return math.sqrt(moments.squares / (moments.count - ddof))
  end,
}

local function result(what, moments, a)
  if moments.count == 0 then return nil end
  if moments.has_null and a.ignore_nulls == false then return 0 / 0 end
  return READ[what](moments, a.ddof)
end

local function aggregate(self, what, a)
  local names = a.on
  if type(names) == 'string' then names = {names} end
  if names == nil then names = self:columns() or {} end
  if #names == 0 then return ordered.new() end
  local moments = moments_of(self, names, what)
  if type(a.on) == 'string' then return result(what, moments[1], a) end
  local out = ordered.new()
  for i, name in ipairs(names) do out[('%s(%s)'):format(what, name)] = result(what, moments[i], a) end
  return out
end

local function signature(name, ...) return args.signature(name, {{'on'}, {'ignore_nulls', true}, ...}) end

local sum_signature, min_signature, max_signature = signature 'sum', signature 'min', signature 'max'
local mean_signature, std_signature = signature 'mean', args.signature('std', {{'on'}, {'ddof', 1}, {'ignore_nulls', true}})

---The sum of a column; of several columns, or of all, a table 'sum(name)' → number. Arguments: on (a name or a list),
---{ignore_nulls = true}: NaN counts as null. nil for a column without values. Counterpart: Dataset.sum.
---
---```lua
---local data = require 'rtrain.data'
---assert(data.range(4):sum('id') == 6 and data.range(4):mean{'id'}['mean(id)'] == 1.5)
---```
---@return number|table|nil
function Dataset:sum(...) return aggregate(self, 'sum', sum_signature:bind(...)) end

---The smallest value. Arguments: on, {ignore_nulls = true}. Counterpart: Dataset.min.
---@return number|table|nil
function Dataset:min(...) return aggregate(self, 'min', min_signature:bind(...)) end

---The largest value. Arguments: on, {ignore_nulls = true}. Counterpart: Dataset.max.
---@return number|table|nil
function Dataset:max(...) return aggregate(self, 'max', max_signature:bind(...)) end

---The mean. Arguments: on, {ignore_nulls = true}. Counterpart: Dataset.mean.
---@return number|table|nil
function Dataset:mean(...) return aggregate(self, 'mean', mean_signature:bind(...)) end

---The standard deviation. Arguments: on, {ddof = 1, ignore_nulls = true}. Counterpart: Dataset.std.
---@return number|table|nil
function Dataset:std(...) return aggregate(self, 'std', std_signature:bind(...)) end

-- A value as a key: int64 beyond 2^53 is cdata, which Lua compares by identity.
local function key_of(value) return type(value) == 'cdata' and tostring(value) or value end

---The different values of a column, in the order in which they are met; null is torch.none. Counterpart: Dataset.unique.
---@param name string
---@return any[]
---
---```lua
---local data = require 'rtrain.data'
---local labels = data.from_items{{y = 'b'}, {y = 'a'}, {y = 'b'}}:unique('y')
---assert(#labels == 2 and labels[1] == 'b')
---```
function Dataset:unique(name)
  local seen, out = {}, {}
  for block in self:select_columns{name}:_execute() do
    local values = column.values(block:column(name))
    for i = 1, block:num_rows() do
      local value = values[i]
      if value == nil or value ~= value then value = torch.none end
      local kind = type(value)
      if (kind == 'table' or kind == 'userdata') and value ~= torch.none then
        errors.raise('argument', ("unique: column '%s' holds %s"):format(name, column.type_of(block:column(name))))
      end
      local key = key_of(value)
      if not seen[key] then
        seen[key] = true
        out[#out + 1] = value
      end
    end
  end
  return out
end

return Dataset
