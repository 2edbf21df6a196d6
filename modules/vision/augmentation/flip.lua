-- vision/augmentation/flip.lua: RandomHorizontalFlip and RandomVerticalFlip of each sample of a batch.

local batch = require 'vision.augmentation.batch'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'

local function flip_class(name, dim)
  local Flip = batch.define(name, {{'p', 0.5}, {'generator'}}, function(self) sizes.probability(name, self.p) end, {'p'})
  function Flip:_change(images)
    local is_flipped = batch.reals(images, self.generator):lt(self.p)
    return torch.where(is_flipped:view{-1, 1, 1, 1}, images:flip{dim}, images)
  end
  return Flip
end

---Mirrors each image left to right with probability p. Arguments: p = 0.5, generator (of the images' device). Images
---(n, c, h, w) of any dtype, on any device.
---
---```lua
---local torch = require 'torch'
---local augmentation = require 'vision.augmentation'
---local images = torch.arange(3):view{1, 1, 1, 3}
---assert(augmentation.RandomHorizontalFlip(1)(images):view(-1)[0]:item() == 2)
---```
---@class vision.augmentation.RandomHorizontalFlip
---@overload fun(p?: number, options?: table): vision.augmentation.RandomHorizontalFlip
local RandomHorizontalFlip = flip_class('RandomHorizontalFlip', 3)

---Mirrors each image top to bottom with probability p. Arguments: p = 0.5, generator (of the images' device).
---@class vision.augmentation.RandomVerticalFlip
---@overload fun(p?: number, options?: table): vision.augmentation.RandomVerticalFlip
local RandomVerticalFlip = flip_class('RandomVerticalFlip', 2)

return {RandomHorizontalFlip = RandomHorizontalFlip, RandomVerticalFlip = RandomVerticalFlip}
