-- rtrain/data/preprocessors/inputs.lua: the columns that preprocessors read, with errors that name the preprocessor.

local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local torch = require 'torch'

local inputs = {}

---Returns a column of a block.
---@param owner string the class, for messages
---@param block data.Block
---@param name string
---@return data.Column
function inputs.column(owner, block, name)
  if block:has(name) then return block:column(name) end
  local names = block:names()
  errors.raise('argument', ("%s: no column '%s'%s; there are: %s"):format(owner, name, errors.suggestion(name, names),
    table.concat(names, ', ')))
end

---Returns whether a column has Lua values, and none but null: then it may be of any type.
---@param of data.Column
---@return boolean
function inputs.has_no_type(of) return column.type_of(of) == 'object' and column.is_null(of) end

local function float_dtype(of) return column.is_tensor(of) and of:is_floating_point() and of.dtype or 'float64' end

---Returns a column with one number in each row as float64, NaN for null, and the dtype that the result gets: that of a
---column of floats, else float64.
---@param owner string the class, for messages
---@param block data.Block
---@param name string
---@return torch.Tensor values float64 (rows)
---@return string dtype
function inputs.numbers(owner, block, name)
  local of = inputs.column(owner, block, name)
  if column.is_masked(of) then return of:to_float 'float64', 'float64' end
  if column.is_tensor(of) and of:dim() == 1 and not of:is_complex() then return of:to('float64'), float_dtype(of) end
  if inputs.has_no_type(of) then return torch.full({column.len(of)}, 0 / 0, {dtype = 'float64'}), 'float64' end
  errors.raise('argument', ("%s: column '%s' is %s: expected a number in each row"):format(owner, name, column.type_of(of)))
end

---Returns the place of the first null of a column; nil if it has none. NaN is null.
---@param of data.Column
---@return integer? row from 0
function inputs.first_null(of)
  local missing
  if column.is_strings(of) or column.is_masked(of) then
    missing = of.valid and of.valid:logical_not()
  elseif column.is_tensor(of) then
    missing = of:dim() == 1 and of:is_floating_point() and of:isnan() or nil
  else
    missing = of:valid():logical_not()
  end
  if not missing or not missing:any():item() then return nil end
  return missing:nonzero()[0][0]:item()
end

---Returns a column without null.
---@param owner string the class, for messages
---@param block data.Block
---@param name string
---@return data.Column
function inputs.complete(owner, block, name)
  local of = inputs.column(owner, block, name)
  local row = inputs.first_null(of)
  if row == nil then return of end
  errors.raise('argument', ("%s: column '%s' has no value in %s: a SimpleImputer before it gives one"):format(owner, name,
    block:origin(row) or 'row ' .. row))
end

---Computes aggregates of columns of numbers. Min and Max are also there for strings, which are refused.
---@param owner string the class, for messages
---@param dataset rtrain.data.Dataset
---@param aggregates data.AggregateFn[]
---@return table<string, any> found by the aggregate's name; nil without values
function inputs.statistics(owner, dataset, aggregates)
  local found = dataset:aggregate(unpack(aggregates))
  for _, aggregate in ipairs(aggregates) do
    if type(found[aggregate.name]) == 'string' then
      errors.raise('argument', ("%s: fit: column '%s' has no numbers but string values"):format(owner, aggregate.on))
    end
  end
  return found
end

return inputs
