-- rtrain/predict/inputs.lua: makes the arguments of a model from a batch of rows.

local errors = require 'base.errors'
local ordered = require 'base.ordered'
local torch = require 'torch'

local inputs = {}

local function raise(...) errors.raise('usage', 'predict: ' .. (...):format(select(2, ...))) end

-- Converts bytes (N, H, W, C) or (N, H, W) to (N, C, H, W) between 0 and 1, like ToTensor.
local function images(values, dtype)
  if values:dim() == 3 then values = values:unsqueeze(3) end
  return values:permute(0, 3, 1, 2):to(dtype):div(255)
end

local function tensor_of(name, values)
  if torch.is_tensor(values) then return values end
  local first = values[1]
  if torch.is_tensor(first) then
    for _, value in ipairs(values) do
      if not torch.is_tensor(value) or tostring(value.shape) ~= tostring(first.shape) then
        raise("the rows of column '%s' differ in shape: make them equal in a function of the script, --transform NAME", name)
      end
    end
    return torch.stack(values)
  end
  for i, value in ipairs(values) do
    if value == torch.none then
      raise("column '%s': row %d of the batch is null: give it a value in a function of the script, --transform NAME", name,
        i - 1)
    end
  end
  raise("column '%s' is not of numbers: name those that the model takes (--columns), those to keep (--keep), or a function "
    .. 'of the script that makes its input (--transform)', name)
end

local function is_image(values) return values.dtype == 'uint8' and (values:dim() == 3 or values:dim() == 4) end

-- Applies a transform of vision.transforms to each image separately: their sizes may differ.
local function transformed(values, transform, dtype)
  local out = {}
  for i = 1, #values do
    local image = transform(torch.is_tensor(values) and values[i - 1] or values[i])
    if not torch.is_tensor(image) then raise('the transform returned %s, expected a tensor', type(image)) end
    out[i] = image
  end
  for i = 2, #out do
    if tostring(out[i].shape) ~= tostring(out[1].shape) then
      raise('the transform gives images of %s and %s: it has to make them equal', tostring(out[1].shape),
        tostring(out[i].shape))
    end
  end
  local stacked = torch.stack(out)
  return stacked:is_floating_point() and stacked:to(dtype) or stacked
end

local function are_images(values)
  if torch.is_tensor(values) then return is_image(values) end
  return torch.is_tensor(values[1]) and values[1].dtype == 'uint8' and values[1]:dim() >= 2
end

-- Applies the transform to the images of a batch and keeps its other columns.
local function by_transform(batch, names, options)
  local tensors, has_images = {}, false
  for i, name in ipairs(names) do
    local is_one = are_images(batch[name])
    has_images = has_images or is_one
    tensors[i] = is_one and transformed(batch[name], options.transform, options.dtype) or tensor_of(name, batch[name])
  end
  if not has_images then
    raise('the transform takes images, and the data have none in %s: --transform none leaves them as they are',
      table.concat(names, ', '))
  end
  return tensors
end

-- Several columns of single numbers are joined as the features of a row; a column of tensors is a separate input.
local function by_columns(batch, names, dtype)
  local tensors, are_numbers = {}, true
  for i, name in ipairs(names) do
    tensors[i] = tensor_of(name, batch[name])
    are_numbers = are_numbers and tensors[i]:dim() == 1
  end
  if are_numbers then
    for i, values in ipairs(tensors) do tensors[i] = values:to(dtype) end
    return {torch.stack(tensors, 1)}
  end
  for i, values in ipairs(tensors) do
    if is_image(values) then
      tensors[i] = images(values, dtype)
    elseif values:is_floating_point() then
      tensors[i] = values:to(dtype)
    end
  end
  return tensors
end

local function columns_of(batch, options)
  local kept, out = {}, {}
  for _, name in ipairs(options.keep) do kept[name] = true end
  for _, name in ipairs(options.columns or ordered.names_of(batch)) do
    if batch[name] == nil then
      raise("the data have no column '%s'%s, they have %s", name, errors.suggestion(name, ordered.names_of(batch)),
        table.concat(ordered.names_of(batch), ', '))
    end
    if options.columns or not kept[name] then out[#out + 1] = name end
  end
  if #out == 0 then raise('no column is left for the model: --keep has them all') end
  return out
end

---Returns the arguments of the model for a batch.
---@param batch table<string, torch.Tensor|any[]>
---@param options table {columns?, keep, dtype, device, transform?: (fun(batch): ...)|vision.Transform of one image}
---@return torch.Tensor[] arguments
function inputs.of(batch, options)
  local out
  if type(options.transform) == 'function' then
    out = {options.transform(batch)}
  elseif options.transform then
    out = by_transform(batch, columns_of(batch, options), options)
  else
    out = by_columns(batch, columns_of(batch, options), options.dtype)
  end
  for i, value in ipairs(out) do
    if not torch.is_tensor(value) then
      raise('the transform returned %s, expected tensors', type(value))
    end
    out[i] = value:to(options.device)
  end
  return out
end

return inputs
