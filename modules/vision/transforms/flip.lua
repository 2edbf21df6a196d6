-- vision/transforms/flip.lua: RandomHorizontalFlip and RandomVerticalFlip.

local draw = require 'vision.transforms.draw'
local F = require 'vision.transforms.functional.crop'
local sizes = require 'vision.transforms.sizes'
local transform = require 'vision.transforms.transform'

-- `axis`: 'x' for columns, 'y' for rows.
local function flip_class(name, flip, axis)
  local Flip = transform.define(name, {{'p', 0.5}}, function(self) sizes.probability(name, self.p) end)
  function Flip:forward(image) return draw.real() < self.p and flip(image) or image end
  function Flip:fuse(plan) return plan:flip(axis, plan:draw(0), self.p) end
  return Flip
end

---Mirrors left to right with probability p. Arguments: p = 0.5.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.RandomHorizontalFlip(1)(torch.arange(3):view{1, 1, 3}):view(-1)[0]:item() == 2)
---```
---@class vision.RandomHorizontalFlip
---@overload fun(p?: number): vision.RandomHorizontalFlip
local RandomHorizontalFlip = flip_class('RandomHorizontalFlip', F.hflip, 'x')

---Mirrors top to bottom with probability p. Arguments: p = 0.5.
---@class vision.RandomVerticalFlip
---@overload fun(p?: number): vision.RandomVerticalFlip
local RandomVerticalFlip = flip_class('RandomVerticalFlip', F.vflip, 'y')

return {RandomHorizontalFlip = RandomHorizontalFlip, RandomVerticalFlip = RandomVerticalFlip}
