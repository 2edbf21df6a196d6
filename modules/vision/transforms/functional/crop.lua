-- vision/transforms/functional/crop.lua: crops and mirrors images.

local args = require 'base.args'
local errors = require 'base.errors'
local image = require 'vision.transforms.image'
local interpolation = require 'vision.transforms.interpolation'
local resize = require 'vision.transforms.functional.resize'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'

local crop = {}
local defined = args.definer(crop)

-- Returns a part of the image, black where it extends beyond the image.
local function cut(x, top, left, height, width)
  local h, w = x:size(-2), x:size(-1)
  if top >= 0 and left >= 0 and top + height <= h and left + width <= w then
    return x:narrow(-2, top, height):narrow(-1, left, width)
  end
  if top >= h or left >= w or top + height <= 0 or left + width <= 0 then
    local shape = x:size()
    shape[#shape - 1], shape[#shape] = height, width
    return x:new_zeros(shape)
  end
  return torch.constant_pad_nd(x, {-left, left + width - w, -top, top + height - h}, 0)
end

---Returns the part of height × width with the given upper left corner; black where it extends beyond the image.
---Arguments: img, top, left, height, width.
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---assert(F.crop(torch.arange(9):view{1, 3, 3}, 1, 1, 2, 2):sum():item() == 24)
---```
defined('crop', {'img', 'top', 'left', 'height', 'width'}, function(p)
  sizes.pair('crop: size', {p.height, p.width})
  return image.channels_first('crop', p.img, function(x) return cut(x, p.top, p.left, p.height, p.width) end)
end)

local function center(x, size)
  local h, w = x:size(-2), x:size(-1)
  local dh, dw = math.max(size[1] - h, 0), math.max(size[2] - w, 0)
  if dh > 0 or dw > 0 then
    x = torch.constant_pad_nd(x, {math.floor(dw / 2), math.floor((dw + 1) / 2), math.floor(dh / 2),
                                  math.floor((dh + 1) / 2)}, 0)
    h, w = x:size(-2), x:size(-1)
  end
  return cut(x, sizes.round((h - size[1]) / 2), sizes.round((w - size[2]) / 2), size[1], size[2])
end

---Returns the middle; a smaller image gets a black border. Arguments: img, output_size (a number or {height, width}).
defined('center_crop', {'img', 'output_size'}, function(p)
  local size = sizes.pair('center_crop: output_size', p.output_size)
  return image.channels_first('center_crop', p.img, function(x) return center(x, size) end)
end)

---Crops, then resizes. Arguments: img, top, left, height, width, size, interpolation = 'bilinear', antialias = true.
defined('resized_crop', {'img', 'top', 'left', 'height', 'width', 'size', {'interpolation', 'bilinear'},
  {'antialias', true}}, function(p)
  sizes.pair('resized_crop: size', {p.height, p.width})
  local mode = interpolation.of_resize('resized_crop', p.interpolation)
  resize._check('resized_crop', p.size)
  return image.channels_first('resized_crop', p.img, function(x)
    return resize._resized(cut(x, p.top, p.left, p.height, p.width), {size = p.size, mode = mode, antialias = p.antialias})
  end)
end)

-- Returns the corners and the centre.
local function five(x, size, owner)
  local height, width = size[1], size[2]
  local h, w = x:size(-2), x:size(-1)
  if height > h or width > w then
    errors.raise('argument', ('%s: the crop (%d, %d) is larger than the image (%d, %d)'):format(owner, height, width, h,
      w))
  end
  return {cut(x, 0, 0, height, width), cut(x, 0, w - width, height, width), cut(x, h - height, 0, height, width),
          cut(x, h - height, w - width, height, width), center(x, size)}
end

---Returns a list of five parts: upper left, upper right, lower left, lower right, middle. Arguments: img, size (a
---number or {height, width}).
defined('five_crop', {'img', 'size'}, function(p)
  local size = sizes.pair('five_crop: size', p.size)
  return image.channels_first('five_crop', p.img, function(x) return five(x, size, 'five_crop') end)
end)

---Returns a list of ten parts: those of five_crop, then those of the mirrored image. Arguments: img, size (a number or
---{height, width}), vertical_flip = false (true: mirrors top to bottom).
defined('ten_crop', {'img', 'size', {'vertical_flip', false}}, function(p)
  local size = sizes.pair('ten_crop: size', p.size)
  return image.channels_first('ten_crop', p.img, function(x)
    local parts = five(x, size, 'ten_crop')
    for _, part in ipairs(five(x:flip{p.vertical_flip and -2 or -1}, size, 'ten_crop')) do parts[#parts + 1] = part end
    return parts
  end)
end)

---Mirrors left to right. Arguments: img.
defined('hflip', {'img'}, function(p)
  return image.channels_first('hflip', p.img, function(x) return x:flip{-1} end)
end)

---Mirrors top to bottom. Arguments: img.
defined('vflip', {'img'}, function(p)
  return image.channels_first('vflip', p.img, function(x) return x:flip{-2} end)
end)

return crop
