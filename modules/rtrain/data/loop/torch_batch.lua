-- rtrain/data/loop/torch_batch.lua: converts a block for the loop's body: to separate tensors of the requested dtype,
-- on the requested device.

local column = require 'rtrain.data.columns.column'
local dtype_names = require 'torch.tensor.dtypes'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local torch = require 'torch'

local torch_batch = {}

---Returns a block as a table column → tensor or list. The body may change the tensors in place without changing the
---dataset.
---@param block data.Block
---@return table<string, torch.Tensor|any[]>
function torch_batch.owned(block)
  return block:to_batch{copies = true}
end

local function same_kind(a, b)
  return column.is_tensor(a) and column.is_tensor(b) and a.dtype == b.dtype
    and table.concat(a.shape, ' ') == table.concat(b.shape, ' ')
end

local function is_float(dtype) return type(dtype) == 'string' and dtype:match '^b?float' ~= nil end

-- 'row 3 of the batch (row 1203 of /data/a.csv)'
local function at_row(block, row)
  local origin = block:origin(row)
  return ('row %d of the batch%s'):format(row, origin and (' (%s)'):format(origin) or '')
end

local function refuse_null(name, type, place)
  errors.raise('argument', ("iter_torch_batches: column '%s' is %s, and %s is null, for which there is no "
    .. "such value. Give null a value before, as by map(function(row) row['%s'] = row['%s'] or 0 return row end), leave "
    .. "such rows out with filter, or say dtypes = {['%s'] = 'float32'} to get NaN"):format(name, type, place, name, name,
    name))
end

local function first_null(valid) return valid:logical_not():nonzero()[0]:item() end

-- Returns a column that may be null as a tensor. A column with nulls must be converted to floats.
local function unmasked(block, name, dtype)
  local of = block:column(name)
  if not of:has_null() then return of.data end
  if is_float(dtype) then return of:to_float(dtype) end
  refuse_null(name, column.type_of(of), at_row(block, first_null(of.valid)))
end

-- Returns the rows of a column that has no value and no type.
local function of_nulls(name, of, dtype)
  if is_float(dtype) then return column.nulls(dtype, of:len()) end
  errors.raise('argument', ("iter_torch_batches: column '%s' has no value in any row of the batch: leave it out with "
    .. "drop_columns, or say dtypes = {['%s'] = 'float32'} to get NaN"):format(name, name))
end

-- 'float32 [3, 4]', 'a table'
local function kind_text(value)
  if not column.is_tensor(value) then return 'a ' .. type(value) end
  return ('%s [%s]'):format(value.dtype, table.concat(value.shape, ', '))
end

-- Raises an error if values of two kinds are in one column. Rows without a value are ignored.
local function refuse_two_kinds(block, name, values)
  local first
  for i, value in ipairs(values) do
    if value ~= torch.none then
      first = first or i
      if type(value) ~= type(values[first]) then
        errors.raise('argument', ("iter_torch_batches: the rows of column '%s' make no tensor: %s is %s, %s is %s: give the "
          .. 'column one type, as by column_types of read_csv or map, or pass collate_fn = function(batch) … end'):format(name,
          at_row(block, first - 1), kind_text(values[first]), at_row(block, i - 1), kind_text(value)))
      end
    end
  end
end

-- Stacks tensors of one shape; strings stay a list.
local function values_of(block, name, dtype)
  local of = block:column(name)
  if column.is_tensor(of) or column.is_strings(of) then return column.to_batch(of) end
  if column.is_masked(of) then return unmasked(block, name, dtype) end
  if column.is_null(of) then return of_nulls(name, of, dtype) end
  local values = column.to_batch(of)
  refuse_two_kinds(block, name, values)
  for i, value in ipairs(values) do
    if value == torch.none then
      errors.raise('argument', ("iter_torch_batches: column '%s': %s is null: leave such rows out with "
        .. 'filter, or pass collate_fn = function(batch) … end'):format(name, at_row(block, i - 1)))
    end
    if not same_kind(value, values[1]) then
      errors.raise('argument', ("iter_torch_batches: the rows of column '%s' make no tensor, since they differ in shape or are "
        .. 'not tensors: %s%s is %s: pass collate_fn = function(batch) … end, or map them to one shape'):format(name,
        i > 1 and ('%s is %s, '):format(at_row(block, 0), kind_text(values[1])) or '', at_row(block, i - 1), kind_text(value)))
    end
  end
  return torch.stack(values)
end

-- Raises an error for a NaN that would be converted to an integer.
local function check_finite(block, name, value, dtype)
  if not value:is_floating_point() or not column.is_integer(dtype) then return end
  local bad = value:isfinite():logical_not()
  if not bad:any():item() then return end
  local row = bad:nonzero()[0][0]:item()
  errors.raise('argument', ("iter_torch_batches: column '%s' is to be %s, and %s has a value that is null, "
    .. 'NaN or infinite: leave such rows out with filter, or choose a dtype of floats'):format(name, dtype, at_row(block, row)))
end

local function check_dtypes(dtypes, block)
  if type(dtypes) ~= 'table' then return end
  for _, name in ipairs(ordered.keys_of(dtypes)) do
    if not block:has(name) then
      errors.raise('argument', ("iter_torch_batches: dtypes names a column '%s' that is not there%s"):format(tostring(name),
        errors.suggestion(tostring(name), block:names())))
    end
  end
end

local function tensor_of(value, dtype, options, is_owned)
  local out = dtype and value:to(dtype) or value
  if options.pin_memory then out = out:pin_memory() end
  if options.device ~= 'cpu' then out = out:to(options.device) end
  return out == value and not is_owned and out:clone() or out
end

---Returns the conversion for a loop.
---@param options {dtypes?: string|table<string, string>, device: string, pin_memory?: boolean,
---  collate_fn?: fun(batch: table): any}
---@return fun(block: data.Block): any
function torch_batch.converter(options)
  local collate_fn, dtypes = options.collate_fn, options.dtypes
  if collate_fn then
    return function(block) return collate_fn(torch_batch.owned(block)) end
  end
  return function(block)
    check_dtypes(dtypes, block)
    local out = ordered.new()
    for _, name in ipairs(block:names()) do
      local dtype = dtypes
      if type(dtypes) == 'table' then dtype = dtypes[name] end
      dtype = dtype_names.own_name(dtype)
      local value = values_of(block, name, dtype)
      if column.is_tensor(value) then
        check_finite(block, name, value, dtype)
        value = tensor_of(value, dtype, options, block:owns(name))
      end
      out[name] = value
    end
    return out
  end
end

return torch_batch
