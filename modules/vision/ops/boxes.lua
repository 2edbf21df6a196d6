-- vision/ops/boxes.lua: boxes (…, n, 4): their formats, areas and overlaps. `xyxy` is x1, y1, x2, y2.

local args = require 'base.args'
local errors = require 'base.errors'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local ops = {}
local defined = args.definer(ops)

local FORMATS = {'xyxy', 'xywh', 'cxcywh'}

local function checked(owner, boxes)
  checks.tensor(owner, boxes)
  if boxes:dim() == 0 or boxes:size(-1) ~= 4 then
    errors.raise('argument', ('%s is (…, 4), got %s'):format(owner, tostring(boxes.shape)))
  end
  return boxes
end

local function columns(boxes) return unpack(boxes:unbind(-1)) end

local TO_CORNERS = {
  xyxy = function(a, b, c, d) return a, b, c, d end,
  xywh = function(x, y, w, h) return x, y, x + w, y + h end,
  cxcywh = function(x, y, w, h) return x - 0.5 * w, y - 0.5 * h, x + 0.5 * w, y + 0.5 * h end,
}
local FROM_CORNERS = {
  xyxy = TO_CORNERS.xyxy,
  xywh = function(x1, y1, x2, y2) return x1, y1, x2 - x1, y2 - y1 end,
  cxcywh = function(x1, y1, x2, y2) return (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1 end,
}

---Converts boxes to another format. Arguments: boxes (…, 4), in_fmt, out_fmt: 'xyxy', 'xywh' (corner and size) or
---'cxcywh' (centre and size). Rotated boxes are not supported. PyTorch equivalent: torchvision.ops.box_convert.
---
---```lua
---local torch, ops = require 'torch', require 'vision.ops'
---assert(torch.equal(ops.box_convert(torch.tensor {{1, 2, 4, 8}}, 'xyxy', 'cxcywh'), torch.tensor {{2.5, 5, 3, 6}}))
---```
defined('box_convert', {'boxes', 'in_fmt', 'out_fmt'}, function(p)
  local boxes = checked('box_convert: boxes', p.boxes)
  args.one_of('box_convert: in_fmt', p.in_fmt, FORMATS)
  args.one_of('box_convert: out_fmt', p.out_fmt, FORMATS)
  if p.in_fmt == p.out_fmt then return boxes:clone() end
  return torch.stack({FROM_CORNERS[p.out_fmt](TO_CORNERS[p.in_fmt](columns(boxes)))}, -1)
end)

-- Products of integer or float16 coordinates could overflow.
local function upcast(x)
  if x:is_floating_point() then return (x.dtype == 'float32' or x.dtype == 'float64') and x or x:float() end
  return (x.dtype == 'int32' or x.dtype == 'int64') and x or x:int()
end

local function area(boxes, fmt)
  local x1, y1, x2, y2 = columns(upcast(boxes))
  if fmt ~= 'xyxy' then return x2 * y2 end
  return (x2 - x1) * (y2 - y1)
end

---Returns the areas (…) of boxes (…, 4). Arguments: boxes, fmt = 'xyxy'. PyTorch equivalent: torchvision.ops.box_area.
defined('box_area', {'boxes', {'fmt', 'xyxy'}}, function(p)
  return area(checked('box_area: boxes', p.boxes), args.one_of('box_area: fmt', p.fmt, FORMATS))
end)

-- Returns the first two and the last two coordinates of all pairs: (…, n, 1, 2) and (…, 1, m, 2).
local function pairs_of(boxes1, boxes2)
  local a, b = boxes1:unsqueeze(-2), boxes2:unsqueeze(-3)
  return a:narrow(-1, 0, 2), a:narrow(-1, 2, 2), b:narrow(-1, 0, 2), b:narrow(-1, 2, 2)
end

local function size_between(low, high)
  local size = upcast(high - low):clamp({min = 0})
  return size:select(-1, 0), size:select(-1, 1)
end

local function overlap(boxes1, boxes2)
  local low1, high1, low2, high2 = pairs_of(boxes1, boxes2)
  local width, height = size_between(torch.maximum(low1, low2), torch.minimum(high1, high2))
  local inside = width * height
  local together = area(boxes1, 'xyxy'):unsqueeze(-1) + area(boxes2, 'xyxy'):unsqueeze(-2) - inside
  return inside / together, together
end

-- Returns the sides of the smallest box around each pair.
local function hull(boxes1, boxes2)
  local low1, high1, low2, high2 = pairs_of(boxes1, boxes2)
  return size_between(torch.minimum(low1, low2), torch.maximum(high1, high2))
end

local function checked_pair(name, p)
  return checked(name .. ': boxes1', p.boxes1), checked(name .. ': boxes2', p.boxes2)
end

---Computes intersection over union of all pairs (…, n, m). Arguments: boxes1 (…, n, 4), boxes2 (…, m, 4), fmt = 'xyxy'.
---PyTorch equivalent: torchvision.ops.box_iou.
---
---```lua
---local torch, ops = require 'torch', require 'vision.ops'
---local a = torch.tensor {{0, 0, 2, 2}}
---assert(ops.box_iou(a, torch.tensor {{1, 0, 3, 2}, {0, 0, 2, 2}}):sum():item() == torch.tensor(4 / 3):item())
---```
defined('box_iou', {'boxes1', 'boxes2', {'fmt', 'xyxy'}}, function(p)
  local boxes1, boxes2 = checked_pair('box_iou', p)
  args.one_of('box_iou: fmt', p.fmt, FORMATS)
  local function corners(boxes) return torch.stack({TO_CORNERS[p.fmt](columns(boxes))}, -1) end
  if p.fmt ~= 'xyxy' then boxes1, boxes2 = corners(boxes1), corners(boxes2) end
  return (overlap(boxes1, boxes2))
end)

---Computes generalized intersection over union of all pairs (Rezatofighi et al. 2019). Arguments: boxes1 (…, n, 4),
---boxes2 (…, m, 4) as x1, y1, x2, y2. PyTorch equivalent: torchvision.ops.generalized_box_iou.
defined('generalized_box_iou', {'boxes1', 'boxes2'}, function(p)
  local boxes1, boxes2 = checked_pair('generalized_box_iou', p)
  local iou, together = overlap(boxes1, boxes2)
  local width, height = hull(boxes1, boxes2)
  local around = width * height
  return iou - (around - together) / around
end)

local function centres(boxes)
  local x1, y1, x2, y2 = columns(boxes)
  return (x1 + x2) / 2, (y1 + y2) / 2
end

local function distance_iou(boxes1, boxes2, eps)
  local iou = overlap(boxes1, boxes2)
  local width, height = hull(boxes1, boxes2)
  local x, y = centres(boxes1)
  local u, v = centres(boxes2)
  local apart = (x:unsqueeze(-1) - u:unsqueeze(-2)) ^ 2 + (y:unsqueeze(-1) - v:unsqueeze(-2)) ^ 2
  return iou - apart / (width ^ 2 + height ^ 2 + eps), iou
end

---Computes distance intersection over union of all pairs (Zheng et al. 2020). Arguments: boxes1, boxes2, eps = 1e-7.
---PyTorch equivalent: torchvision.ops.distance_box_iou.
defined('distance_box_iou', {'boxes1', 'boxes2', {'eps', 1e-7}}, function(p)
  local boxes1, boxes2 = checked_pair('distance_box_iou', p)
  return (distance_iou(upcast(boxes1), upcast(boxes2), p.eps))
end)

local function slope(boxes)
  local x1, y1, x2, y2 = columns(boxes)
  return torch.atan((x2 - x1) / (y2 - y1))
end

---Computes complete intersection over union of all pairs (Zheng et al. 2020). Arguments: boxes1, boxes2, eps = 1e-7.
---PyTorch equivalent: torchvision.ops.complete_box_iou.
defined('complete_box_iou', {'boxes1', 'boxes2', {'eps', 1e-7}}, function(p)
  local boxes1, boxes2 = checked_pair('complete_box_iou', p)
  boxes1, boxes2 = upcast(boxes1), upcast(boxes2)
  local diou, iou = distance_iou(boxes1, boxes2, p.eps)
  local v = 4 / math.pi ^ 2 * (slope(boxes1):unsqueeze(-1) - slope(boxes2):unsqueeze(-2)) ^ 2
  local weight = torch.no_grad(function() return v / (1 - iou + v + p.eps) end)
  return diou - weight * v
end)

---Returns the boxes around masks. Arguments: masks (n, h, w), nonzero inside. The result is float32 (n, 4); zeros for
---an empty mask.
---PyTorch equivalent: torchvision.ops.masks_to_boxes.
---
---```lua
---local torch, ops = require 'torch', require 'vision.ops'
---local mask = torch.zeros(1, 5, 6)
---mask[{0, torch.slice(2, 4), torch.slice(1, 4)}] = 1
---assert(torch.equal(ops.masks_to_boxes(mask), torch.tensor {{1, 2, 3, 3}}))
---```
defined('masks_to_boxes', {'masks'}, function(p)
  local masks = checks.tensor('masks_to_boxes: masks', p.masks)
  if masks:numel() == 0 then return torch.zeros({0, 4}, {device = masks.device}) end
  if masks:dim() ~= 3 then
    errors.raise('argument', ('masks_to_boxes: masks is (n, h, w), got %s'):format(tostring(masks.shape)))
  end
  local inside = masks:bool()
  local rows, cols = inside:any(2):float(), inside:any(1):float()
  local function first(lines) return lines:argmax(1) end
  local function last(lines) return lines:size(1) - 1 - lines:flip {1}:argmax(1) end
  local boxes = torch.stack({first(cols), first(rows), last(cols), last(rows)}, 1):float()
  return boxes:masked_fill(rows:amax(1):eq(0):unsqueeze(1), 0)
end)

---Clips boxes to an image. Arguments: boxes (…, 4), size = {height, width}.
---PyTorch equivalent: torchvision.ops.clip_boxes_to_image.
defined('clip_boxes_to_image', {'boxes', 'size'}, function(p)
  local x1, y1, x2, y2 = columns(checked('clip_boxes_to_image: boxes', p.boxes))
  local height, width = p.size[1], p.size[2]
  return torch.stack({x1:clamp(0, width), y1:clamp(0, height), x2:clamp(0, width), y2:clamp(0, height)}, -1)
end)

---Returns the indices (int64) of boxes whose sides are both at least min_size. Arguments: boxes (n, 4), min_size.
---PyTorch equivalent: torchvision.ops.remove_small_boxes.
defined('remove_small_boxes', {'boxes', 'min_size'}, function(p)
  local x1, y1, x2, y2 = columns(checked('remove_small_boxes: boxes', p.boxes))
  return torch.where((x2 - x1):ge(p.min_size):logical_and((y2 - y1):ge(p.min_size)))[1]
end)

return ops
