-- rtrain/data/dataset/grouped_data.lua: GroupedData: the result of Dataset:groupby.

local aggregates = require 'rtrain.data.aggregate'
local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local class = require 'base.class'
local functions = require 'rtrain.data.operators.function_options'
local group = require 'rtrain.data.operators.group'
local SelectColumns = require('rtrain.data.operators.columns').SelectColumns

---The rows of a dataset in groups with the same keys; made by Dataset:groupby. Its methods return datasets with the
---groups sorted by key, null last. Ray equivalent: ray.data.grouped_data.GroupedData.
---@class data.GroupedData
---@overload fun(dataset: rtrain.data.Dataset, keys: string[]): data.GroupedData
local GroupedData = class('GroupedData')

function GroupedData:init(dataset, keys) self._dataset, self._keys = dataset, keys end

function GroupedData:__tostring()
  return ('GroupedData(dataset=%s, key=%s)'):format(tostring(self._dataset), table.concat(self._keys, ', '))
end

---Returns a row for each group: its keys, and a column for each aggregate. Ray equivalent: GroupedData.aggregate.
---@param ... data.AggregateFn
---@return rtrain.data.Dataset
---
---```lua
---local data = require 'rtrain.data'
---local A = data.aggregate
---local ds = data.from_items{{k = 'a', x = 1}, {k = 'b', x = 5}, {k = 'a', x = 3}}
---local row = ds:groupby('k'):aggregate(A.Count(), A.Mean('x'), A.Max('x', {alias_name = 'top'})):take(1)[1]
---assert(row.k == 'a' and row['count()'] == 2 and row['mean(x)'] == 2 and row.top == 3)
---```
function GroupedData:aggregate(...)
  local dataset, operator = self._dataset, group.Aggregate(self._keys, group.Aggregate.checked('aggregate', self._keys, ...))
  local columns = operator:columns()
  if #columns > 0 then
    local schema = dataset._plan:schema()
    if schema then SelectColumns(columns, 'aggregate'):schema_of(schema) end
    dataset = dataset:select_columns(columns)
  end
  return dataset:_with(operator)
end

---Returns the number of rows of each group, in the column 'count()'. Ray equivalent: GroupedData.count.
---@return rtrain.data.Dataset
function GroupedData:count() return self:aggregate(aggregates.Count()) end

-- Computes an aggregate of some columns, or of all columns except the keys.
local function of_columns(self, make, a)
  local names, is_key, made = a.on, {}, {}
  for _, key in ipairs(self._keys) do is_key[key] = true end
  if names == nil then
    names = {}
    for _, name in ipairs(self._dataset:columns() or {}) do
      if not is_key[name] then names[#names + 1] = name end
    end
  end
  for i, name in ipairs(checks.names('groupby', names)) do
    made[i] = make(name, {ignore_nulls = a.ignore_nulls, ddof = a.ddof})
  end
  return self:aggregate(unpack(made))
end

local function signature(name, ...) return args.signature(name, {{'on'}, {'ignore_nulls', true}, ...}) end

local sum_signature, min_signature, max_signature = signature 'sum', signature 'min', signature 'max'
local mean_signature, std_signature = signature 'mean', args.signature('std', {{'on'}, {'ddof', 1}, {'ignore_nulls', true}})

---Returns the sums in columns 'sum(name)'. Arguments: on (a name or a list; nil: all but the keys), {ignore_nulls =
---true}. Ray equivalent: GroupedData.sum.
---
---```lua
---local data = require 'rtrain.data'
---local ds = data.range(10):map(function(row) return {even = row.id % 2 == 0, id = row.id} end, {dtypes = {id = 'int64'}})
---assert(ds:groupby('even'):sum('id'):take_all()[2]['sum(id)'] == 20)
---```
---@return rtrain.data.Dataset
function GroupedData:sum(...) return of_columns(self, aggregates.Sum, sum_signature:bind(...)) end

---Returns the smallest values in columns 'min(name)'. Arguments: on, {ignore_nulls = true}. Ray equivalent:
---GroupedData.min.
---@return rtrain.data.Dataset
function GroupedData:min(...) return of_columns(self, aggregates.Min, min_signature:bind(...)) end

---Returns the largest values in columns 'max(name)'. Arguments: on, {ignore_nulls = true}. Ray equivalent:
---GroupedData.max.
---@return rtrain.data.Dataset
function GroupedData:max(...) return of_columns(self, aggregates.Max, max_signature:bind(...)) end

---Returns the means in columns 'mean(name)'. Arguments: on, {ignore_nulls = true}. Ray equivalent: GroupedData.mean.
---@return rtrain.data.Dataset
function GroupedData:mean(...) return of_columns(self, aggregates.Mean, mean_signature:bind(...)) end

---Returns the standard deviations in columns 'std(name)'. Arguments: on, {ddof = 1, ignore_nulls = true}. Ray
---equivalent: GroupedData.std.
---@return rtrain.data.Dataset
function GroupedData:std(...) return of_columns(self, aggregates.Std, std_signature:bind(...)) end

local map_signature = functions.signature('map_groups', {'fn', {'zero_copy_batch', true}, {'batch_format', 'default'}})

---Calls a function for the rows of each group, as a batch: a table column → tensor, or list for strings and Lua values.
---The function returns a batch of any number of rows, or an iterator over batches. The rows of a group are in memory
---together. Arguments: fn, {batch_format = 'default'}, and the options of Dataset:map. Ray equivalent:
---GroupedData.map_groups.
---
---```lua
---local data = require 'rtrain.data'
---local ds = data.from_items{{k = 1, x = 1}, {k = 2, x = 5}, {k = 1, x = 3}}
---local centred = ds:groupby('k'):map_groups(function(batch)
---  return {k = batch.k, x = batch.x - batch.x:double():mean()}
---end)
---assert(centred:take_all()[1].x == -1)
---```
---@return rtrain.data.Dataset
function GroupedData:map_groups(...)
  local a = map_signature:bind(...)
  functions.check_format('map_groups', a.batch_format)
  local fn = functions.made('map_groups', a)
  return self._dataset:_with(group.WholeGroups(self._keys)):_with(group.MapGroups(fn, {dtypes = a.dtypes}))
end

return GroupedData
