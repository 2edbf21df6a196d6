-- vision/transforms/augmentation.lua: the operations of AutoAugment and similar policies, by name, with their largest
-- magnitudes.

local color = require 'vision.transforms.functional.color'
local blur = require 'vision.transforms.functional.blur'
local errors = require 'base.errors'
local sizes = require 'vision.transforms.sizes'
local tone = require 'vision.transforms.functional.tone'
local torch = require 'torch'
local warp = require 'vision.transforms.functional.warp'

local augmentation = {}

-- Shears by a magnitude along x or y, around the upper left corner.
local function shear(image, along_x, along_y, how)
  local function degrees(magnitude) return math.deg(math.atan(magnitude)) end
  return warp.affine(image, 0, {0, 0}, 1, {degrees(along_x), degrees(along_y)}, how.interpolation, how.fill, {0, 0})
end

local function translate(image, x, y, how)
  return warp.affine(image, 0, {sizes.truncate(x), sizes.truncate(y)}, 1, {0, 0}, how.interpolation, how.fill)
end

-- Operation → function(image, magnitude, how).
local OPERATIONS = {
  Identity = function(image) return image end,
  ShearX = function(image, m, how) return shear(image, m, 0, how) end,
  ShearY = function(image, m, how) return shear(image, 0, m, how) end,
  TranslateX = function(image, m, how) return translate(image, m, 0, how) end,
  TranslateY = function(image, m, how) return translate(image, 0, m, how) end,
  Rotate = function(image, m, how) return warp.rotate(image, m, how.interpolation, false, nil, how.fill) end,
  Brightness = function(image, m) return color.adjust_brightness(image, 1 + m) end,
  Color = function(image, m) return color.adjust_saturation(image, 1 + m) end,
  Contrast = function(image, m) return color.adjust_contrast(image, 1 + m) end,
  Sharpness = function(image, m) return blur.adjust_sharpness(image, 1 + m) end,
  Posterize = function(image, m) return tone.posterize(image, sizes.truncate(m)) end,
  Solarize = function(image, m) return tone.solarize(image, m) end,
  AutoContrast = function(image) return tone.autocontrast(image) end,
  Equalize = function(image) return tone.equalize(image) end,
  Invert = function(image) return tone.invert(image) end,
}

local IS_SIGNED = {ShearX = true, ShearY = true, TranslateX = true, TranslateY = true, Rotate = true, Brightness = true,
                   Color = true, Contrast = true, Sharpness = true}

---Applies an operation.
---@param name string
---@param image torch.Tensor
---@param magnitude number
---@param how {interpolation: string, fill: number|number[]|nil} for warps
---@return torch.Tensor
function augmentation.apply(name, image, magnitude, how) return OPERATIONS[name](image, magnitude, how) end

---Returns whether the magnitude of an operation may be negated.
---@param name string
---@return boolean
function augmentation.is_signed(name) return IS_SIGNED[name] == true end

---Returns the magnitudes of an operation, from weak to strong; nil if it has none.
---@param limits table<string, number> the strongest magnitudes; 'Posterize' as {bits, fewer bits}
---@param name string
---@param bins integer number of magnitudes
---@return number[]|nil
function augmentation.magnitudes(limits, name, bins)
  local limit = limits[name]
  if limit == nil then return nil end
  if name == 'Solarize' then return torch.linspace(255, 0, bins):tolist() end
  if name ~= 'Posterize' then return torch.linspace(0, limit, bins):tolist() end
  return (limit[1] - (torch.arange(bins) / ((bins - 1) / limit[2])):round()):tolist()
end

---Checks the number of bins of magnitudes.
---@param owner string for the message
---@param bins any
function augmentation.check_bins(owner, bins)
  if type(bins) ~= 'number' or bins < 2 or bins % 1 ~= 0 then
    errors.raise('argument', ('%s: num_magnitude_bins is an integer from 2 on, got %s'):format(owner, tostring(bins)))
  end
end

return augmentation
