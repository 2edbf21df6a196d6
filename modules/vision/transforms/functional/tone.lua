-- vision/transforms/functional/tone.lua: functions that map each level of a channel to another level.

local args = require 'base.args'
local errors = require 'base.errors'
local image = require 'vision.transforms.image'
local torch = require 'torch'

local tone = {}
local defined = args.definer(tone)

local function refuse_other_than_bytes(owner, x)
  if x.dtype ~= 'uint8' then
    errors.raise('argument', ('%s: takes uint8 images, got %s'):format(owner, x.dtype))
  end
end

local function inverted(x)
  local max = image.max_value(x.dtype)
  return max == 2 ^ 63 and x:bitwise_not():bitwise_and(0x7fffffffffffffffLL) or max - x
end

---Inverts the levels: 255 - x for bytes, 1 - x for floats. Arguments: img.
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---assert(F.invert(torch.full({3, 2, 2}, 0.25)):max():item() == 0.75)
---```
defined('invert', {'img'}, function(p)
  return image.channels_first('invert', p.img, function(x)
    image.gray_or_rgb('invert', x)
    return inverted(x)
  end)
end)

---Keeps the highest bits of each byte. Arguments: img (uint8), bits (0 … 8).
defined('posterize', {'img', 'bits'}, function(p)
  local bits = p.bits
  if type(bits) ~= 'number' or bits < 0 or bits > 8 or bits % 1 ~= 0 then
    errors.raise('argument', ('posterize: bits is an integer from 0 to 8, got %s'):format(tostring(bits)))
  end
  return image.channels_first('posterize', p.img, function(x)
    refuse_other_than_bytes('posterize', x)
    image.gray_or_rgb('posterize', x)
    return x:bitwise_and(256 - 2 ^ (8 - bits))
  end)
end)

---Inverts the values that are at least the threshold. Arguments: img, threshold.
defined('solarize', {'img', 'threshold'}, function(p)
  return image.channels_first('solarize', p.img, function(x)
    image.gray_or_rgb('solarize', x)
    if type(p.threshold) ~= 'number' or p.threshold > image.max_value(x.dtype) then
      errors.raise('argument', ('solarize: threshold is at most %s for %s, got %s'):format(
        tostring(image.max_value(x.dtype)), x.dtype, tostring(p.threshold)))
    end
    return torch.where(x:ge(p.threshold), inverted(x), x)
  end)
end)

---Stretches the values of each channel to the whole range. Arguments: img.
defined('autocontrast', {'img'}, function(p)
  return image.channels_first('autocontrast', p.img, function(x)
    image.gray_or_rgb('autocontrast', x)
    local bound = image.max_value(x.dtype)
    local y = x:is_floating_point() and x or x:float()
    local min, max = y:amin({-2, -1}, true), y:amax({-2, -1}, true)
    local scale = bound / (max - min)
    local is_flat = scale:isfinite():logical_not()
    return ((y - min:masked_fill(is_flat, 0)) * scale:masked_fill(is_flat, 1)):clamp(0, bound):to(x.dtype)
  end)
end)

-- Equalizes one channel (h, w): spreads its levels so that all are equally frequent.
local function equalized(x)
  local places = x:reshape(-1):to('int64')
  local histogram = torch.bincount(places, nil, 256)
  local last = places:max():item()
  local step = math.floor((places:numel() - histogram[last]:item()) / 255)
  if step == 0 then return x end
  local levels = (histogram:cumsum(0) + math.floor(step / 2)):floor_divide(step):clamp(0, 255)
  levels = torch.constant_pad_nd(levels, {1, -1}, 0):to('uint8')
  return levels:index_select(0, places):view_as(x)
end

---Makes all levels of each channel about equally frequent. Arguments: img (uint8).
defined('equalize', {'img'}, function(p)
  return image.channels_first('equalize', p.img, function(x)
    refuse_other_than_bytes('equalize', x)
    image.gray_or_rgb('equalize', x)
    local planes = x:reshape{-1, x:size(-2), x:size(-1)}
    local out = {}
    for i, plane in ipairs(planes:unbind(0)) do out[i] = equalized(plane) end
    return torch.stack(out):view(x:size())
  end)
end)

return tone
