-- rtrain/data/dataset/aggregates.lua: the methods sum, min, max, mean, std and unique of Dataset, each in one pass.

local aggregates = require 'rtrain.data.aggregate'
local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local GroupedData = require 'rtrain.data.dataset.grouped_data'
local lists = require 'rtrain.data.columns.lists'
local ordered = require 'base.ordered'
local torch = require 'torch'

---@class rtrain.data.Dataset
local Dataset = require 'rtrain.data.dataset.base'

-- Computes one aggregate of a column, or a table of the aggregates of several columns.
local function aggregate(self, make, a)
  local names, made, out = checks.names('on', a.on or self:columns() or {}), {}, ordered.new()
  if #names == 0 then return out end
  for i, name in ipairs(names) do made[i] = make(name, {ignore_nulls = a.ignore_nulls, ddof = a.ddof}) end
  local row = GroupedData(self, {}):aggregate(unpack(made)):take_all()[1] or {}
  for _, each in ipairs(made) do
    local value = row[each.name]
    -- NaN marks a result in which a null counted.
    if value == value or not a.ignore_nulls then out[each.name] = value end
  end
  if type(a.on) == 'string' then return out[made[1].name] end
  return out
end

local function signature(name, ...) return args.signature(name, {{'on'}, {'ignore_nulls', true}, ...}) end

local sum_signature, min_signature, max_signature = signature 'sum', signature 'min', signature 'max'
local mean_signature, std_signature = signature 'mean', args.signature('std', {{'on'}, {'ddof', 1}, {'ignore_nulls', true}})

---Returns the sum of a column; for several columns, or all, a table 'sum(name)' → number. Arguments: on (a name or a
---list), {ignore_nulls = true}: NaN counts as null. nil for a column without values. Ray equivalent: Dataset.sum.
---
---```lua
---local data = require 'rtrain.data'
---assert(data.range(4):sum('id') == 6 and data.range(4):mean{'id'}['mean(id)'] == 1.5)
---```
---@return number|table|nil
function Dataset:sum(...) return aggregate(self, aggregates.Sum, sum_signature:bind(...)) end

---Returns the smallest value. Arguments: on, {ignore_nulls = true}. Ray equivalent: Dataset.min.
---@return number|table|nil
function Dataset:min(...) return aggregate(self, aggregates.Min, min_signature:bind(...)) end

---Returns the largest value. Arguments: on, {ignore_nulls = true}. Ray equivalent: Dataset.max.
---@return number|table|nil
function Dataset:max(...) return aggregate(self, aggregates.Max, max_signature:bind(...)) end

---Returns the mean. Arguments: on, {ignore_nulls = true}. Ray equivalent: Dataset.mean.
---@return number|table|nil
function Dataset:mean(...) return aggregate(self, aggregates.Mean, mean_signature:bind(...)) end

---Returns the standard deviation. Arguments: on, {ddof = 1, ignore_nulls = true}. Ray equivalent: Dataset.std.
---@return number|table|nil
function Dataset:std(...) return aggregate(self, aggregates.Std, std_signature:bind(...)) end

---Returns the distinct values of a column, in order of appearance; null is torch.none. Ray equivalent: Dataset.unique.
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
      local key = lists.key(value)
      if not seen[key] then
        seen[key] = true
        out[#out + 1] = value
      end
    end
  end
  return out
end

return Dataset
