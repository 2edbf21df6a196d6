-- vision/transforms/warp.lua: RandomRotation, RandomAffine, RandomPerspective, ElasticTransform.

local draw = require 'vision.transforms.draw'
local errors = require 'base.errors'
local F = require 'vision.transforms.functional.warp'
local gaussian_blur = require('vision.transforms.functional.blur').gaussian_blur
local image_layout = require 'vision.transforms.image'
local interpolation = require 'vision.transforms.interpolation'
local repr = require 'torch.nn.repr'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'
local transform = require 'vision.transforms.transform'

-- A number d means the range {-d, d}.
local function angles(owner, value, ...)
  if type(value) ~= 'number' then return sizes.numbers(owner, value, ...) end
  if value < 0 then
    errors.raise('argument', ('%s: a single number is from 0 on, got %s'):format(owner, tostring(value)))
  end
  return {-value, value}
end

local function float_list(list)
  local out = {}
  for i, x in ipairs(list) do out[i] = repr.float(x) end
  return '[' .. table.concat(out, ', ') .. ']'
end

local function check_center(owner, center)
  if center ~= nil then sizes.numbers(owner .. ': center', center, 2) end
end

---Rotates by a random angle. Arguments: degrees (a number d for -d … d, or {min, max}), interpolation = 'nearest' | 'bilinear',
---expand = false (true: the result contains the whole rotated image), center ({x, y} from the upper left corner;
---default: the middle), fill = 0 (a number, or one for each channel).
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.RandomRotation(10)(torch.rand(3, 8, 8)).shape[2] == 8)
---```
---@class vision.RandomRotation
---@overload fun(degrees: number|number[], options?: table): vision.RandomRotation
local RandomRotation = transform.define('RandomRotation', {'degrees', {'interpolation', 'nearest'}, {'expand', false},
  {'center'}, {'fill', 0}}, function(self)
    self.degrees = angles('RandomRotation: degrees', self.degrees, 2)
    self.interpolation = interpolation.of_warp('RandomRotation', self.interpolation)
    check_center('RandomRotation', self.center)
    sizes.fill('RandomRotation', self.fill)
  end)

function RandomRotation:extra_repr()
  local fields = {{'degrees', float_list(self.degrees), true}, {'interpolation', self.interpolation, true},
                  {'expand', self.expand}}
  if self.center then fields[#fields + 1] = {'center', self.center} end
  fields[#fields + 1] = {'fill', self.fill}
  return repr.fields(fields)
end

function RandomRotation:forward(image)
  local angle = draw.uniform(self.degrees[1], self.degrees[2])
  return F.rotate(image, angle, self.interpolation, self.expand, self.center, self.fill)
end

local function check_affine(self)
  self.degrees = angles('RandomAffine: degrees', self.degrees, 2)
  if self.translate ~= nil then
    for _, part in ipairs(sizes.numbers('RandomAffine: translate', self.translate, 2)) do
      if part < 0 or part > 1 then
        errors.raise('argument', ('RandomAffine: translate is in parts of the image, 0 to 1, got %s'):format(
          sizes.text(self.translate)))
      end
    end
  end
  if self.scale ~= nil and sizes.range('RandomAffine: scale', self.scale)[1] <= 0 then
    errors.raise('argument', ('RandomAffine: scale is positive, got %s'):format(sizes.text(self.scale)))
  end
  if self.shear ~= nil then self.shear = angles('RandomAffine: shear', self.shear, 2, 4) end
  self.interpolation = interpolation.of_warp('RandomAffine', self.interpolation)
  sizes.fill('RandomAffine', self.fill)
  check_center('RandomAffine', self.center)
end

---Rotates, shifts, scales and shears at random. Arguments: degrees (a number d for -d … d, or {min, max}), translate ({x, y}:
---at most these parts of width and height), scale ({min, max}), shear (degrees along x: a number or {min, max}; {min, max,
---min, max} also along y), interpolation = 'nearest' | 'bilinear', fill = 0 (a number, or one for each channel), center ({x, y}
---from the upper left corner; default: the middle).
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.RandomAffine(10, {0.1, 0.1}, {0.9, 1.1})(torch.rand(3, 8, 8)).shape[2] == 8)
---```
---@class vision.RandomAffine
---@overload fun(degrees: number|number[], options?: table): vision.RandomAffine
local RandomAffine = transform.define('RandomAffine', {'degrees', {'translate'}, {'scale'}, {'shear'},
  {'interpolation', 'nearest'}, {'fill', 0}, {'center'}}, check_affine)

function RandomAffine:extra_repr()
  local fields = {{'degrees', float_list(self.degrees), true}}
  for _, name in ipairs{'translate', 'scale'} do
    if self[name] then fields[#fields + 1] = {name, self[name]} end
  end
  if self.shear then fields[#fields + 1] = {'shear', float_list(self.shear), true} end
  if self.interpolation ~= 'nearest' then fields[#fields + 1] = {'interpolation', self.interpolation, true} end
  if self.fill ~= 0 then fields[#fields + 1] = {'fill', self.fill} end
  if self.center then fields[#fields + 1] = {'center', self.center} end
  return repr.fields(fields)
end

local function random_shift(self, height, width)
  if not self.translate then return {0, 0} end
  local dx, dy = self.translate[1] * width, self.translate[2] * height
  local x = sizes.round(draw.uniform(-dx, dx))
  return {x, sizes.round(draw.uniform(-dy, dy))}
end

local function random_shear(shear)
  if not shear then return {0, 0} end
  local x = draw.uniform(shear[1], shear[2])
  return {x, #shear == 4 and draw.uniform(shear[3], shear[4]) or 0}
end

function RandomAffine:forward(image)
  local _, height, width = image_layout.dimensions('RandomAffine', image)
  local angle = draw.uniform(self.degrees[1], self.degrees[2])
  local shift = random_shift(self, height, width)
  local scale = self.scale and draw.uniform(self.scale[1], self.scale[2]) or 1
  return F.affine(image, angle, shift, scale, random_shear(self.shear), self.interpolation, self.fill, self.center)
end

---Moves the corners at random with probability p. Arguments: distortion_scale = 0.5 (0 … 1), p = 0.5, interpolation =
---'bilinear' | 'nearest', fill = 0 (a number, or one for each channel).
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.RandomPerspective(0.5, 1)(torch.rand(3, 8, 8)).shape[2] == 8)
---```
---@class vision.RandomPerspective
---@overload fun(distortion_scale?: number, p?: number, options?: table): vision.RandomPerspective
local RandomPerspective = transform.define('RandomPerspective', {{'distortion_scale', 0.5}, {'p', 0.5},
  {'interpolation', 'bilinear'}, {'fill', 0}}, function(self)
    sizes.probability('RandomPerspective', self.p)
    if type(self.distortion_scale) ~= 'number' or self.distortion_scale < 0 or self.distortion_scale > 1 then
      errors.raise('argument', ('RandomPerspective: distortion_scale is from 0 to 1, got %s'):format(
        tostring(self.distortion_scale)))
    end
    self.interpolation = interpolation.of_warp('RandomPerspective', self.interpolation)
    sizes.fill('RandomPerspective', self.fill)
  end, {'p'})

local function random_corners(self, height, width)
  local dx = math.floor(self.distortion_scale * math.floor(width / 2))
  local dy = math.floor(self.distortion_scale * math.floor(height / 2))
  local function near(size, d) return draw.integer(0, d + 1) end
  local function far(size, d) return draw.integer(size - d - 1, size) end
  local out = {}
  for i, side in ipairs{{near, near}, {far, near}, {far, far}, {near, far}} do
    local x = side[1](width, dx)
    out[i] = {x, side[2](height, dy)}
  end
  return out
end

function RandomPerspective:forward(image)
  local _, height, width = image_layout.dimensions('RandomPerspective', image)
  if draw.real() >= self.p then return image end
  local corners = {{0, 0}, {width - 1, 0}, {width - 1, height - 1}, {0, height - 1}}
  return F.perspective(image, corners, random_corners(self, height, width), self.interpolation, self.fill)
end

local function two(owner, value)
  local list = type(value) == 'number' and {value, value} or sizes.numbers(owner, value, 1, 2)
  return {list[1], list[2] or list[1]}
end

---Moves each pixel by a random displacement, smoothed (Simard et al. 2003). Arguments: alpha = 50 (distance; a number
---or {x, y}), sigma = 5 (smoothness; a number or {x, y}), interpolation = 'bilinear' | 'nearest', fill = 0 (a number,
---or one for each channel).
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.ElasticTransform{alpha = 30, sigma = 1}(torch.rand(1, 28, 28)).shape[2] == 28)
---```
---@class vision.ElasticTransform
---@overload fun(alpha?: number|number[], sigma?: number|number[], options?: table): vision.ElasticTransform
local ElasticTransform = transform.define('ElasticTransform', {{'alpha', 50}, {'sigma', 5},
  {'interpolation', 'bilinear'}, {'fill', 0}}, function(self)
    self.alpha, self.sigma = two('ElasticTransform: alpha', self.alpha), two('ElasticTransform: sigma', self.sigma)
    self.interpolation = interpolation.of_warp('ElasticTransform', self.interpolation)
    sizes.fill('ElasticTransform', self.fill)
  end)

-- Draws one coordinate of the displacement, (1, 1, h, w), relative to `extent` pixels.
local function displacement(height, width, alpha, sigma, whole_sigma, extent)
  local d = draw.reals{1, 1, height, width} * 2 - 1
  if sigma > 0 then
    local size = sizes.truncate(8 * sigma + 1)
    if size % 2 == 0 then size = size + 1 end
    d = gaussian_blur(d, size, whole_sigma)
  end
  return d * alpha / extent
end

function ElasticTransform:forward(image)
  local _, height, width = image_layout.dimensions('ElasticTransform', image)
  local dx = displacement(height, width, self.alpha[1], self.sigma[1], self.sigma, width)
  local dy = displacement(height, width, self.alpha[2], self.sigma[2], self.sigma, height)
  return F.elastic_transform(image, torch.cat({dx, dy}, 1):permute{0, 2, 3, 1}, self.interpolation, self.fill)
end

return {RandomRotation = RandomRotation, RandomAffine = RandomAffine, RandomPerspective = RandomPerspective,
        ElasticTransform = ElasticTransform}
