-- vision/transforms/tone.lua: RandomInvert, RandomPosterize, RandomSolarize, RandomAutocontrast, RandomEqualize,
-- RandomAdjustSharpness: functions that are applied with a probability.

local blur = require 'vision.transforms.functional.blur'
local draw = require 'vision.transforms.draw'
local errors = require 'base.errors'
local repr = require 'torch.nn.repr'
local sizes = require 'vision.transforms.sizes'
local tone = require 'vision.transforms.functional.tone'
local transform = require 'vision.transforms.transform'

local function random(name, fn)
  local Random = transform.define(name, {{'p', 0.5}}, function(self) sizes.probability(name, self.p) end)
  function Random:forward(image) return draw.real() < self.p and fn(image) or image end
  return Random
end

-- Defines a class; `parameter` is the function's second argument and the class's first.
local function random_with(name, fn, parameter)
  local Random = transform.define(name, {parameter, {'p', 0.5}}, function(self)
    sizes.probability(name, self.p)
    if type(self[parameter]) ~= 'number' then
      errors.raise('argument', ('%s: %s is a number, got a %s'):format(name, parameter, type(self[parameter])))
    end
  end)
  function Random:forward(image) return draw.real() < self.p and fn(image, self[parameter]) or image end
  -- torchvision prints no space after this comma.
  function Random:extra_repr() return ('%s=%s,p=%s'):format(parameter, repr.value(self[parameter]), repr.value(self.p)) end
  return Random
end

---Inverts with probability p. Arguments: p = 0.5.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.RandomInvert(1)(torch.zeros(3, 4, 4)):min():item() == 1)
---```
---@class vision.RandomInvert
---@overload fun(p?: number): vision.RandomInvert
local RandomInvert = random('RandomInvert', tone.invert)

---Keeps the highest bits of uint8 images with probability p. Arguments: bits (0 … 8), p = 0.5.
---@class vision.RandomPosterize
---@overload fun(bits: integer, p?: number): vision.RandomPosterize
local RandomPosterize = random_with('RandomPosterize', tone.posterize, 'bits')

---Inverts the values that are at least the threshold, with probability p. Arguments: threshold, p = 0.5.
---@class vision.RandomSolarize
---@overload fun(threshold: number, p?: number): vision.RandomSolarize
local RandomSolarize = random_with('RandomSolarize', tone.solarize, 'threshold')

---Stretches the values to the whole range with probability p. Arguments: p = 0.5.
---@class vision.RandomAutocontrast
---@overload fun(p?: number): vision.RandomAutocontrast
local RandomAutocontrast = random('RandomAutocontrast', tone.autocontrast)

---Makes all levels of uint8 images about equally frequent with probability p. Arguments: p = 0.5.
---@class vision.RandomEqualize
---@overload fun(p?: number): vision.RandomEqualize
local RandomEqualize = random('RandomEqualize', tone.equalize)

---Smooths (factor 0) or sharpens (2) with probability p. Arguments: sharpness_factor, p = 0.5.
---@class vision.RandomAdjustSharpness
---@overload fun(sharpness_factor: number, p?: number): vision.RandomAdjustSharpness
local RandomAdjustSharpness = random_with('RandomAdjustSharpness', blur.adjust_sharpness, 'sharpness_factor')

return {RandomInvert = RandomInvert, RandomPosterize = RandomPosterize, RandomSolarize = RandomSolarize,
        RandomAutocontrast = RandomAutocontrast, RandomEqualize = RandomEqualize,
        RandomAdjustSharpness = RandomAdjustSharpness}
