-- torch/utils/data/collate.lua: combines samples into a batch.

local errors = require 'base.errors'
local ordered = require 'base.ordered'
local torch = require 'torch'

local collate = {}

local function is_number(value) return type(value) == 'number' or type(value) == 'cdata' end

local collate_values

-- Lists must have the same length; for tables with names the fields of the first one are used, as in Python.
local function check_lengths(values)
  local length = #values[1]
  if length == 0 then return end
  for i, value in ipairs(values) do
    if #value ~= length then
      errors.raise('argument', ('default_collate: sample %d is a list of %d items, sample 0 one of %d'):format(i - 1, #value,
        length))
    end
  end
end

-- Adds the name of the field to the error of samples that cannot be combined.
local function in_field(name, fn, ...)
  local ok, out = xpcall(fn, errors.wrap, ...)
  if ok then return out end
  local text = out.message:gsub('^default_collate: ', '')
  local rest = text:match "^field '(.*)$"
  out.message = rest and ("default_collate: field '%s.%s"):format(tostring(name), rest)
    or ("default_collate: field '%s': %s"):format(tostring(name), text)
  error(out, 0)
end

local function collate_maps(values, dtype)
  local first = values[1]
  local keys, out = {}, {}
  if ordered.is(first) then
    keys, out = ordered.keys(first), ordered.new()
  else
    for key in next, first do keys[#keys + 1] = key end
    check_lengths(values)
  end
  for _, key in ipairs(keys) do
    local column = {}
    for i, value in ipairs(values) do column[i] = value[key] end
    if #column ~= #values then
      errors.raise('argument', ("default_collate: only some samples have the field '%s'"):format(tostring(key)))
    end
    out[key] = in_field(key, collate_values, column, type(dtype) == 'table' and dtype[key] or dtype)
  end
  return out
end

-- Combines one place of all samples: tensors are stacked, numbers become a tensor, tables are combined by field, and
-- other values stay a list.
function collate_values(values, dtype)
  local first = values[1]
  if type(first) == 'userdata' and torch.is_tensor(first) then return torch.stack(values) end
  if type(dtype) == 'table' and type(first) ~= 'table' then dtype = dtype[1] end
  if is_number(first) then return torch.tensor(values, {dtype = dtype}) end
  if type(first) == 'boolean' then return torch.tensor(values) end
  if type(first) == 'string' then return values end
  if type(first) == 'table' then return collate_maps(values, dtype) end
  errors.raise('argument', ('default_collate: a %s cannot be put into a batch: pass a collate_fn'):format(type(first)))
end

---Combines samples into a batch: tensors are stacked along a new first dimension, numbers become float32 (or `dtype`),
---booleans bool, int64 cdata int64, strings a list, tables are combined field by field.
---@param samples any[] one value for each sample
---@param dtype? string|table dtype of plain numbers; a table gives one for each field
---@return any batch
---
---```lua
---local torch = require 'torch'
---local data = require 'torch.utils.data'
---local batch = data.default_collate{{x = torch.ones(2), y = 1}, {x = torch.zeros(2), y = 2}}
---assert(batch.x.shape[1] == 2 and batch.y.dtype == 'float32')
---```
function collate.default_collate(samples, dtype) return collate_values(samples, dtype) end

---Returns a sample that is not put into a batch unchanged. Values that Python converts here (NumPy's arrays) do not
---exist in Lua.
---@param data any
---@return any data
function collate.default_convert(data) return data end

---Combines samples that have several values each; `dtypes[k]` is the dtype of the plain numbers at place k, or a table
---of dtypes for the fields of a table at place k.
---@param samples any[][] each with n values
---@param dtypes? table<integer, string|table>
---@return any ... one batch for each place
function collate.columns(samples, dtypes)
  local out, count = {}, samples[1].n
  for k = 1, count do
    local column = {}
    for i, sample in ipairs(samples) do
      column[i] = sample[k]
      if sample[k] == nil then
        errors.raise('argument', ('default_collate: sample %d of the batch has no value number %d'):format(i - 1, k))
      end
    end
    out[k] = collate_values(column, dtypes and dtypes[k])
  end
  return unpack(out, 1, count)
end

return collate
