-- rtrain/data/dataset/groups.lua: the methods groupby and aggregate of Dataset.

local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local GroupedData = require 'rtrain.data.dataset.grouped_data'
local ordered = require 'base.ordered'
local SelectColumns = require('rtrain.data.operators.columns').SelectColumns

---@class rtrain.data.Dataset
local Dataset = require 'rtrain.data.dataset.base'

local groupby_signature = args.signature('groupby', {{'key'}, {'num_partitions'}})

---Returns the rows in groups with the same value of a column, or of several columns. The rows are sorted: data beyond
---DataContext's memory_bytes goes to temporary files. Rows whose key is null form a group. Arguments: key (a name or a
---list; nil: all rows are one group), {num_partitions}, which changes nothing. Ray equivalent: Dataset.groupby.
---
---```lua
---local data = require 'rtrain.data'
---local ds = data.from_items{{k = 'b'}, {k = 'a'}, {k = 'b'}}:groupby('k'):count()
---assert(ds:take_all()[2]['count()'] == 2)
---```
---@return data.GroupedData
function Dataset:groupby(...)
  local keys = checks.names('groupby', groupby_signature:bind(...).key or {})
  local schema = self._plan:schema()
  if schema then SelectColumns(keys, 'groupby'):schema_of(schema) end
  return GroupedData(self, keys)
end

---Returns aggregates of all rows: a table name → value, in the order of the arguments; a missing value is nil. Executes
---the dataset, in one pass. Ray equivalent: Dataset.aggregate.
---@param ... data.AggregateFn
---@return table<string, any>
---
---```lua
---local data = require 'rtrain.data'
---local A = data.aggregate
---local all = data.range(5):aggregate(A.Count(), A.Sum('id'), A.Mean('id', {alias_name = 'mean'}))
---assert(all['count()'] == 5 and all['sum(id)'] == 10 and all.mean == 2)
---```
function Dataset:aggregate(...)
  local row = GroupedData(self, {}):aggregate(...):take_all()[1] or {}
  local out = ordered.new()
  for _, aggregate in ipairs{...} do
    local value = row[aggregate.name]
    if value == value then out[aggregate.name] = value end
  end
  return out
end

return Dataset
