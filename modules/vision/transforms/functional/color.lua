-- vision/transforms/functional/color.lua: brightness, contrast, saturation, hue, gamma.

local args = require 'base.args'
local errors = require 'base.errors'
local image = require 'vision.transforms.image'
local conversion = require 'vision.transforms.functional.conversion'
local hsv = require 'vision.transforms.functional.hsv'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'

local color = {}
local defined = args.definer(color)

-- Integer levels are computed as floats.
local function as_float(x) return x:is_floating_point() and x or x:float() end

local function luma(x)
  if x:size(-3) == 1 then return x:clone() end
  local rgb = as_float(x)
  local function channel(i) return rgb:narrow(-3, i, 1) end
  return (channel(0) * 0.2989 + channel(1) * 0.587 + channel(2) * 0.114):to(x.dtype)
end

---Returns ratio · x + (1 - ratio) · y, within the range of the dtype of `x`.
---@param x torch.Tensor
---@param y torch.Tensor|number
---@param ratio number
---@return torch.Tensor
function color._blend(x, y, ratio)
  if torch.is_tensor(y) then y = as_float(y) end
  return (as_float(x) * ratio + y * (1 - ratio)):clamp(0, image.max_value(x.dtype)):to(x.dtype)
end

---Converts to gray: 0.2989 · red + 0.587 · green + 0.114 · blue. Arguments: img, num_output_channels = 1 (or 3 equal
---channels).
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---assert(F.rgb_to_grayscale(torch.rand(3, 4, 4), 3).shape[1] == 3)
---```
defined('rgb_to_grayscale', {'img', {'num_output_channels', 1}}, function(p)
  if p.num_output_channels ~= 1 and p.num_output_channels ~= 3 then
    errors.raise('argument', ('rgb_to_grayscale: num_output_channels is 1 or 3, got %s'):format(
      tostring(p.num_output_channels)))
  end
  return image.channels_first('rgb_to_grayscale', p.img, function(x)
    image.gray_or_rgb('rgb_to_grayscale', x)
    local gray = luma(x)
    if p.num_output_channels == 1 then return gray end
    local shape = gray:size()
    shape[#shape - 2] = 3
    return gray:expand(shape)
  end)
end)

---Multiplies all values. Arguments: img, brightness_factor (0: black, 1: no change).
defined('adjust_brightness', {'img', 'brightness_factor'}, function(p)
  sizes.check_factor('adjust_brightness', 'brightness_factor', p.brightness_factor)
  return image.channels_first('adjust_brightness', p.img, function(x)
    image.gray_or_rgb('adjust_brightness', x)
    return color._blend(x, 0, p.brightness_factor)
  end)
end)

---Blends with the mean of the gray image. Arguments: img, contrast_factor (0: gray, 1: no change).
defined('adjust_contrast', {'img', 'contrast_factor'}, function(p)
  sizes.check_factor('adjust_contrast', 'contrast_factor', p.contrast_factor)
  return image.channels_first('adjust_contrast', p.img, function(x)
    image.gray_or_rgb('adjust_contrast', x)
    local mean = as_float(luma(x)):mean({-3, -2, -1}, true)
    return color._blend(x, mean, p.contrast_factor)
  end)
end)

---Blends with the gray image. Arguments: img, saturation_factor (0: gray, 1: no change).
defined('adjust_saturation', {'img', 'saturation_factor'}, function(p)
  sizes.check_factor('adjust_saturation', 'saturation_factor', p.saturation_factor)
  return image.channels_first('adjust_saturation', p.img, function(x)
    if image.gray_or_rgb('adjust_saturation', x) == 1 then return x end
    return color._blend(x, luma(x), p.saturation_factor)
  end)
end)

---Shifts the hue. Arguments: img, hue_factor (-0.5 … 0.5; 0: no change).
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---local red = torch.tensor({1, 0, 0}):view{3, 1, 1}
---assert(F.adjust_hue(red, 1 / 3):view(-1)[1]:item() > 0.99)
---```
defined('adjust_hue', {'img', 'hue_factor'}, function(p)
  local factor = p.hue_factor
  local is_good = type(factor) == 'number' and factor >= -0.5 and factor <= 0.5
  if not is_good then
    errors.raise('argument', ('adjust_hue: hue_factor is a number from -0.5 to 0.5, got %s'):format(tostring(factor)))
  end
  return image.channels_first('adjust_hue', p.img, function(x)
    if image.gray_or_rgb('adjust_hue', x) == 1 then return x end
    local h, s, v = hsv.of_rgb(conversion.convert_image_dtype(x, 'float32'))
    return conversion.convert_image_dtype(hsv.to_rgb((h + factor):remainder(1), s, v), x.dtype)
  end)
end)

---Computes gain · x ^ gamma, for values in 0 … 1. Arguments: img, gamma, gain = 1.
defined('adjust_gamma', {'img', 'gamma', {'gain', 1}}, function(p)
  sizes.check_factor('adjust_gamma', 'gamma', p.gamma)
  return image.channels_first('adjust_gamma', p.img, function(x)
    image.gray_or_rgb('adjust_gamma', x)
    local y = x:is_floating_point() and x or conversion.convert_image_dtype(x, 'float32')
    return conversion.convert_image_dtype((y:pow(p.gamma) * p.gain):clamp(0, 1), x.dtype)
  end)
end)

return color
