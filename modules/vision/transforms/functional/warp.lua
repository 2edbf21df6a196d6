-- vision/transforms/functional/warp.lua: rotate, affine, perspective, elastic_transform: every pixel of the result is
-- sampled from a place in the image.

local args = require 'base.args'
local errors = require 'base.errors'
local geometry = require 'vision.transforms.functional.geometry'
local image = require 'vision.transforms.image'
local interpolation = require 'vision.transforms.interpolation'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'

local warp = {}
local defined = args.definer(warp)

local MODES = {bilinear = 0, nearest = 1}
local ZEROS = 0

local function check_fill(owner, x, fill)
  if type(fill) == 'table' and #fill > 1 and #fill ~= x:size(-3) then
    errors.raise('argument', ('%s: fill has %d values, the image %d channels'):format(owner, #fill, x:size(-3)))
  end
end

-- Returns the values at the grid's positions; `fill` outside the image, blended at its edge.
local function sampled(x, grid, mode, fill)
  if x:size(0) > 1 then grid = grid:expand(x:size(0), grid:size(1), grid:size(2), 2) end
  if fill == nil then return torch.grid_sampler(x, grid, MODES[mode], ZEROS, false) end
  local channels = x:size(1)
  local mask = x:new_ones{x:size(0), 1, x:size(2), x:size(3)}
  local y = torch.grid_sampler(torch.cat({x, mask}, 1), grid, MODES[mode], ZEROS, false)
  mask, y = y:narrow(1, channels, 1):expand(y:size(0), channels, y:size(2), y:size(3)), y:narrow(1, 0, channels)
  local colors = torch.tensor(type(fill) == 'table' and fill or {fill}, {dtype = x.dtype, device = x.device})
  colors = colors:view{1, -1, 1, 1}:expand_as(y)
  if mode == 'nearest' then return torch.where(mask:lt(0.5), colors, y) end
  return y * mask + (1 - mask) * colors
end

-- `grid_of(x)` returns the grid (1, h, w, 2) for an image in the dtype of the computation.
local function warped(owner, p, grid_of)
  local mode = interpolation.of_warp(owner, p.interpolation)
  local fill = sizes.fill(owner, p.fill)
  return image.channels_first(owner, p.img, function(x)
    check_fill(owner, x, fill)
    local like = x:is_floating_point() and x or x:new_empty({0}, {dtype = 'float32'})
    local grid = grid_of(x, like)
    return image.as_batch(x, {[grid.dtype] = true}, function(y) return sampled(y, grid, mode, fill) end)
  end)
end

-- Returns the centre relative to the middle of the image, as torchvision's matrices need it.
local function from_middle(owner, center, x)
  if center == nil then return {0, 0} end
  sizes.numbers(owner .. ': center', center, 2)
  return {center[1] - x:size(-1) * 0.5, center[2] - x:size(-2) * 0.5}
end

local function check_number(owner, name, value)
  if type(value) ~= 'number' then
    errors.raise('argument', ('%s: %s is a number, got %s'):format(owner, name, type(value)))
  end
end

---Rotates counter-clockwise. Arguments: img, angle (degrees), interpolation = 'nearest' | 'bilinear', expand = false (the
---result contains the whole rotated image), center ({x, y} from the upper left corner; default: the middle), fill (a
---number, or one for each channel; default 0).
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---local x = torch.arange(4):view{1, 2, 2}:float()
---assert(torch.equal(F.rotate(x, 90):view(-1), torch.tensor({1, 3, 0, 2})))
---```
defined('rotate', {'img', 'angle', {'interpolation', 'nearest'}, {'expand', false}, {'center'}, {'fill'}}, function(p)
  check_number('rotate', 'angle', p.angle)
  return warped('rotate', p, function(x, like)
    local matrix = geometry.inverse_affine_matrix{center = from_middle('rotate', p.center, x), angle = -p.angle,
      translate = {0, 0}, scale = 1, shear = {0, 0}}
    local size = {x:size(-2), x:size(-1)}
    local out = p.expand and geometry.expanded_size(matrix, size) or size
    return geometry.affine_grid(matrix, size, out, like)
  end)
end)

local function check_affine(p)
  check_number('affine', 'angle', p.angle)
  sizes.numbers('affine: translate', p.translate, 2)
  if not sizes.is_positive(p.scale) then
    errors.raise('argument', ('affine: scale is positive, got %s'):format(tostring(p.scale)))
  end
  local shear = type(p.shear) == 'number' and {p.shear, 0} or sizes.numbers('affine: shear', p.shear, 1, 2)
  return {shear[1], shear[2] or shear[1]}
end

---Rotates, shifts, scales and shears around the centre. Arguments: img, angle (degrees, clockwise), translate ({x, y} in
---pixels), scale, shear (degrees along x, or {x, y}), interpolation = 'nearest' | 'bilinear', fill (a number, or one for each
---channel; default 0), center ({x, y} from the upper left corner; default: the middle).
defined('affine', {'img', 'angle', 'translate', 'scale', 'shear', {'interpolation', 'nearest'}, {'fill'}, {'center'}},
  function(p)
    local shear = check_affine(p)
    return warped('affine', p, function(x, like)
      local matrix = geometry.inverse_affine_matrix{center = from_middle('affine', p.center, x), angle = p.angle,
        translate = p.translate, scale = p.scale, shear = shear}
      local size = {x:size(-2), x:size(-1)}
      return geometry.affine_grid(matrix, size, size, like)
    end)
  end)

local function check_corners(name, corners)
  if type(corners) ~= 'table' or #corners ~= 4 then
    errors.raise('argument', ('perspective: %s is a list of four corners {x, y}'):format(name))
  end
  for _, corner in ipairs(corners) do sizes.numbers('perspective: ' .. name, corner, 2) end
end

---Moves four corners of the image. Arguments: img, startpoints, endpoints (lists of {x, y}: upper left, upper right, lower
---right, lower left), interpolation = 'bilinear' | 'nearest', fill (a number, or one for each channel; default 0).
defined('perspective', {'img', 'startpoints', 'endpoints', {'interpolation', 'bilinear'}, {'fill'}}, function(p)
  check_corners('startpoints', p.startpoints)
  check_corners('endpoints', p.endpoints)
  local coefficients = geometry.perspective_coefficients(p.startpoints, p.endpoints)
  return warped('perspective', p, function(x, like)
    return geometry.perspective_grid(coefficients, {x:size(-2), x:size(-1)}, like)
  end)
end)

---Moves each pixel by its displacement. Arguments: img, displacement (1, h, w, 2: x, y in halves of the image's size),
---interpolation = 'bilinear' | 'nearest', fill (a number, or one for each channel; default 0).
defined('elastic_transform', {'img', 'displacement', {'interpolation', 'bilinear'}, {'fill'}}, function(p)
  return warped('elastic_transform', p, function(x)
    local h, w = x:size(-2), x:size(-1)
    local shape = torch.is_tensor(p.displacement) and table.concat(p.displacement.shape, ', ') or ''
    if shape ~= ('1, %d, %d, 2'):format(h, w) then
      errors.raise('argument', ('elastic_transform: expected displacement (1, %d, %d, 2), got (%s)'):format(h, w, shape))
    end
    return geometry.identity_grid(h, w):to(x.device) + p.displacement:to(x.device)
  end)
end)

return warp
