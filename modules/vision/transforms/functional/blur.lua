-- vision/transforms/functional/blur.lua: gaussian_blur and adjust_sharpness.

local args = require 'base.args'
local errors = require 'base.errors'
local image = require 'vision.transforms.image'
local blend = require('vision.transforms.functional.color')._blend
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'

local blur = {}
local defined = args.definer(blur)

local FLOATS = {float16 = true, bfloat16 = true, float32 = true, float64 = true}

-- Convolves each channel with one kernel (height, width).
local function convolve(x, kernel)
  local channels = x:size(1)
  return torch.conv2d(x, kernel:expand(channels, 1, kernel:size(0), kernel:size(1)), nil, {groups = channels})
end

local function gaussian(size, sigma, like)
  local half = (size - 1) * 0.5
  local x = torch.linspace(-half, half, size, {dtype = like.dtype, device = like.device})
  local weights = (x / sigma):pow(2):mul(-0.5):exp()
  return weights / weights:sum()
end

---Returns {horizontal, vertical}: odd positive sizes of a kernel.
---@param owner string for the message
---@param size integer|integer[]
---@return integer[]
function blur._kernel_size(owner, size)
  local pair = sizes.pair(owner .. ': kernel_size', size)
  if pair[1] % 2 == 0 or pair[2] % 2 == 0 then
    errors.raise('argument', ('%s: kernel_size is odd, got %s'):format(owner, sizes.text(size)))
  end
  return pair
end

local function sigma_of(p, kernel)
  if p.sigma == nil then return {kernel[1] * 0.15 + 0.35, kernel[2] * 0.15 + 0.35} end
  local sigma = type(p.sigma) == 'number' and {p.sigma} or p.sigma
  sizes.numbers('gaussian_blur: sigma', sigma, 1, 2)
  for _, number in ipairs(sigma) do
    if not sizes.is_positive(number) then
      errors.raise('argument', ('gaussian_blur: sigma is positive, got %s'):format(sizes.text(p.sigma)))
    end
  end
  return {sigma[1], sigma[2] or sigma[1]}
end

---Blurs with a Gaussian kernel; the image is reflected at its borders. Arguments: img, kernel_size (odd; a number or
---{horizontal, vertical}), sigma (a number or {horizontal, vertical} in pixels; default 0.15 · kernel_size + 0.35).
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---assert(torch.allclose(F.gaussian_blur(torch.ones(3, 8, 8), 3), torch.ones(3, 8, 8)))
---```
defined('gaussian_blur', {'img', 'kernel_size', {'sigma'}}, function(p)
  local size = blur._kernel_size('gaussian_blur', p.kernel_size)
  local sigma = sigma_of(p, size)
  local dx, dy = math.floor(size[1] / 2), math.floor(size[2] / 2)
  return image.channels_first('gaussian_blur', p.img, function(x)
    if dx >= x:size(-1) or dy >= x:size(-2) then
      errors.raise('argument', ('gaussian_blur: kernel_size %s is too large for an image of %d x %d'):format(
        sizes.text(p.kernel_size), x:size(-2), x:size(-1)))
    end
    return image.as_batch(x, FLOATS, function(y)
      local kernel = torch.mm(gaussian(size[2], sigma[2], y):unsqueeze(1), gaussian(size[1], sigma[1], y):unsqueeze(0))
      return convolve(torch.pad(y, {dx, dx, dy, dy}, 'reflect'), kernel)
    end)
  end)
end)

-- Returns the image slightly smoothed; its border does not change.
local function smoothed(x)
  local out = x:clone()
  local inner = image.as_batch(x, FLOATS, function(y)
    local kernel = torch.ones(3, 3, {dtype = y.dtype, device = y.device})
    kernel[{1, 1}] = 5
    return convolve(y, kernel / kernel:sum())
  end)
  out:narrow(-2, 1, x:size(-2) - 2):narrow(-1, 1, x:size(-1) - 2):copy_(inner)
  return out
end

---Blends with the smoothed image. Arguments: img, sharpness_factor (0: the smoothed image, 1: no change, 2: sharper).
defined('adjust_sharpness', {'img', 'sharpness_factor'}, function(p)
  local factor = p.sharpness_factor
  sizes.check_factor('adjust_sharpness', 'sharpness_factor', factor)
  return image.channels_first('adjust_sharpness', p.img, function(x)
    image.gray_or_rgb('adjust_sharpness', x)
    if x:size(-1) <= 2 or x:size(-2) <= 2 then return x end
    return blend(x, smoothed(x), factor)
  end)
end)

return blur
