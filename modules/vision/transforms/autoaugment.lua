-- vision/transforms/autoaugment.lua: AutoAugment, RandAugment, TrivialAugmentWide, AugMix.

local args = require 'base.args'
local augmentation = require 'vision.transforms.augmentation'
local draw = require 'vision.transforms.draw'
local errors = require 'base.errors'
local image_layout = require 'vision.transforms.image'
local interpolation = require 'vision.transforms.interpolation'
local policies = require 'vision.transforms.policies'
local repr = require 'torch.nn.repr'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'
local transform = require 'vision.transforms.transform'

-- Returns the largest magnitudes; those of translations are in pixels.
local function limits(translate_x, translate_y, posterize)
  return {ShearX = 0.3, ShearY = 0.3, TranslateX = translate_x, TranslateY = translate_y, Rotate = 30, Brightness = 0.9,
          Color = 0.9, Contrast = 0.9, Sharpness = 0.9, Posterize = posterize, Solarize = 0}
end

local WIDE = {ShearX = 0.99, ShearY = 0.99, TranslateX = 32, TranslateY = 32, Rotate = 135, Brightness = 0.99, Color = 0.99,
              Contrast = 0.99, Sharpness = 0.99, Posterize = {8, 6}, Solarize = 0}

-- The order of the operations, as numbered by the random draws.
local OPERATIONS = {'Identity', 'ShearX', 'ShearY', 'TranslateX', 'TranslateY', 'Rotate', 'Brightness', 'Color', 'Contrast',
                    'Sharpness', 'Posterize', 'Solarize', 'AutoContrast', 'Equalize'}
local MIX_OPERATIONS = {'ShearX', 'ShearY', 'TranslateX', 'TranslateY', 'Rotate', 'Posterize', 'Solarize', 'AutoContrast',
                        'Equalize', 'Brightness', 'Color', 'Contrast', 'Sharpness'}

local function check_warp(owner, self)
  self.interpolation = interpolation.of_warp(owner, self.interpolation)
  sizes.fill(owner, self.fill)
end

local function check_count(owner, name, value, min, max)
  if type(value) ~= 'number' or value % 1 ~= 0 or value < min or value > max then
    local range = max < math.huge and ('from %d to %d'):format(min, max) or ('from %d on'):format(min)
    errors.raise('argument', ('%s: %s is an integer %s, got %s'):format(owner, name, range, tostring(value)))
  end
end

local function list_repr(self, names)
  local fields = {}
  for i, name in ipairs(names) do
    fields[i] = {name, self[name]}
    if name == 'interpolation' then fields[i] = {name, 'InterpolationMode.' .. self[name]:upper(), true} end
    if type(self[name]) == 'table' then fields[i] = {name, repr.list(self[name]), true} end
  end
  return repr.fields(fields)
end

local function signed(name, magnitude)
  if augmentation.is_signed(name) and draw.integer(0, 2) == 1 then return -magnitude end
  return magnitude
end

---AutoAugmentPolicy.CIFAR10 and the others by torchvision's names; the strings may be used directly.
local AutoAugmentPolicy = {IMAGENET = 'imagenet', CIFAR10 = 'cifar10', SVHN = 'svhn'}

---Applies one of 25 pairs of operations found by search (Cubuk et al. 2019), for uint8 images of 1 or 3 channels.
---Arguments: policy = 'imagenet' | 'cifar10' | 'svhn', interpolation = 'nearest' | 'bilinear', fill (a number, or one for each
---channel; default 0).
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---local augment = T.AutoAugment(T.AutoAugmentPolicy.CIFAR10)
---assert(augment(torch.zeros(32, 32, 3, {dtype = 'uint8'})).shape[1] == 32)
---```
---@class vision.AutoAugment
---@overload fun(policy?: string, options?: table): vision.AutoAugment
local AutoAugment = transform.define('AutoAugment', {{'policy', 'imagenet'}, {'interpolation', 'nearest'}, {'fill'}},
  function(self)
    args.one_of('AutoAugment: policy', self.policy, policies.NAMES)
    self.policies = policies.of(self.policy)
    check_warp('AutoAugment', self)
  end)

function AutoAugment:extra_repr()
  return ('policy=AutoAugmentPolicy.%s, '):format(self.policy:upper()) .. list_repr(self, {'fill'})
end

function AutoAugment:forward(image)
  local _, height, width = image_layout.dimensions('AutoAugment', image)
  local pair = self.policies[draw.integer(0, #self.policies) + 1]
  local chances, signs = draw.reals{2}:tolist(), draw.integers(0, 2, 2)
  local strongest = limits(150 / 331 * width, 150 / 331 * height, {8, 4})
  for i, operation in ipairs(pair) do
    local name, p, number = unpack(operation, 1, 3)
    if chances[i] <= p then
      local magnitude = number and (augmentation.magnitudes(strongest, name, 10) or {})[number + 1] or 0
      if augmentation.is_signed(name) and signs[i] == 0 then magnitude = -magnitude end
      image = augmentation.apply(name, image, magnitude, self)
    end
  end
  return image
end

---Applies a number of random operations of one magnitude (Cubuk et al. 2020), for uint8 images of 1 or 3 channels.
---Arguments: num_ops = 2, magnitude = 9 (of num_magnitude_bins, from 0), num_magnitude_bins = 31, interpolation = 'nearest' |
---'bilinear', fill (a number, or one for each channel; default 0).
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.RandAugment(2, 5)(torch.zeros(32, 32, 3, {dtype = 'uint8'})).shape[1] == 32)
---```
---@class vision.RandAugment
---@overload fun(num_ops?: integer, magnitude?: integer, options?: table): vision.RandAugment
local RandAugment = transform.define('RandAugment', {{'num_ops', 2}, {'magnitude', 9}, {'num_magnitude_bins', 31},
  {'interpolation', 'nearest'}, {'fill'}}, function(self)
    augmentation.check_bins('RandAugment', self.num_magnitude_bins)
    check_count('RandAugment', 'num_ops', self.num_ops, 0, math.huge)
    check_count('RandAugment', 'magnitude', self.magnitude, 0, self.num_magnitude_bins - 1)
    check_warp('RandAugment', self)
  end)

local RAND_FIELDS = {'num_ops', 'magnitude', 'num_magnitude_bins', 'interpolation', 'fill'}
function RandAugment:extra_repr() return list_repr(self, RAND_FIELDS) end

function RandAugment:forward(image)
  local _, height, width = image_layout.dimensions('RandAugment', image)
  local strongest = limits(150 / 331 * width, 150 / 331 * height, {8, 4})
  for _ = 1, self.num_ops do
    local name = OPERATIONS[draw.integer(0, #OPERATIONS) + 1]
    local magnitudes = augmentation.magnitudes(strongest, name, self.num_magnitude_bins)
    local magnitude = signed(name, magnitudes and magnitudes[self.magnitude + 1] or 0)
    image = augmentation.apply(name, image, magnitude, self)
  end
  return image
end

---Applies one operation of a random magnitude (Müller and Hutter 2021), for uint8 images of 1 or 3 channels. Arguments:
---num_magnitude_bins = 31, interpolation = 'nearest' | 'bilinear', fill (a number, or one for each channel; default 0).
---@class vision.TrivialAugmentWide
---@overload fun(num_magnitude_bins?: integer, options?: table): vision.TrivialAugmentWide
local TrivialAugmentWide = transform.define('TrivialAugmentWide', {{'num_magnitude_bins', 31},
  {'interpolation', 'nearest'}, {'fill'}}, function(self)
    augmentation.check_bins('TrivialAugmentWide', self.num_magnitude_bins)
    check_warp('TrivialAugmentWide', self)
  end)

function TrivialAugmentWide:extra_repr()
  return list_repr(self, {'num_magnitude_bins', 'interpolation', 'fill'})
end

function TrivialAugmentWide:forward(image)
  image_layout.check('TrivialAugmentWide', image)
  local name = OPERATIONS[draw.integer(0, #OPERATIONS) + 1]
  local magnitudes = augmentation.magnitudes(WIDE, name, self.num_magnitude_bins)
  local magnitude = magnitudes and magnitudes[draw.integer(0, #magnitudes) + 1] or 0
  return augmentation.apply(name, image, signed(name, magnitude), self)
end

local MIX_BINS = 10

---Mixes the image with results of chains of operations (Hendrycks et al. 2020), for uint8 images of 1 or 3 channels.
---Arguments: severity = 3 (1 … 10), mixture_width = 3 (chains), chain_depth = -1 (operations of a chain; -1: 1 to 3 at
---random), alpha = 1 (of the mixing weights), all_ops = true (also brightness, contrast, colour and sharpness),
---interpolation = 'bilinear' | 'nearest', fill (a number, or one for each channel; default 0).
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.AugMix()(torch.zeros(32, 32, 3, {dtype = 'uint8'})).dtype == 'uint8')
---```
---@class vision.AugMix
---@overload fun(severity?: integer, mixture_width?: integer, options?: table): vision.AugMix
local AugMix = transform.define('AugMix', {{'severity', 3}, {'mixture_width', 3}, {'chain_depth', -1}, {'alpha', 1},
  {'all_ops', true}, {'interpolation', 'bilinear'}, {'fill'}}, function(self)
    check_count('AugMix', 'severity', self.severity, 1, MIX_BINS)
    check_count('AugMix', 'mixture_width', self.mixture_width, 1, math.huge)
    check_count('AugMix', 'chain_depth', self.chain_depth, -1, math.huge)
    if not sizes.is_positive(self.alpha) then
      errors.raise('argument', ('AugMix: alpha is positive, got %s'):format(tostring(self.alpha)))
    end
    check_warp('AugMix', self)
  end)

function AugMix:extra_repr()
  return ('severity=%s, mixture_width=%s, chain_depth=%s, alpha=%s, '):format(repr.value(self.severity),
    repr.value(self.mixture_width), repr.value(self.chain_depth), repr.float(self.alpha))
    .. list_repr(self, {'all_ops', 'interpolation', 'fill'})
end

local function chain(self, batch, strongest)
  local depth = self.chain_depth > 0 and self.chain_depth or draw.integer(1, 4)
  for _ = 1, depth do
    local count = self.all_ops and #MIX_OPERATIONS or #MIX_OPERATIONS - 4
    local name = MIX_OPERATIONS[draw.integer(0, count) + 1]
    local magnitudes = augmentation.magnitudes(strongest, name, MIX_BINS)
    local magnitude = magnitudes and magnitudes[draw.integer(0, self.severity) + 1] or 0
    batch = augmentation.apply(name, batch, signed(name, magnitude), self)
  end
  return batch
end

-- Draws weights (n, count) that sum to 1, for each image of (n, …).
local function weights(self, batch, count)
  return draw.dirichlet(torch.full({count}, self.alpha):expand(batch:size(0), count))
end

local function mixed(self, x)
  local shape = x:size()
  local batch = #shape < 4 and x:unsqueeze(0) or x
  local strongest = limits(shape[#shape] / 3, shape[#shape - 1] / 3, {4, 4})
  local function column(w, i)
    local sizes_of = {batch:size(0)}
    for k = 2, batch:dim() do sizes_of[k] = 1 end
    return w:select(1, i):reshape(sizes_of)
  end
  local parts = weights(self, batch, 2)
  local combined = weights(self, batch, self.mixture_width) * parts:narrow(1, 1, 1)
  local mix = column(parts, 0) * batch
  for i = 0, self.mixture_width - 1 do mix = mix + column(combined, i) * chain(self, batch, strongest) end
  return mix:view(shape):to(x.dtype)
end

function AugMix:forward(image)
  return image_layout.channels_first('AugMix', image, function(x) return mixed(self, x) end)
end

return {AutoAugment = AutoAugment, AutoAugmentPolicy = AutoAugmentPolicy, RandAugment = RandAugment,
        TrivialAugmentWide = TrivialAugmentWide, AugMix = AugMix}
