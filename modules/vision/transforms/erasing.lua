-- vision/transforms/erasing.lua: RandomErasing.

local draw = require 'vision.transforms.draw'
local erase = require('vision.transforms.functional.erase').erase
local errors = require 'base.errors'
local image_layout = require 'vision.transforms.image'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'
local transform = require 'vision.transforms.transform'

local function check(self)
  sizes.probability('RandomErasing', self.p)
  sizes.range('RandomErasing: scale', self.scale)
  sizes.range('RandomErasing: ratio', self.ratio)
  if self.scale[1] < 0 or self.scale[2] > 1 or self.ratio[1] <= 0 then
    errors.raise('argument', ('RandomErasing: scale lies between 0 and 1, ratio above 0, got %s and %s'):format(
      sizes.text(self.scale), sizes.text(self.ratio)))
  end
  local value = self.value
  if value ~= 'random' and type(value) ~= 'number' then
    if type(value) ~= 'table' then
      errors.raise('argument', ("RandomErasing: value is a number, a list with one for each channel, or 'random', got %s")
        :format(tostring(value)))
    end
    sizes.numbers('RandomErasing: value', value, #value)
  end
end

---Overwrites a random part of (…, c, h, w) with probability p (Zhong et al. 2017). Arguments: p = 0.5, scale = {0.02, 0.33} (of
---the image's area), ratio = {0.3, 3.3} (height to width), value = 0 (a number, one for each channel, or 'random': normally
---distributed numbers), inplace = false.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.RandomErasing(1)(torch.ones(3, 16, 16)):min():item() == 0)
---```
---@class vision.RandomErasing
---@overload fun(p?: number, options?: table): vision.RandomErasing
local RandomErasing = transform.define('RandomErasing', {{'p', 0.5}, {'scale', {0.02, 0.33}}, {'ratio', {0.3, 3.3}},
  {'value', 0}, {'inplace', false}}, check)

-- Returns the values to write, (c or 1, h or 1, w or 1).
local function values_of(self, channels, h, w)
  if self.value == 'random' then return draw.normal{channels, h, w} end
  local list = type(self.value) == 'number' and {self.value} or self.value
  if #list ~= 1 and #list ~= channels then
    errors.raise('argument', ('RandomErasing: value has %d numbers, the image %d channels'):format(#list, channels))
  end
  return torch.tensor(list):view{-1, 1, 1}
end

function RandomErasing:forward(image)
  local channels, height, width = image_layout.dimensions('RandomErasing', image)
  if draw.real() >= self.p then return image end
  for _ = 1, 10 do
    local area = height * width * draw.uniform(self.scale[1], self.scale[2])
    local ratio = draw.ratio(self.ratio)
    local h, w = sizes.round(math.sqrt(area * ratio)), sizes.round(math.sqrt(area / ratio))
    if h < height and w < width then
      local values = values_of(self, channels, h, w)
      local top = draw.integer(0, height - h + 1)
      return erase(image, top, draw.integer(0, width - w + 1), h, w, values, self.inplace)
    end
  end
  return image
end

return {RandomErasing = RandomErasing}
