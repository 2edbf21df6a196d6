-- rtrain/data/aggregate/base.lua: AggregateFn: the base class of values that are computed of the rows of each group.
--
-- The rows come in blocks. An aggregate turns each block into a state with a row for each group. If a group continues
-- in the next block, its two states are merged. States are blocks, so they are cut and joined like rows.

local args = require 'base.args'
local Block = require 'rtrain.data.blocks.block'
local class = require 'base.class'
local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local Masked = require 'rtrain.data.columns.masked'
local torch = require 'torch'

---Base of the aggregates of rtrain.data.aggregate.
---@class data.AggregateFn
---@field on? string the column it reads
---@field name string of the column that it makes
local AggregateFn = class('AggregateFn')

---Returns the signature of an aggregate, with Ray's parameters.
---@param name string
---@param own? table a parameter that only this aggregate has, after `on`, as in args.signature
---@return table signature
function AggregateFn.signature(name, own)
  local parameters = {'on', {'ignore_nulls', true}, {'alias_name'}}
  if own then table.insert(parameters, 2, own) end
  return args.signature(name, parameters)
end

---Stores the parameters.
---@param what string 'sum'
---@param a {on: string?, ignore_nulls: boolean, alias_name: string?}
function AggregateFn:_take(what, a)
  if a.on ~= nil and type(a.on) ~= 'string' then
    errors.raise('argument', ('%s: on: expected the name of a column, got a %s'):format(class.of(self).__name, type(a.on)))
  end
  self.on, self._ignores_nulls = a.on, a.ignore_nulls
  self.name = a.alias_name or ('%s(%s)'):format(what, a.on or '')
end

-- Returns the groups of the single numbers when each row has `count` numbers.
local function of_elements(groups, count)
  return {block = groups.block, count = groups.count, rows = groups.rows * count, starts = groups.starts * count,
          ids = groups.ids:repeat_interleave(count)}
end

local function has_numbers(of)
  return column.is_masked(of) or column.is_null(of) or column.is_tensor(of) and not of:is_complex()
end

-- Returns all values as a flat list, with NaN or 0 in place of null, and a mask of the valid values; no mask if all are
-- valid.
local function flattened(of)
  if column.is_masked(of) then return of.data, of.valid end
  if column.is_tensor(of) then return of:flatten(), AggregateFn._valid(of:flatten()) end
  return torch.zeros({of:len()}, {dtype = 'int64'}), of:valid()
end

-- Converts to int64, the dtype of sums.
local function to_int64(self, values)
  if values.dtype == 'uint64' and values:view('int64'):lt(0):any():item() then
    errors.raise('argument', ("%s: column '%s' holds uint64 beyond 2^63, and sums are int64: map it to float64 before"):format(
      class.of(self).__name, self.on))
  end
  return values:to('int64')
end

---Returns the numbers of the column: floats as float64, others as int64; `wide = false` keeps their dtype. Rows of more
---dimensions contribute all their numbers.
---@param groups data.Groups
---@param wide? boolean
---@return torch.Tensor values (numbers) NaN, or 0 among integers, where a row is null
---@return data.Groups groups of the numbers
---@return torch.Tensor|nil valid bool (numbers) nil if no row is null
function AggregateFn:_numbers(groups, wide)
  local of = groups.block:column(self.on)
  if not has_numbers(of) then
    errors.raise('argument', ("%s: column '%s' has no numbers but %s values"):format(class.of(self).__name, self.on,
      column.type_of(of)))
  end
  if column.is_tensor(of) and of:dim() > 1 then groups = of_elements(groups, of:numel() / of:size(0)) end
  local values, valid = flattened(of)
  if values.dtype == 'bool' then return values:to('int64'), groups, valid end
  if wide == false then return values, groups, valid end
  if values:is_floating_point() then return values:to('float64'), groups, valid end
  return to_int64(self, values), groups, valid
end

---Returns whether each row has a value.
---@param of data.Column
---@return torch.Tensor|nil valid bool (rows); nil if all rows have a value
function AggregateFn._valid(of)
  if column.is_strings(of) or column.is_masked(of) then return of.valid end
  if column.is_tensor(of) and of:dim() == 1 and of:is_floating_point() then return of:isnan():logical_not() end
  return not column.is_tensor(of) and of:valid() or nil
end

---Returns the results with null where `is_known` is false.
---@param values torch.Tensor
---@param is_known torch.Tensor bool
---@return data.Column
function AggregateFn._known(values, is_known)
  if values:is_floating_point() then return values:masked_fill(is_known:logical_not(), 0 / 0) end
  if is_known:all():item() then return values end
  return Masked.of(values):without(is_known:logical_not())
end

---Returns a state.
---@param names string[]
---@param ... data.Column
---@return data.Block
function AggregateFn._state(names, ...) return Block(names, {...}) end

---Returns the state of each group of a block.
---@param groups data.Groups
---@return data.Block state one row for each group
function AggregateFn:partial(groups)
  errors.raise('internal', ('%s has no partial(%s)'):format(class.of(self).__name, tostring(groups)))
end

---Merges the two states of a group: adds them, unless a class overrides this.
---@param a data.Block one row
---@param b data.Block one row, the state of the later rows
---@return data.Block
function AggregateFn:merge(a, b)
  local names, columns = a:names(), {}
  for i, name in ipairs(names) do columns[i] = a:column(name) + b:column(name) end
  return Block(names, columns)
end

---Returns the results.
---@param state data.Block
---@return data.Column
function AggregateFn:finalize(state) return state:column(state:names()[1]) end

---Returns the type of the results.
---@param type string of the column
---@return string
function AggregateFn:type_of(type) return type end

return AggregateFn
