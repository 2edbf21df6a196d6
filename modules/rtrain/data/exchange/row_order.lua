-- rtrain/data/exchange/row_order.lua: sorts rows by one or several columns: stable, with nulls and NaN last in both
-- directions.

local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local torch = require 'torch'
local unsigned = require 'rtrain.data.columns.unsigned'

local row_order = {}

---@class data.SortKey
---@field name string
---@field descending boolean

-- Returns numbers that have the byte order of the strings; the numbers of nulls are arbitrary.
local function ranks_of(strings)
  local values, distinct, rank = strings:values(), {}, {}
  local count = strings:len()
  for i = 1, count do
    local text = values[i] or ''
    if not rank[text] then rank[text], distinct[#distinct + 1] = 0, text end
  end
  table.sort(distinct)
  for i, text in ipairs(distinct) do rank[text] = i end
  local out = {}
  for i = 1, count do out[i] = rank[values[i] or ''] end
  return torch.tensor(out, {dtype = 'int64'})
end

local function check_sortable(name, of)
  if column.is_strings(of) or column.is_masked(of) or column.is_null(of) then return end
  if column.is_tensor(of) and of:dim() == 1 and not of:is_complex() then return end
  errors.raise('argument', ("cannot sort by column '%s': it is %s; a key is a number, a boolean or a string for each row")
    :format(name, column.type_of(of)))
end

-- Returns the column as comparable numbers, and a mask of its nulls (nil if it has none).
local comparable
function comparable(of)
  if column.is_strings(of) then return ranks_of(of), of.valid and of.valid:logical_not() end
  if column.is_masked(of) then
    local data = comparable(of.data)
    return data, of.valid:logical_not()
  end
  if not column.is_tensor(of) then return torch.zeros({of:len()}, {dtype = 'uint8'}), nil end
  if of.dtype == 'bool' then return of:to('uint8'), nil end
  if not of:is_floating_point() then return unsigned.comparable(of), nil end
  local is_nan = of:isnan()
  return of, is_nan:any():item() and is_nan or nil
end

local function refined(order, values, descending)
  local _, finer = torch.sort(values:index_select(0, order), {dim = 0, stable = true, descending = descending})
  return order:index_select(0, finer)
end

---Returns the places of a block's rows in the order of the keys; rows with equal keys keep their order.
---@param block data.Block
---@param keys data.SortKey[] the most important first
---@return torch.Tensor places int64 (rows)
function row_order.of(block, keys)
  local order = torch.arange(block:num_rows())
  for i = #keys, 1, -1 do
    local of = block:column(keys[i].name)
    check_sortable(keys[i].name, of)
    local values, is_null = comparable(of)
    order = refined(order, values, keys[i].descending)
    if is_null then order = refined(order, is_null:to('uint8'), false) end
  end
  return order
end

---Returns the keys of one row.
---@param block data.Block
---@param keys data.SortKey[]
---@param i integer from 0
---@return table values the k-th key at place k; nil for null
function row_order.key_of(block, keys, i)
  local out = {}
  for k, key in ipairs(keys) do
    local value = column.value(block:column(key.name), i)
    if type(value) == 'boolean' then value = value and 1 or 0 end
    if value == value then out[k] = value end
  end
  return out
end

---Returns whether a row with the first keys comes before a row with the second.
---@param keys data.SortKey[]
---@param a table
---@param b table
---@return boolean
function row_order.is_before(keys, a, b)
  for k, key in ipairs(keys) do
    local x, y = a[k], b[k]
    if (x == nil) ~= (y == nil) then return y == nil end
    if x ~= nil and x ~= y then
      if key.descending then return x > y end
      return x < y
    end
  end
  return false
end

return row_order
