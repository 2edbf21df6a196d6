-- vision/augmentation/cutout.lua: RandomCutout: blanks out a square of each sample.

local batch = require 'vision.augmentation.batch'
local errors = require 'base.errors'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'

---Blanks a rectangle around a random pixel of each image, with probability p; parts beyond the border are ignored
---(DeVries and Taylor 2017). Arguments: size (a number or {height, width}), p = 1, fill = 0 (in the images' units: after
---Normalize 0 is the mean), generator (of the images' device). Images (n, c, h, w) of any dtype, on any device.
---
---```lua
---local torch = require 'torch'
---local augmentation = require 'vision.augmentation'
---local images = augmentation.RandomCutout(16)(torch.ones(8, 3, 32, 32))
---assert(images:min():item() == 0)
---```
---@class vision.augmentation.RandomCutout
---@overload fun(size: integer|integer[], options?: table): vision.augmentation.RandomCutout
local RandomCutout = batch.define('RandomCutout', {'size', {'p', 1}, {'fill', 0}, {'generator'}}, function(self)
  self.size = sizes.pair('RandomCutout: size', self.size)
  sizes.probability('RandomCutout', self.p)
  if type(self.fill) ~= 'number' then
    errors.raise('argument', ('RandomCutout: fill is a number, got %s'):format(sizes.text(self.fill)))
  end
end, {'size', 'p', 'fill'})

-- Returns which rows or columns of each image are in the cut, (n, size).
local function in_cut(self, images, size, length)
  local first = batch.integers(images, 0, size, self.generator):sub_(math.floor(length / 2))
  local places = torch.arange(size, {device = images.device})
  return places:ge(first):logical_and_(places:lt(first + length))
end

function RandomCutout:_change(images)
  local rows = in_cut(self, images, images:size(2), self.size[1]):unsqueeze(2)
  local cut = rows:logical_and(in_cut(self, images, images:size(3), self.size[2]):unsqueeze(1))
  if self.p < 1 then cut:logical_and_(batch.reals(images, self.generator):lt(self.p):view{-1, 1, 1}) end
  return images:masked_fill(cut:unsqueeze(1), self.fill)
end

return {RandomCutout = RandomCutout}
