-- vision/augmentation/crop.lua: RandomCrop of each sample of a batch.

local batch = require 'vision.augmentation.batch'
local errors = require 'base.errors'
local pad = require 'vision.transforms.functional.pad'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'

---Crops each image to the given size at a random position, after adding a border. Arguments: size (a number or {height,
---width}), padding = 0 (a number for all sides, {horizontal, vertical} or {left, top, right, bottom}), fill = 0, padding_mode =
---'constant' | 'edge' | 'reflect' | 'symmetric', generator (of the images' device).
---
---Images (n, c, h, w) of any dtype, on any device; positions are drawn on the device, without waiting for it.
---
---```lua
---local torch = require 'torch'
---local augmentation = require 'vision.augmentation'
---local images = torch.randint(0, 256, {8, 3, 32, 32}, {dtype = 'uint8'})
---local crop = augmentation.RandomCrop(32, {padding = 4, padding_mode = 'reflect'})
---assert(crop(images).shape[4] == 32)
---```
---@class vision.augmentation.RandomCrop
---@overload fun(size: integer|integer[], options?: table): vision.augmentation.RandomCrop
local RandomCrop = batch.define('RandomCrop', {'size', {'padding', 0}, {'fill', 0}, {'padding_mode', 'constant'},
  {'generator'}}, function(self)
    self.size = sizes.pair('RandomCrop: size', self.size)
    self._sides = pad._sides('RandomCrop', self.padding)
    pad._mode('RandomCrop', self.padding_mode)
    if type(self.fill) ~= 'number' then
      errors.raise('argument', ('RandomCrop: fill is one number for all channels, got %s'):format(sizes.text(self.fill)))
    end
  end, {'size', 'padding', 'fill', 'padding_mode'})

-- Maps places beyond the border to indices of 0 … size - 1.
local SOURCE = {
  constant = function(places, size) return places:clamp(0, size - 1) end,
  edge = function(places, size) return places:clamp(0, size - 1) end,
  reflect = function(places, size) return places:abs():sub_(size - 1):abs_():neg_():add_(size - 1) end,
  symmetric = function(places, size)
    local mirrored = torch.where(places:lt(0), -1 - places, places)
    return torch.where(mirrored:ge(size), 2 * size - 1 - mirrored, mirrored)
  end,
}

-- Checks how far the mode can extend an image of `size` pixels.
local function check_border(mode, size, border)
  local most = mode == 'reflect' and size - 1 or mode == 'symmetric' and size or math.huge
  if border > most then
    errors.raise('argument', ("RandomCrop: padding %d is too large for mode '%s' of %d pixels"):format(border, mode, size))
  end
end

-- Returns the places of each sample's rows or columns in its image, (n, length); some are beyond its border.
local function places_of(self, images, axis)
  local size, length = images:size(axis == 1 and 2 or 3), self.size[axis]
  local before, after = self._sides[axis == 1 and 3 or 1], self._sides[axis == 1 and 4 or 2]
  check_border(self.padding_mode, size, math.max(before, after))
  local room = size + before + after - length
  if room < 0 then
    errors.raise('argument', ('RandomCrop: the crop (%d, %d) is larger than the images %s with padding %s'):format(
      self.size[1], self.size[2], tostring(images.shape), sizes.text(self.padding)))
  end
  local first = batch.integers(images, -before, room - before + 1, self.generator)
  return first + torch.arange(length, {device = images.device}), size
end

local function is_beyond(places, size) return places:lt(0):logical_or_(places:ge(size)) end

function RandomCrop:_change(images)
  local rows, height = places_of(self, images, 1)
  local columns, width = places_of(self, images, 2)
  local source = SOURCE[self.padding_mode]
  local pixels = source(rows, height):mul_(width):unsqueeze(2) + source(columns, width):unsqueeze(1)
  local n, c, h, w = images:size(0), images:size(1), self.size[1], self.size[2]
  local out = images:reshape{n, c, height * width}:gather(2, pixels:view{n, 1, h * w}:expand{n, c, h * w}):view{n, c, h, w}
  if self.padding_mode ~= 'constant' then return out end
  local border = is_beyond(rows, height):unsqueeze(2):logical_or(is_beyond(columns, width):unsqueeze(1))
  return out:masked_fill_(border:unsqueeze(1), self.fill)
end

return {RandomCrop = RandomCrop}
