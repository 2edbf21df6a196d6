-- rtrain/data/operators/columns.lua: select_columns, drop_columns, rename_columns.

local errors = require 'base.errors'
local Operator = require 'rtrain.data.operators.operator'

-- Base of the operators that change only columns.
local ColumnOperator = Operator:extend('ColumnOperator')
ColumnOperator.preserves_rows = true
ColumnOperator.row_wise = true

local function names_of(schema)
  local out = {}
  for i, entry in ipairs(schema) do out[i] = entry.name end
  return out
end

-- Computes the schema by changing an empty block, which also checks the names.
local function check_names(operator, names, schema)
  local known = {}
  for _, entry in ipairs(schema) do known[entry.name] = entry end
  for _, name in ipairs(names) do
    if not known[name] then
      local all = names_of(schema)
      errors.raise('argument', ("%s: no column '%s'%s; there are: %s"):format(operator, tostring(name),
        errors.suggestion(tostring(name), all), table.concat(all, ', ')))
    end
  end
  return known
end

---Selects the columns of these names, in this order.
---@class data.SelectColumns: data.Operator
local SelectColumns = ColumnOperator:extend('SelectColumns')
SelectColumns.name = 'SelectColumns'

function SelectColumns:init(names, owner) self.names, self._owner = names, owner or 'select_columns' end

function SelectColumns:apply(block) return block:select(self.names) end

function SelectColumns:schema_of(schema)
  local known, out = check_names(self._owner, self.names, schema), {}
  for i, name in ipairs(self.names) do out[i] = known[name] end
  return out
end

---Selects all columns except these.
---@class data.DropColumns: data.Operator
local DropColumns = ColumnOperator:extend('DropColumns')
DropColumns.name = 'DropColumns'

function DropColumns:init(names) self.names = names end

function DropColumns:apply(block) return block:drop(self.names) end

function DropColumns:schema_of(schema)
  check_names('drop_columns', self.names, schema)
  local dropped, out = {}, {}
  for _, name in ipairs(self.names) do dropped[name] = true end
  for _, entry in ipairs(schema) do
    if not dropped[entry.name] then out[#out + 1] = entry end
  end
  return out
end

---Renames some columns, or with a list all columns.
---@class data.RenameColumns: data.Operator
local RenameColumns = ColumnOperator:extend('RenameColumns')
RenameColumns.name = 'RenameColumns'

function RenameColumns:init(names)
  self._names, self._old = names, {}
  for old in next, names do
    if type(old) == 'string' then self._old[#self._old + 1] = old end
  end
  table.sort(self._old)
end

local function renamed(self, names)
  if #self._names > 0 and #self._names ~= #names then
    errors.raise('argument', ('rename_columns: %d names for %d columns: %s'):format(#self._names, #names,
      table.concat(names, ', ')))
  end
  local out = {}
  for i, name in ipairs(names) do out[i] = self._names[i] or self._names[name] or name end
  return out
end

function RenameColumns:apply(block)
  for _, old in ipairs(self._old) do block:column(old) end
  return block:renamed(renamed(self, block:names()))
end

function RenameColumns:schema_of(schema)
  check_names('rename_columns', self._old, schema)
  local out = {}
  for i, name in ipairs(renamed(self, names_of(schema))) do out[i] = {name = name, type = schema[i].type} end
  return out
end

return {SelectColumns = SelectColumns, DropColumns = DropColumns, RenameColumns = RenameColumns}
