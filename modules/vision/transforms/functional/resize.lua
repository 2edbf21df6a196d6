-- vision/transforms/functional/resize.lua: resize.

local args = require 'base.args'
local errors = require 'base.errors'
local image = require 'vision.transforms.image'
local interpolation = require 'vision.transforms.interpolation'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'

local resize = {}
local defined = args.definer(resize)

local FLOATS = {float32 = true, float64 = true}
-- ATen has antialiased bilinear interpolation for bytes: it takes a third of the time and differs by at most one level
-- from floats. Its bicubic version clips between the two directions, unlike floats, and is not used.
local ANTIALIAS_DTYPES = {bilinear = {float32 = true, float64 = true, uint8 = true}, bicubic = FLOATS}
local OPERATORS = {
  nearest = 'upsample_nearest2d', ['nearest-exact'] = '_upsample_nearest_exact2d', bilinear = 'upsample_bilinear2d',
  bicubic = 'upsample_bicubic2d',
}
local ANTIALIAS = {bilinear = '_upsample_bilinear2d_aa', bicubic = '_upsample_bicubic2d_aa'}

---Checks the size argument of resize: a number or a list of one number for the shorter side, or {height, width}.
---@param owner string for the message
---@param size integer|integer[]
---@param max_size? integer
function resize._check(owner, size, max_size)
  local is_side = type(size) == 'number' or (type(size) == 'table' and #size == 1)
  local pair = sizes.pair(owner .. ': size', size)
  if max_size == nil then return end
  if not is_side then
    errors.raise('argument', owner .. ': max_size goes with a size for the shorter side, not with {height, width}')
  end
  if type(max_size) ~= 'number' or max_size <= pair[1] then
    errors.raise('argument', ('%s: max_size %s must be greater than the size of the shorter side, %d'):format(owner,
      tostring(max_size), pair[1]))
  end
end

-- Returns {height, width} of the result.
local function output_size(height, width, size, max_size)
  if type(size) == 'table' and #size == 2 then return size end
  local short, long = math.min(height, width), math.max(height, width)
  local new_short = type(size) == 'table' and size[1] or size
  local new_long = math.floor(new_short * long / short)
  if max_size and new_long > max_size then
    new_short, new_long = math.floor(max_size * new_short / new_long), max_size
  end
  if width <= height then return {new_long, new_short} end
  return {new_short, new_long}
end

local function with_antialias(x, size, mode)
  return image.as_batch(x, ANTIALIAS_DTYPES[mode], function(y)
    y = torch[ANTIALIAS[mode]](y, size, false)
    return mode == 'bicubic' and x.dtype == 'uint8' and y:clamp(0, 255) or y
  end)
end

local function without_antialias(x, size, mode)
  return image.as_batch(x, FLOATS, function(y)
    if not ANTIALIAS[mode] then return torch[OPERATORS[mode]](y, size) end
    y = torch[OPERATORS[mode]](y, size, false)
    return mode == 'bicubic' and x.dtype == 'uint8' and y:clamp(0, 255) or y
  end)
end

---@param x torch.Tensor (…, c, h, w)
---@param how {size: integer|integer[], mode: string, max_size?: integer, antialias?: boolean} the checked arguments
---@return torch.Tensor
function resize._resized(x, how)
  local size, mode = output_size(x:size(-2), x:size(-1), how.size, how.max_size), how.mode
  if size[1] == x:size(-2) and size[2] == x:size(-1) then return x end
  if size[1] < 1 or size[2] < 1 then
    errors.raise('argument', ('resize: the result would be %d x %d'):format(size[1], size[2]))
  end
  if how.antialias and ANTIALIAS[mode] then return with_antialias(x, size, mode) end
  return without_antialias(x, size, mode)
end

---Resizes (…, c, h, w). Arguments: img, size (a number for the shorter side, which keeps the aspect ratio; or {height,
---width}), interpolation = 'bilinear' | 'nearest' | 'nearest-exact' | 'bicubic', max_size (for the longer side), antialias =
---true (recommended for every reduction with 'bilinear' or 'bicubic').
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---local small = F.resize(torch.rand(3, 40, 60), 20)
---assert(small.shape[2] == 20 and small.shape[3] == 30)
---```
defined('resize', {'img', 'size', {'interpolation', 'bilinear'}, {'max_size'}, {'antialias', true}}, function(p)
  local mode = interpolation.of_resize('resize', p.interpolation)
  resize._check('resize', p.size, p.max_size)
  return image.channels_first('resize', p.img, function(x)
    return resize._resized(x, {size = p.size, mode = mode, max_size = p.max_size, antialias = p.antialias})
  end)
end)

return resize
