-- lightgbm/matrix.lua: converts rows of features for the library: to a tensor of floats, by rows or by columns.

local array = require 'xgboost.array'
local columns = require 'xgboost.columns'
local errors = require 'base.errors'

local FLOAT32, FLOAT64 = 0, 1

---@class lightgbm.matrix
---@field tensor torch.Tensor float32 or float64; it must live as long as the library reads it
---@field type integer the library's number for its dtype
---@field rows integer
---@field columns integer
---@field is_row_major integer 1: (rows, columns), 0: (columns, rows)
---@field names? string[]

local matrix = {}

local function floats(tensor)
  if tensor.dtype ~= 'float32' and tensor.dtype ~= 'float64' then tensor = tensor:double() end
  return tensor:contiguous()
end

local function of_tensor(who, data)
  local tensor = floats(array.tensor(who .. ': data', data))
  if tensor:dim() ~= 2 then
    errors.raise('argument', ('%s: data has %d dimensions, expected two: rows and features'):format(who, tensor:dim()))
  end
  return {tensor = tensor, rows = tensor:size(0), columns = tensor:size(1), is_row_major = 1}
end

-- Returns floats of one dtype: float32 if it represents all of them exactly.
local function of_columns(features)
  local torch, list, dtype = require 'torch', {}, 'float32'
  for _, tensor in ipairs(features.tensors) do
    if tensor.dtype ~= 'float32' then dtype = 'float64' end
  end
  for i, tensor in ipairs(features.tensors) do list[i] = tensor:to(dtype) end
  return {tensor = torch.stack(list), rows = features.num_rows, columns = #list, is_row_major = 0, names = features.names}
end

---Returns the matrix of a tensor (rows, features) or of a table column → values. A tensor of floats is read in place.
---@param who string
---@param data torch.Tensor|table<string, torch.Tensor|any[]>
---@param left_out string[] columns that are not features
---@param wanted? string[] the columns to take, in this order
---@return lightgbm.matrix
function matrix.of(who, data, left_out, wanted)
  local out
  if array.is_tensor(data) then
    out = of_tensor(who, data)
  elseif type(data) == 'table' then
    out = of_columns(columns.features(who, data, left_out, wanted))
  else
    errors.raise('argument', ('%s: data is a %s, expected a tensor (rows, features), a table column → values, or a dataset '
      .. 'of rtrain.data'):format(who, type(data)))
  end
  out.type = out.tensor.dtype == 'float32' and FLOAT32 or FLOAT64
  return out
end

return matrix
