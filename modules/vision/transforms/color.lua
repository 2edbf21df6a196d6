-- vision/transforms/color.lua: ColorJitter, Grayscale, RandomGrayscale.

local draw = require 'vision.transforms.draw'
local errors = require 'base.errors'
local F = require 'vision.transforms.functional.color'
local image_layout = require 'vision.transforms.image'
local repr = require 'torch.nn.repr'
local sizes = require 'vision.transforms.sizes'
local transform = require 'vision.transforms.transform'

-- Returns {min, max} of a factor; nil if it changes nothing.
local function factor_range(name, value, center, min, max)
  local owner = 'ColorJitter: ' .. name
  if type(value) == 'number' then
    if value < 0 then
      errors.raise('argument', ('%s: a single number is from 0 on, got %s'):format(owner, tostring(value)))
    end
    value = {center - value, center + value}
    if name ~= 'hue' then value[1] = math.max(value[1], 0) end
  end
  sizes.range(owner, value)
  if value[1] < min or value[2] > max then
    errors.raise('argument', ('%s lies between %s and %s, got %s'):format(owner, tostring(min), tostring(max),
      sizes.text(value)))
  end
  if value[1] == center and value[2] == center then return nil end
  return value
end

local NAMES = {'brightness', 'contrast', 'saturation', 'hue'}
local ADJUST = {F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue}

---Changes brightness, contrast, saturation and hue at random, in random order. Arguments: brightness = 0, contrast = 0,
---saturation = 0 (a number f for factors 1 - f … 1 + f, or {min, max}), hue = 0 (a number h up to 0.5 for -h … h, or {min,
---max}).
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---local jitter = T.ColorJitter{brightness = 0.4, contrast = 0.4, saturation = 0.4, hue = 0.1}
---assert(jitter(torch.zeros(8, 8, 3, {dtype = 'uint8'})).shape[3] == 3)
---```
---@class vision.ColorJitter
---@overload fun(options?: table): vision.ColorJitter
local ColorJitter = transform.define('ColorJitter', {{'brightness', 0}, {'contrast', 0}, {'saturation', 0}, {'hue', 0}},
  function(self)
    for i = 1, 3 do self[NAMES[i]] = factor_range(NAMES[i], self[NAMES[i]], 1, 0, math.huge) end
    self.hue = factor_range('hue', self.hue, 0, -0.5, 0.5)
  end)

function ColorJitter:extra_repr()
  local fields = {}
  for i, name in ipairs(NAMES) do
    fields[i] = {name, self[name] and repr.float(self[name]) or 'None', true}
  end
  return repr.fields(fields)
end

function ColorJitter:forward(image)
  local order, factors = draw.permutation(4), {}
  for i, name in ipairs(NAMES) do
    local range = self[name]
    factors[i] = range and draw.uniform(range[1], range[2])
  end
  for _, place in ipairs(order) do
    local factor = factors[place + 1]
    if factor then image = ADJUST[place + 1](image, factor) end
  end
  return image
end

---Removes the colours. Arguments: num_output_channels = 1 (or 3 equal channels).
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.Grayscale()(torch.zeros(8, 9, 3, {dtype = 'uint8'})):dim() == 3)
---```
---@class vision.Grayscale
---@overload fun(num_output_channels?: integer): vision.Grayscale
local Grayscale = transform.define('Grayscale', {{'num_output_channels', 1}}, function(self)
  if self.num_output_channels ~= 1 and self.num_output_channels ~= 3 then
    errors.raise('argument', ('Grayscale: num_output_channels is 1 or 3, got %s'):format(
      tostring(self.num_output_channels)))
  end
end)
Grayscale.takes_batches = true

function Grayscale:forward(image) return F.rgb_to_grayscale(image, self.num_output_channels) end

---Removes the colours with probability p, and keeps the number of channels. Arguments: p = 0.1.
---@class vision.RandomGrayscale
---@overload fun(p?: number): vision.RandomGrayscale
local RandomGrayscale = transform.define('RandomGrayscale', {{'p', 0.1}}, function(self)
  sizes.probability('RandomGrayscale', self.p)
end)

function RandomGrayscale:forward(image)
  local channels = image_layout.dimensions('RandomGrayscale', image)
  if draw.real() < self.p then return F.rgb_to_grayscale(image, channels) end
  return image
end

return {ColorJitter = ColorJitter, Grayscale = Grayscale, RandomGrayscale = RandomGrayscale}
