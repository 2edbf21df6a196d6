-- rtrain/data/operators/rows.lua: map, flat_map, filter: call a user function for each row.

local Block = require 'rtrain.data.blocks.block'
local errors = require 'base.errors'
local Numbering = require 'rtrain.data.rows.numbering'
local Operator = require 'rtrain.data.operators.operator'
local torch = require 'torch'

-- Base: calls the function for each row of a block; subclasses turn the results into a block.
local RowOperator = Operator:extend('RowOperator')
RowOperator.calls_user = true
RowOperator.row_wise = true

function RowOperator:init(fn, options)
  self._fn, self._dtypes = fn, options and options.dtypes
  self.name = ('%s(%s)'):format(fn.operator, fn:name())
end

function RowOperator:stream(upstream, position)
  local at, number, call = 0, Numbering.of(position), self:checked()
  return function()
    for block in upstream do
      local rows, results = block:rows(), {}
      for i, row in ipairs(rows) do results[i] = self._fn:call_row(position, number(at + i - 1), call, row) end
      at = at + #rows
      local out = self:collect(block, results, rows)
      if out:num_rows() > 0 then return out end
    end
  end
end

local function refuse(operator, expected, value)
  errors.raise('argument', ('%s: expected the function to return %s, got a %s'):format(operator, expected, type(value)))
end

---Maps each row to one row.
---@class data.MapRows: data.Operator
local MapRows = RowOperator:extend('MapRows')
MapRows.preserves_rows = true

---Returns the function with a check of its result.
---@return fun(row: table): table
function MapRows:checked()
  local fn, operator = self._fn:callable(), self._fn.operator
  return function(row)
    local out = fn(row)
    if type(out) ~= 'table' then refuse(operator, 'a row {column = value, …}', out) end
    return out
  end
end

---Returns the block of the results.
---@param block data.Block
---@param results table[]
---@param rows table[] the arguments of the function
---@return data.Block
function MapRows:collect(block, results, rows)
  return Block.from_rows(results, block, {dtypes = self._dtypes, keeps = results[1] == rows[1]})
end

---Maps each row to any number of rows.
---@class data.FlatMapRows: data.Operator
local FlatMapRows = RowOperator:extend('FlatMapRows')
FlatMapRows.row_wise = false

---Returns the function with a check of its result.
---@return fun(row: table): table[]
function FlatMapRows:checked()
  local fn, operator = self._fn:callable(), self._fn.operator
  return function(row)
    local out = fn(row)
    if type(out) ~= 'table' or (#out == 0 and next(out) ~= nil) then
      refuse(operator, 'a list of rows {{column = value, …}, …}', out)
    end
    return out
  end
end

---Returns the block of the results.
---@param block data.Block
---@param results table[][]
---@param given table[] the arguments of the function
---@return data.Block
function FlatMapRows:collect(block, results, given)
  local rows, keeps = {}, false
  for i, list in ipairs(results) do
    for _, row in ipairs(list) do
      rows[#rows + 1] = row
      keeps = keeps or row == given[i]
    end
  end
  return Block.from_rows(rows, block, {dtypes = self._dtypes, keeps = keeps})
end

---Keeps the rows for which the function returns true.
---@class data.FilterRows: data.Operator
local FilterRows = RowOperator:extend('FilterRows')

---Returns the function; its result counts as in `if`.
---@return fun(row: table): boolean
function FilterRows:checked()
  local fn = self._fn:callable()
  return function(row)
    local out = fn(row)
    if type(out) == 'userdata' and torch.is_tensor(out) then out = out:item() end
    return out and true or false
  end
end

---Returns the block of the rows that are kept.
---@param block data.Block
---@param results boolean[]
---@return data.Block
function FilterRows:collect(block, results)
  local kept = {}
  for i, keep in ipairs(results) do
    if keep then kept[#kept + 1] = i - 1 end
  end
  if #kept == #results then return block end
  return block:take(torch.tensor(kept, {dtype = 'int64'}))
end

function FilterRows:schema_of(schema) return schema end

return {MapRows = MapRows, FlatMapRows = FlatMapRows, FilterRows = FilterRows}
