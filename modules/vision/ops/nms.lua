-- vision/ops/nms.lua: non-maximum suppression.

local args = require 'base.args'
local errors = require 'base.errors'
local ffi = require 'ffi'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local suppression = {}
local defined = args.definer(suppression)

local function check(name, boxes, scores)
  checks.tensor(name .. ': boxes', boxes)
  checks.tensor(name .. ': scores', scores)
  if boxes:dim() ~= 2 or boxes:size(1) ~= 4 then
    errors.raise('argument', ('%s: boxes is (n, 4), got %s'):format(name, tostring(boxes.shape)))
  end
  if scores:dim() ~= 1 or scores:size(0) ~= boxes:size(0) then
    errors.raise('argument', ('%s: scores has one number for each of the %d boxes, got %s'):format(name, boxes:size(0),
      tostring(scores.shape)))
  end
end

-- float32 boxes are compared in float32, as in torchvision: for an overlap equal to the threshold the last bit decides.
local function rounding_of(dtype)
  if dtype == 'float64' then return function(x) return x end end
  local cell = ffi.new 'float[1]'
  return function(x)
    cell[0] = x
    return cell[0]
  end
end

local function overlap(a, b, round)
  local width = math.max(0, round(math.min(a[2], b[2]) - math.max(a[0], b[0])))
  local height = math.max(0, round(math.min(a[3], b[3]) - math.max(a[1], b[1])))
  return round(width * height)
end

-- Returns whether each box is kept; the boxes are sorted by score.
local function stays_of(data, count, threshold, round)
  local is_out, areas, kept = ffi.new('bool[?]', count), ffi.new('double[?]', count), {}
  for i = 0, count - 1 do
    local box = data + 4 * i
    areas[i] = round(round(box[2] - box[0]) * round(box[3] - box[1]))
  end
  for i = 0, count - 1 do
    if not is_out[i] then
      kept[#kept + 1] = i
      for j = i + 1, count - 1 do
        if not is_out[j] then
          local inside = overlap(data + 4 * i, data + 4 * j, round)
          is_out[j] = round(inside / round(round(areas[i] + areas[j]) - inside)) > threshold
        end
      end
    end
  end
  return kept
end

-- Runs on the CPU, in float32 or float64.
local function kept(boxes, scores, threshold)
  local dtype = boxes.dtype == 'float64' and 'float64' or 'float32'
  local order = scores:detach():argsort({stable = true, descending = true})
  local rows = boxes:detach()[order]:to('cpu', dtype):contiguous()  -- kept alive while it is read
  local data = ffi.cast(dtype == 'float64' and 'const double *' or 'const float *', rows:data_ptr())
  local places = stays_of(data, rows:size(0), threshold, rounding_of(dtype))
  return order[torch.tensor(places, {dtype = 'int64', device = order.device})]
end

---Returns the boxes that remain when each box removes the boxes with a lower score that overlap it. Arguments: boxes
---(n, 4) as x1, y1, x2, y2, scores (n), iou_threshold (a larger overlap removes the box). The result is int64 indices,
---the highest score first.
---PyTorch equivalent: torchvision.ops.nms.
---
---```lua
---local torch, ops = require 'torch', require 'vision.ops'
---local boxes = torch.tensor {{0, 0, 10, 10}, {1, 1, 10, 10}, {20, 20, 30, 30}}
---assert(table.concat(ops.nms(boxes, torch.tensor {0.5, 0.9, 0.7}, 0.5):tolist(), ' ') == '1 2')
---```
defined('nms', {'boxes', 'scores', 'iou_threshold'}, function(p)
  check('nms', p.boxes, p.scores)
  return kept(p.boxes, p.scores, p.iou_threshold)
end)

---As nms, within each category. Arguments: boxes (n, 4), scores (n), idxs (n): the categories, iou_threshold.
---PyTorch equivalent: torchvision.ops.batched_nms.
---
---```lua
---local torch, ops = require 'torch', require 'vision.ops'
---local boxes = torch.tensor {{0, 0, 10, 10}, {1, 1, 10, 10}}
---assert(#ops.batched_nms(boxes, torch.tensor {0.5, 0.9}, torch.tensor {0, 1}, 0.5) == 2)
---```
defined('batched_nms', {'boxes', 'scores', 'idxs', 'iou_threshold'}, function(p)
  check('batched_nms', p.boxes, p.scores)
  local boxes, categories = p.boxes, checks.tensor('batched_nms: idxs', p.idxs)
  if categories:dim() ~= 1 or categories:size(0) ~= boxes:size(0) then
    errors.raise('argument', ('batched_nms: idxs has one category for each of the %d boxes, got %s'):format(boxes:size(0),
      tostring(categories.shape)))
  end
  if boxes:size(0) == 0 then return torch.empty({0}, {dtype = 'int64', device = boxes.device}) end
  local stays = torch.zeros_like(p.scores, {dtype = 'bool'})
  for _, category in ipairs(torch.unique(categories):tolist()) do
    local indices = torch.where(categories:eq(category))[1]
    stays[indices[kept(boxes[indices], p.scores[indices], p.iou_threshold)]] = true
  end
  local indices = torch.where(stays)[1]
  return indices[p.scores[indices]:argsort({stable = true, descending = true})]
end)

return suppression
