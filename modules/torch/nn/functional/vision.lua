-- torch/nn/functional/vision.lua: resizes and warps images.

local args = require 'base.args'
local errors = require 'base.errors'
local tuple = require 'torch.nn.tuple'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local vision = {}
local defined = checks.definer(vision)

-- Mode → ATen's operator for inputs of 3, 4 and 5 dimensions.
local OPERATORS = {
  nearest = {[3] = 'upsample_nearest1d', [4] = 'upsample_nearest2d', [5] = 'upsample_nearest3d'},
  ['nearest-exact'] = {[3] = '_upsample_nearest_exact1d', [4] = '_upsample_nearest_exact2d',
                       [5] = '_upsample_nearest_exact3d'},
  area = {[3] = 'adaptive_avg_pool1d', [4] = 'adaptive_avg_pool2d', [5] = 'adaptive_avg_pool3d'},
  linear = {[3] = 'upsample_linear1d'},
  bilinear = {[4] = 'upsample_bilinear2d'},
  bicubic = {[4] = 'upsample_bicubic2d'},
  trilinear = {[5] = 'upsample_trilinear3d'},
}
local MODES = {'area', 'bicubic', 'bilinear', 'linear', 'nearest', 'nearest-exact', 'trilinear'}
local ANTIALIAS = {bilinear = '_upsample_bilinear2d_aa', bicubic = '_upsample_bicubic2d_aa'}

local function operator_of(p, dims)
  local operator = OPERATORS[args.one_of('interpolate: mode', p.mode, MODES)][dims]
  if operator == nil then
    local wanted = {}
    for rank = 3, 5 do
      if OPERATORS[p.mode][rank] then wanted[#wanted + 1] = tostring(rank) end
    end
    errors.raise('argument', ("interpolate: mode '%s' takes %s dimensions, got %d"):format(p.mode,
      table.concat(wanted, ', '), dims))
  end
  if not p.antialias then return operator end
  if not ANTIALIAS[p.mode] then
    errors.raise('argument', "interpolate: antialias goes with mode 'bilinear' or 'bicubic' and 4 dimensions")
  end
  return ANTIALIAS[p.mode]
end

local function check_interpolate(p)
  if (p.size == nil) == (p.scale_factor == nil) then
    errors.raise('argument', 'interpolate: give either size or scale_factor')
  end
  if p.recompute_scale_factor and p.size then
    errors.raise('argument', 'interpolate: recompute_scale_factor means nothing with an explicit size')
  end
end

-- Returns output size and scale factors; one of them is nil.
local function sizes_of(p, dims)
  if p.size ~= nil then return tuple(p.size, dims - 2, 'interpolate: size') end
  local factors = tuple(p.scale_factor, dims - 2, 'interpolate: scale_factor')
  if not p.recompute_scale_factor and p.mode ~= 'area' then return nil, factors end
  local size = {}
  for i, factor in ipairs(factors) do size[i] = math.floor(p.input:size(i + 1) * factor) end
  return size
end

local function interpolate(p)
  local dims = p.input:dim()
  local operator = operator_of(p, dims)
  check_interpolate(p)
  local size, factors = sizes_of(p, dims)
  if p.mode == 'area' then return torch[operator](p.input, size) end
  local is_nearest = p.mode == 'nearest' or p.mode == 'nearest-exact'
  if is_nearest and p.align_corners ~= nil then
    errors.raise('argument', ("interpolate: align_corners goes with linear modes, not with '%s'"):format(p.mode))
  end
  if is_nearest then return torch[operator](p.input, size, factors) end
  return torch[operator](p.input, size, p.align_corners == true, factors)
end

local INTERPOLATE = {'input', {'size'}, {'scale_factor'}, {'mode', 'nearest'}, {'align_corners'},
                     {'recompute_scale_factor'}, {'antialias', false}}

---Resizes (N, C, L), (N, C, H, W) or (N, C, D, H, W). Arguments: input, {size, scale_factor (a number or a list; one of the
---two), mode = 'nearest' | 'nearest-exact' | 'linear' | 'bilinear' | 'bicubic' | 'trilinear' | 'area', align_corners,
---recompute_scale_factor, antialias = false}.
---
---```lua
---local torch = require 'torch'
---local F = torch.nn.functional
---assert(F.interpolate(torch.ones(1, 1, 2, 3), {scale_factor = 2}).shape[4] == 6)
---assert(F.interpolate(torch.ones(1, 1, 2, 3), {size = {4, 4}, mode = 'bilinear'}).shape[3] == 4)
---```
defined('interpolate', INTERPOLATE, interpolate)

---An older name of interpolate. Arguments: input, {size, scale_factor, mode = 'nearest', align_corners}.
defined('upsample', {'input', {'size'}, {'scale_factor'}, {'mode', 'nearest'}, {'align_corners'}}, interpolate)

---Calls interpolate with mode 'nearest'. Arguments: input, {size, scale_factor}.
defined('upsample_nearest', {'input', {'size'}, {'scale_factor'}}, function(p)
  p.mode = 'nearest'
  return interpolate(p)
end)

---Calls interpolate with mode 'bilinear' and align_corners. Arguments: input (N, C, H, W), {size, scale_factor}.
defined('upsample_bilinear', {'input', {'size'}, {'scale_factor'}}, function(p)
  p.mode, p.align_corners = 'bilinear', true
  return interpolate(p)
end)

local GRID_MODES = {bilinear = 0, nearest = 1, bicubic = 2}
local PADDING_MODES = {zeros = 0, border = 1, reflection = 2}

---Samples the input at the positions of the grid. Arguments: input (N, C, H, W) or (N, C, D, H, W), grid (N, …, 2 or
---3): x, y (, z) in -1 … 1; {mode = 'bilinear' | 'nearest' | 'bicubic', padding_mode = 'zeros' | 'border' |
---'reflection', align_corners = false}.
defined('grid_sample', {'input', 'grid', {'mode', 'bilinear'}, {'padding_mode', 'zeros'}, {'align_corners', false}},
  function(p)
    local mode = GRID_MODES[args.one_of('grid_sample: mode', p.mode, {'bicubic', 'bilinear', 'nearest'})]
    local padding = PADDING_MODES[args.one_of('grid_sample: padding_mode', p.padding_mode,
      {'border', 'reflection', 'zeros'})]
    return torch.grid_sampler(p.input, p.grid, mode, padding, p.align_corners)
  end)

---Returns the grid for grid_sample of affine maps. Arguments: theta (N, 2, 3) for a size {N, C, H, W}, (N, 3, 4) for
---{N, C, D, H, W}; size; align_corners = false.
---
---```lua
---local torch = require 'torch'
---local F = torch.nn.functional
---local x = torch.arange(9):float():view{1, 1, 3, 3}
---local grid = F.affine_grid(torch.tensor{{{1, 0, 0}, {0, 1, 0}}}, x.shape)
---assert(torch.allclose(F.grid_sample(x, grid), x, {atol = 1e-5}))
---```
defined('affine_grid', {'theta', 'size', {'align_corners', false}}, function(p)
  local size = checks.sizes('affine_grid: size', p.size)
  local dims, theta = #size - 2, p.theta:size()
  if dims ~= 2 and dims ~= 3 then
    errors.raise('argument', ('affine_grid: size has 4 or 5 numbers, got %d'):format(#size))
  end
  if #theta ~= 3 or theta[2] ~= dims or theta[3] ~= dims + 1 then
    errors.raise('argument', ('affine_grid: expected theta (N, %d, %d), got %s'):format(dims, dims + 1,
      tostring(p.theta.shape)))
  end
  return torch.affine_grid_generator(p.theta, size, p.align_corners)
end)

return vision
