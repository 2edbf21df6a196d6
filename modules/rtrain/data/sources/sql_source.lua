-- rtrain/data/sources/sql_source.lua: SqlSource: the rows of a query on an SQLite file, in the order in which SQLite
-- returns them.

local Block = require 'rtrain.data.blocks.block'
local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local Source = require 'rtrain.data.sources.source'
local torch = require 'torch'

---Rows of a query. Arguments: sql, path, {sql_params, column_types}.
---@class data.SqlSource: data.Source
---@overload fun(sql: string, path: string, options: table): data.SqlSource
local SqlSource = Source:extend('SqlSource')
SqlSource.name = 'ReadSQL'

local function open(self, types) return require('base._sqlite').open(self._path, self._sql, self._parameters, types) end

-- Returns the parameters as plain data, in which an empty table stands for NULL.
local function plain(parameters)
  local out = {}
  for key, value in next, parameters or {} do
    if value == torch.none then value = {} end
    out[key] = value
  end
  return out
end

-- Replaces the types that column_types names.
local function typed(schema, column_types)
  local names, by_name = {}, {}
  for i, entry in ipairs(schema) do names[i], by_name[entry.name] = entry.name, entry end
  for name, type in next, column_types or {} do
    if by_name[name] == nil then
      errors.raise('argument', ("read_sql: column_types: the query has no column '%s'%s"):format(tostring(name),
        errors.suggestion(tostring(name), names)))
    end
    by_name[name].type = type
  end
  return schema
end

function SqlSource:init(sql, path, options)
  self._sql, self._path, self._parameters = sql, path, plain(options.sql_params)
  self._schema = typed(open(self):columns(), options.column_types)
end

function SqlSource:schema()
  local out = {}
  for i, entry in ipairs(self._schema) do out[i] = {name = entry.name, type = entry.type} end
  return out
end

-- The query is one fragment: only SQLite knows where a row is.
function SqlSource:fragments() return self and {{path = self._path}} end

function SqlSource:count_rows() return open(self):skip(2 ^ 53) end

function SqlSource:input_files() return {self._path} end

-- A part of the rows is read after those before were passed over.
function SqlSource:cut(fragment, skip, count)
  local start = (fragment.start or 0) + skip
  return self and {path = fragment.path, start = start, skip = 0, count = count, rows = count}
end

local function raise_changed(self, rows, wanted)
  errors.raise('argument', ("the query on '%s' returns %d rows, and it returned %d when they were counted: a file must not "
    .. 'change while it is read'):format(self._path, rows, wanted))
end

-- A column that is null in the first rows, and of no declared type, has no type.
local function with_types(block, schema)
  for _, entry in ipairs(schema) do
    if entry.type == 'null' then block = block:with(entry.name, column.nulls('object', block:num_rows())) end
  end
  return block
end

function SqlSource:read(fragment, options)
  local types = {}
  for i, entry in ipairs(self._schema) do types[i] = entry.type end
  local query, start, given = open(self, types), fragment.start or 0, 0
  local passed = query:skip(start)
  if passed < start then raise_changed(self, passed, start + fragment.count) end
  return function()
    local batch = query:next(options.max_rows or 2 ^ 53, options.max_bytes)
    if batch == nil then
      if fragment.count and given < fragment.count then raise_changed(self, start + given, start + fragment.count) end
      return nil
    end
    given = given + batch:num_rows()
    return with_types(Block.from_arrow(batch), self._schema)
  end
end

return SqlSource
