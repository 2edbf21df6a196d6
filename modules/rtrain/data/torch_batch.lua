-- rtrain/data/torch_batch.lua: what iter_torch_batches makes of a block: tensors of the wanted dtype on the wanted device.

local args = require 'rtrain.args'
local column = require 'rtrain.data.column'
local errors = require 'rtrain.errors'
local ordered = require 'rtrain.ordered'
local torch = require 'torch'

local torch_batch = {}

-- Tensors of one shape are stacked, strings stay a list.
local function values_of(name, of)
  if column.is_tensor(of) or column.is_strings(of) then return column.to_batch(of) end
  local values = column.to_batch(of)
  local first = values[1]
  for _, value in ipairs(values) do
    if not column.is_tensor(value) or not column.is_tensor(first) or value.dtype ~= first.dtype
      or table.concat(value.shape, ' ') ~= table.concat(first.shape, ' ') then
      errors.raise('argument', ("iter_torch_batches: the rows of column '%s' make no tensor, since they differ in shape or are "
        .. 'no tensors: pass collate_fn = function(batch) … end, or map them to one shape'):format(name))
    end
  end
  return torch.stack(values)
end

local function dtype_of(dtypes, name)
  if type(dtypes) == 'table' then return dtypes[name] end
  return dtypes
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

local function tensor_of(value, dtype, device)
  local out = value:to(dtype or value.dtype)
  if device ~= 'cpu' then out = out:to(device) end
  -- The body may change its batch in place: the data must not change with it.
  return out == value and out:clone() or out
end

---The conversion for a loop.
---@param options {dtypes?: string|table<string, string>, device: string, collate_fn?: fun(batch: table): any}
---@return fun(block: data.Block): any
function torch_batch.converter(options)
  if options.collate_fn then
    return function(block) return options.collate_fn(block:to_batch()) end
  end
  return function(block)
    check_dtypes(options.dtypes, block)
    local out = ordered.new()
    for _, name in ipairs(block:names()) do
      local value = values_of(name, block:column(name))
      if column.is_tensor(value) then value = tensor_of(value, dtype_of(options.dtypes, name), options.device) end
      out[name] = value
    end
    return out
  end
end

return torch_batch
