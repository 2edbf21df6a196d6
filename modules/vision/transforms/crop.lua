-- vision/transforms/crop.lua: CenterCrop, RandomCrop, RandomResizedCrop, FiveCrop, TenCrop.

local draw = require 'vision.transforms.draw'
local errors = require 'base.errors'
local F = require 'vision.transforms.functional.crop'
local image_layout = require 'vision.transforms.image'
local interpolation = require 'vision.transforms.interpolation'
local pad = require 'vision.transforms.functional.pad'
local repr = require 'torch.nn.repr'
local sizes = require 'vision.transforms.sizes'
local transform = require 'vision.transforms.transform'

local function pair_size(name)
  return function(self) self.size = sizes.pair(name .. ': size', self.size) end
end

---Crops the middle of the image; a smaller image gets a black border. Arguments: size (a number or {height, width}).
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.CenterCrop(24)(torch.zeros(32, 32, 3, {dtype = 'uint8'})).shape[2] == 24)
---```
---@class vision.CenterCrop
---@overload fun(size: integer|integer[]): vision.CenterCrop
local CenterCrop = transform.define('CenterCrop', {'size'}, pair_size 'CenterCrop')
CenterCrop.takes_batches = true

function CenterCrop:forward(image) return F.center_crop(image, self.size) end

function CenterCrop:fuse(plan)
  local h, w = self.size[1], self.size[2]
  if plan.height < h or plan.width < w then return false end
  local top, left = sizes.round((plan.height - h) / 2), sizes.round((plan.width - w) / 2)
  return plan:crop(h, w, function() return top, left end)
end

---Crops a part of the given size at a random position. Arguments: size (a number or {height, width}), padding (a border
---added before: a number, {horizontal, vertical} or {left, top, right, bottom}), pad_if_needed = false (true: adds a
---border if the image is too small), fill = 0 (a number, or one for each channel), padding_mode = 'constant' | 'edge' |
---'reflect' | 'symmetric'.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.RandomCrop(32, {padding = 4})(torch.zeros(32, 32, 3, {dtype = 'uint8'})).shape[1] == 32)
---assert(T.RandomCrop(24)(torch.rand(3, 28, 28)).shape[3] == 24)
---```
---@class vision.RandomCrop
---@overload fun(size: integer|integer[], options?: table): vision.RandomCrop
local RandomCrop = transform.define('RandomCrop', {'size', {'padding'}, {'pad_if_needed', false}, {'fill', 0},
  {'padding_mode', 'constant'}}, function(self)
    self.size = sizes.pair('RandomCrop: size', self.size)
    if self.padding ~= nil then pad._sides('RandomCrop', self.padding) end
    pad._mode('RandomCrop', self.padding_mode)
    sizes.fill('RandomCrop', self.fill)
  end, {'size', 'padding'})

local function check_room(height, width, size)
  if height < size[1] or width < size[2] then
    errors.raise('argument', ('RandomCrop: the crop (%d, %d) is larger than the image (%d, %d): use padding or '
      .. 'pad_if_needed'):format(size[1], size[2], height, width))
  end
end

local function padded(self, image)
  if self.padding ~= nil then image = pad.pad(image, self.padding, self.fill, self.padding_mode) end
  if not self.pad_if_needed then return image end
  local _, height, width = image_layout.dimensions('RandomCrop', image)
  local need_h, need_w = self.size[1] - height, self.size[2] - width
  if need_w > 0 then image = pad.pad(image, {need_w, 0}, self.fill, self.padding_mode) end
  if need_h > 0 then image = pad.pad(image, {0, need_h}, self.fill, self.padding_mode) end
  return image
end

function RandomCrop:forward(image)
  image = padded(self, image)
  local _, height, width = image_layout.dimensions('RandomCrop', image)
  local th, tw = self.size[1], self.size[2]
  check_room(height, width, self.size)
  if height == th and width == tw then return image end
  local top = draw.integer(0, height - th + 1)
  local left = draw.integer(0, width - tw + 1)
  return F.crop(image, top, left, th, tw)
end

function RandomCrop:fuse(plan)
  local h, w = self.size[1], self.size[2]
  local sides = self.padding ~= nil and pad._sides('RandomCrop', self.padding)
  if sides and not (self.padding_mode == 'constant' and plan:pad(sides, self.fill)) then return false end
  if plan.height < h or plan.width < w then return false end
  if plan.height == h and plan.width == w then return true end
  local top, left = plan:draw(plan.height - h + 1), plan:draw(plan.width - w + 1)
  return plan:crop(h, w, function(number) return number(top), number(left) end)
end

---Crops a part of random size and aspect ratio, and resizes it. Arguments: size (a number or {height, width}), scale =
---{0.08, 1} (of the image's area), ratio = {3/4, 4/3} (width to height), interpolation = 'bilinear' | 'nearest' |
---'nearest-exact' | 'bicubic', antialias = true.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.RandomResizedCrop(16)(torch.rand(3, 40, 30)).shape[3] == 16)
---```
---@class vision.RandomResizedCrop
---@overload fun(size: integer|integer[], options?: table): vision.RandomResizedCrop
local RandomResizedCrop = transform.define('RandomResizedCrop', {'size', {'scale', {0.08, 1}}, {'ratio', {3 / 4, 4 / 3}},
  {'interpolation', 'bilinear'}, {'antialias', true}}, function(self)
    self.size = sizes.pair('RandomResizedCrop: size', self.size)
    sizes.range('RandomResizedCrop: scale', self.scale)
    sizes.range('RandomResizedCrop: ratio', self.ratio)
    if self.scale[1] < 0 or self.ratio[1] <= 0 then
      errors.raise('argument', 'RandomResizedCrop: scale is from 0 on, ratio positive')
    end
    self.interpolation = interpolation.of_resize('RandomResizedCrop', self.interpolation)
  end)

local function four_digits(range)
  local out = {}
  for i, x in ipairs(range) do out[i] = repr.float(sizes.round(x * 1e4) / 1e4) end
  return '(' .. table.concat(out, ', ') .. ')'
end

function RandomResizedCrop:extra_repr()
  return repr.fields{{'size', self.size}, {'scale', four_digits(self.scale), true},
                     {'ratio', four_digits(self.ratio), true}, {'interpolation', self.interpolation, true},
                     {'antialias', self.antialias}}
end

-- Returns the whole image, or the largest central part with an allowed ratio.
local function central_part(height, width, ratio)
  local w, h = width, height
  if width / height < ratio[1] then
    h = sizes.round(width / ratio[1])
  elseif width / height > ratio[2] then
    w = sizes.round(height * ratio[2])
  end
  return math.floor((height - h) / 2), math.floor((width - w) / 2), h, w
end

local function random_part(self, height, width)
  for _ = 1, 10 do
    local area = height * width * draw.uniform(self.scale[1], self.scale[2])
    local ratio = draw.ratio(self.ratio)
    local w, h = sizes.round(math.sqrt(area * ratio)), sizes.round(math.sqrt(area / ratio))
    if w > 0 and w <= width and h > 0 and h <= height then
      local top = draw.integer(0, height - h + 1)
      return top, draw.integer(0, width - w + 1), h, w
    end
  end
  return central_part(height, width, self.ratio)
end

function RandomResizedCrop:forward(image)
  local _, height, width = image_layout.dimensions('RandomResizedCrop', image)
  local top, left, h, w = random_part(self, height, width)
  return F.resized_crop(image, top, left, h, w, self.size, self.interpolation, self.antialias)
end

---Returns a list of five parts: the corners and the middle. Arguments: size (a number or {height, width}).
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---local stack = T.Compose{T.FiveCrop(4), T.Lambda(function(parts) return torch.stack(parts) end)}
---assert(stack(torch.rand(3, 8, 8)).shape[1] == 5)
---```
---@class vision.FiveCrop
---@overload fun(size: integer|integer[]): vision.FiveCrop
local FiveCrop = transform.define('FiveCrop', {'size'}, pair_size 'FiveCrop')

function FiveCrop:forward(image) return F.five_crop(image, self.size) end

---Returns a list of ten parts: those of FiveCrop, then those of the mirrored image. Arguments: size (a number or
---{height, width}), vertical_flip = false (true: mirrors top to bottom).
---@class vision.TenCrop
---@overload fun(size: integer|integer[], options?: {vertical_flip: boolean}): vision.TenCrop
local TenCrop = transform.define('TenCrop', {'size', {'vertical_flip', false}}, pair_size 'TenCrop')

function TenCrop:forward(image) return F.ten_crop(image, self.size, self.vertical_flip) end

return {CenterCrop = CenterCrop, RandomCrop = RandomCrop, RandomResizedCrop = RandomResizedCrop, FiveCrop = FiveCrop,
        TenCrop = TenCrop}
