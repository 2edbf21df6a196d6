-- xgboost/columns.lua: converts a table column → values, such as a batch of rtrain.data, to features.

local array = require 'xgboost.array'
local errors = require 'base.errors'
local index_of = require 'base.index_of'
local ordered = require 'base.ordered'

local columns = {}

---Returns the values of a column with another purpose than a feature, such as the label.
---@param who string
---@param batch table
---@param field string 'label'
---@param name string
---@return any values
function columns.take(who, batch, field, name)
  local value = batch[name]
  if value ~= nil then return value end
  local names = ordered.names_of(batch)
  errors.raise('argument', ("%s: %s = '%s': there is no such column%s; there are: %s"):format(who, field, name,
    errors.suggestion(name, names), table.concat(names, ', ')))
end

-- Each column of a matrix is a feature.
local function add(out, name, tensor)
  if tensor:dim() == 1 then
    out.names[#out.names + 1], out.tensors[#out.tensors + 1] = name, tensor
    return
  end
  for i = 0, tensor:size(1) - 1 do
    out.names[#out.names + 1], out.tensors[#out.tensors + 1] = ('%s_%d'):format(name, i), tensor:select(1, i)
  end
end

local function checked(who, name, value)
  local tensor = array.tensor(("%s: column '%s'"):format(who, name), value)
  if tensor:dim() == 1 or tensor:dim() == 2 then return tensor end
  errors.raise('argument', ("%s: column '%s' has %d dimensions, expected numbers, or vectors of them"):format(who, name,
    tensor:dim()))
end

---Returns the features of a batch: its columns in their order (sorted by name if the table has no order), except the
---columns in `left_out`.
---@param who string for messages
---@param batch table<string, torch.Tensor|any[]>
---@param left_out string[] columns that are not features, such as the label
---@param wanted? string[] the columns to take, in this order
---@return {names: string[], tensors: torch.Tensor[], num_rows: integer}
function columns.features(who, batch, left_out, wanted)
  local out = {names = {}, tensors = {}}
  for _, name in ipairs(wanted or ordered.names_of(batch)) do
    if wanted or not index_of(left_out, name) then
      add(out, name, checked(who, name, columns.take(who, batch, 'feature_names', name)))
    end
  end
  if #out.tensors == 0 then errors.raise('argument', who .. ': there is no column left that is a feature') end
  out.num_rows = out.tensors[1]:size(0)
  for i, tensor in ipairs(out.tensors) do
    if tensor:size(0) ~= out.num_rows then
      errors.raise('argument', ("%s: column '%s' has %d rows, '%s' has %d"):format(who, out.names[i], tensor:size(0),
        out.names[1], out.num_rows))
    end
  end
  return out
end

---Returns the library's form of the columns, which must be kept alive with it.
---@param tensors torch.Tensor[]
---@return string json
function columns.interface(tensors)
  local out = {}
  for i, tensor in ipairs(tensors) do out[i] = array.interface(tensor) end
  return '[' .. table.concat(out, ',') .. ']'
end

return columns
