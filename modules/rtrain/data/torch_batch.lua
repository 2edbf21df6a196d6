-- rtrain/data/torch_batch.lua: what a loop's body gets of a block: its own tensors, of the wanted dtype, on the wanted device.

local column = require 'rtrain.data.column'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local torch = require 'torch'

local torch_batch = {}

---A block as a table column → tensor or list. The body may change its tensors in place: the data do not change with them.
---@param block data.Block
---@return table<string, torch.Tensor|any[]>
function torch_batch.owned(block)
  local batch = block:to_batch()
  for name, value in ordered.items(batch) do
    if column.is_tensor(value) then batch[name] = value:clone() end
  end
  return batch
end

local function same_kind(a, b)
  return column.is_tensor(a) and column.is_tensor(b) and a.dtype == b.dtype
    and table.concat(a.shape, ' ') == table.concat(b.shape, ' ')
end

-- Tensors of one shape are stacked, strings stay a list.
local function values_of(name, of)
  if column.is_tensor(of) or column.is_strings(of) then return column.to_batch(of) end
  local values = column.to_batch(of)
  for _, value in ipairs(values) do
    if not same_kind(value, values[1]) then
      errors.raise('argument', ("iter_torch_batches: the rows of column '%s' make no tensor, since they differ in shape or are "
        .. 'no tensors: pass collate_fn = function(batch) … end, or map them to one shape'):format(name))
    end
  end
  return torch.stack(values)
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

local function tensor_of(value, dtype, options)
  local out = dtype and value:to(dtype) or value
  if options.pin_memory then out = out:pin_memory() end
  if options.device ~= 'cpu' then out = out:to(options.device) end
  return out == value and out:clone() or out
end

---The conversion for a loop.
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
      local value = values_of(name, block:column(name))
      local dtype = dtypes
      if type(dtypes) == 'table' then dtype = dtypes[name] end
      if column.is_tensor(value) then value = tensor_of(value, dtype, options) end
      out[name] = value
    end
    return out
  end
end

return torch_batch
