-- vision/transforms/functional/conversion.lua: converts layouts, dtypes and sizes of images.

local args = require 'base.args'
local errors = require 'base.errors'
local image = require 'vision.transforms.image'
local torch = require 'torch'

local conversion = {}
local defined = args.definer(conversion)

-- Converts (h, w) or (h, w, c) to (c, h, w).
local function to_channels_first(owner, x)
  image.check(owner, x)
  if x:dim() == 2 then return x:unsqueeze(0) end
  if x:dim() ~= 3 then
    errors.raise('argument', ('%s: expected an image (h, w) or (h, w, c), got shape %s'):format(owner,
      tostring(x.shape)))
  end
  if x:size(2) > 4 and x:size(0) <= 4 then
    errors.raise('argument', ('%s: expected an image (h, w) or (h, w, c), got shape %s, which is (c, h, w) already'):format(
      owner, tostring(x.shape)))
  end
  return x:permute{2, 0, 1}:contiguous()
end

---Converts uint8 (h, w) or (h, w, c) in 0 … 255 to floats (c, h, w) in 0 … 1; other dtypes keep their numbers.
---Arguments: pic.
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---local x = F.to_tensor(torch.full({4, 5, 3}, 255, {dtype = 'uint8'}))
---assert(x.shape[1] == 3 and x:min():item() == 1)
---```
defined('to_tensor', {'pic'}, function(p)
  local x = to_channels_first('to_tensor', p.pic)
  if x.dtype ~= 'uint8' then return x end
  return x:to(torch.get_default_dtype()):div_(255)
end)

---Converts an image (h, w) or (h, w, c) to (c, h, w) with the same dtype and numbers. Arguments: pic.
defined('pil_to_tensor', {'pic'}, function(p) return to_channels_first('pil_to_tensor', p.pic) end)

---Raises an error for a PIL mode.
---@param owner string for the message
---@param mode any
function conversion._check_mode(owner, mode)
  if mode ~= nil then
    errors.raise('unsupported', owner .. ': there are no PIL modes: an image has the channels that its tensor has')
  end
end

---Converts (c, h, w) or (h, w) to the layout of datasets: uint8 (h, w, c), or (h, w) for one channel. Floats are
---expected in 0 … 1 and truncated to whole levels. Arguments: pic, mode (nil).
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---assert(F.to_pil_image(torch.ones(3, 4, 5)).shape[3] == 3)
---```
defined('to_pil_image', {'pic', {'mode'}}, function(p)
  conversion._check_mode('to_pil_image', p.mode)
  local x = image.check('to_pil_image', p.pic)
  if x:dim() > 3 or (x:dim() == 3 and x:size(0) > 4) then
    errors.raise('argument', ('to_pil_image: expected (c, h, w) with at most 4 channels, got shape %s'):format(
      tostring(x.shape)))
  end
  if x:is_floating_point() then x = x:mul(255):to('uint8') end
  if x:dim() == 2 then return x end
  return x:size(0) == 1 and x:squeeze(0) or x:permute{1, 2, 0}:contiguous()
end)

local function refuse_cast(from, to)
  errors.raise('argument', ('convert_image_dtype: %s has too few digits for the levels of %s'):format(from, to))
end

local function float_to_levels(x, dtype)
  local is_unsafe = (x.dtype == 'float32' and (dtype == 'int32' or dtype == 'int64'))
    or (x.dtype == 'float64' and dtype == 'int64')
  if is_unsafe then refuse_cast(x.dtype, dtype) end
  -- All levels get equal shares of 0 … 1, including 1.
  return x:mul(image.max_value(dtype) + 1 - 1e-3):to(dtype)
end

local function levels_to_levels(x, dtype)
  local from, to = image.max_value(x.dtype), image.max_value(dtype)
  if from > to then return torch.div(x, math.floor((from + 1) / (to + 1)), {rounding_mode = 'floor'}):to(dtype) end
  return x:to(dtype):mul(math.floor((to + 1) / (from + 1)))
end

---Converts the image to another dtype and scales its levels to that dtype's range: uint8 0 … 255 ↔ floats 0 … 1.
---Arguments: image, dtype = 'float32'.
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---local x = F.convert_image_dtype(torch.full({3, 2, 2}, 0.5), 'uint8')
---assert(x:max():item() == 127)
---```
defined('convert_image_dtype', {'image', {'dtype', 'float32'}}, function(p)
  local x, dtype = image.check('convert_image_dtype', p.image), p.dtype
  if x.dtype == dtype then return x end
  local to_float = torch.empty({0}, {dtype = dtype}):is_floating_point()
  if x:is_floating_point() then return to_float and x:to(dtype) or float_to_levels(x, dtype) end
  if to_float then return x:to(dtype) / image.max_value(x.dtype) end
  return levels_to_levels(x, dtype)
end)

---Returns {channels, height, width}. Arguments: img.
defined('get_dimensions', {'img'}, function(p) return {image.dimensions('get_dimensions', p.img)} end)

---Returns {width, height}. Arguments: img.
defined('get_image_size', {'img'}, function(p)
  local _, height, width = image.dimensions('get_image_size', p.img)
  return {width, height}
end)

---Returns the number of channels; an image (h, w) has one. Arguments: img.
defined('get_image_num_channels', {'img'}, function(p)
  return (image.dimensions('get_image_num_channels', p.img))
end)

return conversion
