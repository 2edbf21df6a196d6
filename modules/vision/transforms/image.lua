-- vision/transforms/image.lua: the layouts of an image: which of its dimensions are channels, rows and columns.
--
-- There are two layouts, corresponding to torchvision's PIL images and tensors:
--   * uint8 (h, w) or (h, w, c) with c = 1, 3 or 4: the layout of the datasets and of Arrow's image columns, in place
--     of a PIL image. ToTensor and PILToTensor convert it to the other layout;
--   * (…, c, h, w) of any dtype: torchvision's tensors.
-- All other transforms accept both and keep the layout, so that RandomCrop may come before or after ToTensor. A uint8
-- tensor is read as (…, h, w, c) if its last dimension can be channels (1, 3 or 4) and the third from the end cannot: a
-- tensor that torchvision could read as (c, h, w) is read as (c, h, w).

local errors = require 'base.errors'
local torch = require 'torch'

local image = {}

local IS_CHANNELS = {[1] = true, [3] = true, [4] = true}

---Raises an error unless the value is a tensor with at least two dimensions and a pixel.
---@param owner string the function, for the message
---@param value any
---@return torch.Tensor value
function image.check(owner, value)
  if not torch.is_tensor(value) then
    errors.raise('argument', ('%s: expected an image, a Tensor, got %s'):format(owner, type(value)))
  end
  if value:dim() < 2 then
    errors.raise('argument', ('%s: an image has at least 2 dimensions, got shape %s'):format(owner,
      tostring(value.shape)))
  end
  if value:size(-1) == 0 or value:size(-2) == 0 then
    errors.raise('argument', ('%s: the image has no pixels: its shape is %s'):format(owner, tostring(value.shape)))
  end
  return value
end

---Returns whether the layout is (…, h, w, c) instead of (…, c, h, w).
---@param x torch.Tensor
---@return boolean
function image.is_channels_last(x)
  if x.dtype ~= 'uint8' or x:dim() < 3 then return false end
  return IS_CHANNELS[x:size(-1)] == true and not IS_CHANNELS[x:size(-3)]
end

---Returns channels, height and width of either layout; (h, w) has one channel.
---@param owner string the function, for the message
---@param x torch.Tensor
---@return integer channels, integer height, integer width
function image.dimensions(owner, x)
  image.check(owner, x)
  if x:dim() == 2 then return 1, x:size(0), x:size(1) end
  if image.is_channels_last(x) then return x:size(-1), x:size(-3), x:size(-2) end
  return x:size(-3), x:size(-2), x:size(-1)
end

local function back_to_rows(y) return y:size(-3) == 1 and y:squeeze(-3) or y:movedim(-3, -1) end

local function back_to_channels_last(y) return y:movedim(-3, -1) end

local function each(result, fn)
  if type(result) ~= 'table' then return fn(result) end
  local out = {}
  for i, item in ipairs(result) do out[i] = fn(item) end
  return out
end

---Calls `fn` with a view of the image as (…, c, h, w), and returns its result, or each item of a list of results, in
---the image's layout.
---@param owner string the function, for the message
---@param x torch.Tensor
---@param fn fun(x: torch.Tensor): torch.Tensor|torch.Tensor[]
---@return torch.Tensor|torch.Tensor[]
function image.channels_first(owner, x, fn)
  image.check(owner, x)
  if x:dim() == 2 then return each(fn(x:unsqueeze(0)), back_to_rows) end
  if image.is_channels_last(x) then return each(fn(x:movedim(-1, -3)), back_to_channels_last) end
  return fn(x)
end

---Calls `fn` with (n, c, h, w) of one of the dtypes, for operators that support no others, and returns the result with
---the leading dimensions and, rounded, the dtype of `x`.
---@param x torch.Tensor (…, c, h, w)
---@param dtypes table<string, boolean> dtypes that `fn` accepts; others are converted to float32
---@param fn fun(x: torch.Tensor): torch.Tensor
---@return torch.Tensor
function image.as_batch(x, dtypes, fn)
  local shape, dtype, count = x:size(), x.dtype, 1
  for i = 1, #shape - 3 do count = count * shape[i] end
  local y = #shape == 4 and x or x:reshape{count, shape[#shape - 2], shape[#shape - 1], shape[#shape]}
  if not dtypes[dtype] then y = y:float() end
  y = fn(y)
  if y.dtype ~= dtype then
    if not x:is_floating_point() then y = y:round() end
    y = y:to(dtype)
  end
  if #shape == 4 then return y end
  local sizes = {}
  for i = 1, #shape - 3 do sizes[i] = shape[i] end
  for i = 1, 3 do sizes[#sizes + 1] = y:size(i) end
  return y:reshape(sizes)
end

---Raises an error unless the image has 1 or 3 channels.
---@param owner string the function, for the message
---@param x torch.Tensor (…, c, h, w)
---@return integer channels
function image.gray_or_rgb(owner, x)
  local channels = x:size(-3)
  if channels ~= 1 and channels ~= 3 then
    errors.raise('argument', ('%s: takes images of 1 or 3 channels, got %d in a %s image of shape %s'):format(owner,
      channels, x.dtype, tostring(x.shape)))
  end
  return channels
end

local MAX_VALUES = {uint8 = 255, int8 = 127, int16 = 32767, uint16 = 65535, int32 = 2147483647, int64 = 2 ^ 63}

---Returns the value of full brightness in a dtype: 255 for uint8, 1 for floats.
---@param dtype torch.dtype
---@return number
function image.max_value(dtype) return MAX_VALUES[dtype] or 1 end

return image
