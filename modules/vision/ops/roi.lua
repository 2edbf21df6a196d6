-- vision/ops/roi.lua: roi_align, roi_pool: pool regions of feature maps to one size.
--
-- Interpolation and averaging are linear in rows and in columns separately. So roi_align makes a matrix for the rows
-- and one for the columns of each region, and multiplies by them. The backward pass is that of the products, and
-- deterministic.

local args = require 'base.args'
local errors = require 'base.errors'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local FLOAT = require('ffi').new 'float[1]'

local roi = {}
local defined = args.definer(roi)

-- Size limit of the intermediate tensor between the two products.
local MOST_ELEMENTS = 2 ^ 25

local function size_of(name, size)
  if type(size) == 'number' then return size, size end
  if type(size) == 'table' and #size == 2 then return size[1], size[2] end
  errors.raise('argument', ('%s: output_size is a number or {height, width}'):format(name))
end

-- Returns {index of the image, x1, y1, x2, y2} for each region: (k, 5).
local function regions_of(name, boxes, like)
  if torch.is_tensor(boxes) then
    if boxes:dim() ~= 2 or boxes:size(1) ~= 5 then
      errors.raise('argument', ('%s: boxes is (k, 5), the first column the image, or a list of (l, 4); got %s'):format(name,
        tostring(boxes.shape)))
    end
    return boxes:detach()
  end
  if type(boxes) ~= 'table' then
    errors.raise('argument', ('%s: boxes is a Tensor (k, 5) or a list of (l, 4), not a %s'):format(name, type(boxes)))
  end
  local parts = {}
  for i, each in ipairs(boxes) do
    if checks.tensor(('%s: boxes[%d]'):format(name, i), each):dim() ~= 2 or each:size(1) ~= 4 then
      errors.raise('argument', ('%s: boxes[%d] is (l, 4), got %s'):format(name, i, tostring(each.shape)))
    end
    parts[i] = torch.cat({torch.full_like(each:narrow(1, 0, 1), i - 1), each}, 1):detach()
  end
  return #parts > 0 and torch.cat(parts) or torch.zeros({0, 5}, {dtype = like.dtype, device = like.device})
end

local function check_input(name, input, regions)
  if checks.tensor(name .. ': input', input):dim() ~= 4 then
    errors.raise('argument', ('%s: input is (n, c, h, w), got %s'):format(name, tostring(input.shape)))
  end
  if regions:size(0) == 0 then return end
  local first, last = regions:select(1, 0):amin():item(), regions:select(1, 0):amax():item()
  if first < 0 or last >= input:size(0) then
    errors.raise('argument', ('%s: a box is of image %d, and input has %d'):format(name, first < 0 and first or last,
      input:size(0)))
  end
end

-- Returns weights (k, bins, length) from the places of one axis to the bins of regions that begin at `start`.
local function weights_of(start, extent, bins, length, ratio)
  local step = extent / bins
  local count = ratio > 0 and torch.full_like(step, ratio) or step:ceil()
  local most = math.max(1, #count > 0 and count:amax():item() or 1)
  local sample = torch.arange(most, {device = start.device, dtype = start.dtype}):view(1, 1, -1)
  local bin = torch.arange(bins, {device = start.device, dtype = start.dtype}):view(1, -1, 1)
  local function column(x) return x:view(-1, 1, 1) end
  local place = column(start) + bin * column(step) + (sample + 0.5) * column(step) / column(count:clamp({min = 1}))
  local counts = sample:lt(column(count)):logical_and(place:ge(-1)):logical_and(place:le(length))
  place = place:clamp(0, length - 1)
  local low = place:floor()
  local above = (place - low) * counts
  local weights = torch.zeros({start:size(0), bins, length}, {device = start.device, dtype = start.dtype})
  weights:scatter_add_(2, low:long(), counts:to(start.dtype) - above)
  weights:scatter_add_(2, (low + 1):clamp({max = length - 1}):long(), above)
  return weights / column(count:clamp({min = 1}))
end

-- Pools the regions of one image (c, h, w): (k, c, bins of height, bins of width).
local function pooled(image, rows, cols)
  local channels, height, width = unpack(image.shape)
  local parts, at_once = {}, math.max(1, math.floor(MOST_ELEMENTS / (cols:size(1) * channels * height)))
  local flat = image:reshape{channels * height, width}
  for first = 0, rows:size(0) - 1, at_once do
    local count = math.min(at_once, rows:size(0) - first)
    local wide = cols:narrow(0, first, count):matmul(flat:t())
    wide = wide:view(count, cols:size(1), channels, height):permute(0, 2, 3, 1)
    parts[#parts + 1] = rows:narrow(0, first, count):unsqueeze(1):matmul(wide)
  end
  return torch.cat(parts)
end

-- Computes the rows of each image's regions, image by image, and restores the order of the regions.
local function each_image(regions, fn)
  local image_of = regions:select(1, 0):long()
  local parts, order = {}, {}
  for _, image in ipairs(torch.unique(image_of):tolist()) do
    local indices = torch.where(image_of:eq(image))[1]
    order[#order + 1] = indices
    parts[#parts + 1] = fn(image, indices)
  end
  return torch.cat(parts)[torch.cat(order):argsort()]
end

---Pools regions of feature maps to one size: each bin is the average of bilinear samples (He et al. 2017). Arguments:
---input (n, c, h, w), boxes (k, 5) with the image's index and x1, y1, x2, y2, or a list of (l, 4) for each image,
---output_size, spatial_scale = 1 (of boxes to input), sampling_ratio = -1 (samples of a bin along an axis; -1: adapted
---to the bin), aligned = false (true: shifted by half a pixel). Returns (k, c, height, width). PyTorch equivalent:
---torchvision.ops.roi_align.
---
---```lua
---local torch, ops = require 'torch', require 'vision.ops'
---local x = torch.ones(1, 3, 8, 8)
---local y = ops.roi_align(x, {torch.tensor {{0, 0, 6, 6}, {2, 2, 5, 7}}}, 4, {sampling_ratio = 2, aligned = true})
---assert(y.shape == torch.Size{2, 3, 4, 4})
---```
defined('roi_align', {'input', 'boxes', 'output_size', {'spatial_scale', 1}, {'sampling_ratio', -1}, {'aligned', false}},
  function(p)
    local input, regions = p.input, regions_of('roi_align', p.boxes, p.input)
    local bins_high, bins_wide = size_of('roi_align', p.output_size)
    check_input('roi_align', input, regions)
    if regions:size(0) == 0 then return input:new_zeros{0, input:size(1), bins_high, bins_wide} end
    local offset = p.aligned and 0.5 or 0
    local corners = regions:narrow(1, 1, 4):to(input.dtype) * p.spatial_scale - offset
    local x1, y1, x2, y2 = unpack(corners:unbind(1))
    local width, height = x2 - x1, y2 - y1
    if not p.aligned then width, height = width:clamp({min = 1}), height:clamp({min = 1}) end
    local rows = weights_of(y1, height, bins_high, input:size(2), p.sampling_ratio)
    local cols = weights_of(x1, width, bins_wide, input:size(3), p.sampling_ratio)
    return each_image(regions, function(image, indices) return pooled(input[image], rows[indices], cols[indices]) end)
  end)

local function rounded(x) return x >= 0 and math.floor(x + 0.5) or math.ceil(x - 0.5) end

-- Rounds to the input's dtype: the end of a bin may depend on the last bit.
local NARROW = {float64 = function(x) return x end}

local function to_float(x)
  FLOAT[0] = x
  return FLOAT[0]
end

-- Returns first place and number of places of each bin along an axis of that length.
local function bins_of(first, last, count, length, narrow)
  local step, out = narrow(math.max(last - first + 1, 1) / count), {}
  for i = 0, count - 1 do
    local low = math.min(math.max(math.floor(narrow(i * step)) + first, 0), length)
    local high = math.min(math.max(math.ceil(narrow((i + 1) * step)) + first, 0), length)
    out[i + 1] = {low, math.max(high - low, 0)}
  end
  return out
end

-- Returns the largest value of each bin along the last axis; 0 for an empty bin. Among equal values the first is used.
local function largest(x, bins)
  local parts = {}
  for i, bin in ipairs(bins) do
    parts[i] = bin[2] > 0 and (x:narrow(-1, bin[1], bin[2]):max(-1)) or x:new_zeros{unpack(x.shape, 1, x:dim() - 1)}
  end
  return torch.stack(parts, -1)
end

---Pools regions of feature maps to one size: each bin is its largest value (Girshick 2015). Arguments as roi_align,
---without sampling_ratio and aligned. PyTorch equivalent: torchvision.ops.roi_pool.
defined('roi_pool', {'input', 'boxes', 'output_size', {'spatial_scale', 1}}, function(p)
  local input, regions = p.input, regions_of('roi_pool', p.boxes, p.input)
  local high, wide = size_of('roi_pool', p.output_size)
  check_input('roi_pool', input, regions)
  if regions:size(0) == 0 then return input:new_zeros{0, input:size(1), high, wide} end
  local images, narrow, out = regions:select(1, 0):tolist(), NARROW[input.dtype] or to_float, {}
  for k, region in ipairs((regions:narrow(1, 1, 4):to(input.dtype) * p.spatial_scale):tolist()) do
    for i = 1, 4 do region[i] = rounded(region[i]) end
    local by_width = largest(input[images[k]], bins_of(region[1], region[3], wide, input:size(3), narrow))
    local rows = bins_of(region[2], region[4], high, input:size(2), narrow)
    out[k] = largest(by_width:transpose(-1, -2), rows):transpose(-1, -2)
  end
  return torch.stack(out)
end)

return roi
