-- vision/utils/boxes.lua: draws rectangles on images.

local args = require 'base.args'
local colors = require 'vision.utils.colors'
local errors = require 'base.errors'
local functional = require 'vision.transforms.functional'
local torch = require 'torch'

local drawing = {}

local signature = args.signature('draw_bounding_boxes', {'image', 'boxes', {'labels'}, {'colors'}, {'fill', false},
  {'width', 1}, {'font'}, {'font_size'}, {'label_colors'}, {'label_background_colors'}, {'fill_labels', false}})

-- Opacity of a filled box, of 255.
local FILL_ALPHA = 100

local function refuse(text, ...) errors.raise('argument', 'draw_bounding_boxes: ' .. text:format(...)) end

local function check(options)
  local image, given = options.image, options.boxes
  if not torch.is_tensor(image) or image:dim() ~= 3 then refuse('expected one image (c, h, w)') end
  if image.dtype ~= 'uint8' and not image:is_floating_point() then
    refuse('expected an image of uint8 or floats, got %s', image.dtype)
  end
  if image:size(0) ~= 1 and image:size(0) ~= 3 then refuse('expected 1 or 3 channels, got %d', image:size(0)) end
  if not torch.is_tensor(given) or given:dim() ~= 2 then refuse('boxes: expected a tensor (n, 4)') end
  if options.labels or given:size(1) == 8 then
    errors.raise('unsupported', ('draw_bounding_boxes: %s are not drawn in this version'):format(
      options.labels and 'labels' or 'rotated boxes'))
  end
  if given:size(1) ~= 4 then refuse('boxes: expected (n, 4), got %s', tostring(given.shape)) end
  if given:select(1, 0):gt(given:select(1, 2)):any():item() or given:select(1, 1):gt(given:select(1, 3)):any():item() then
    refuse('boxes are {xmin, ymin, xmax, ymax}: one has a minimum above its maximum')
  end
end

-- Returns the part of the image between these columns and rows, inclusive; nil if it is outside of the image.
local function part(image, x0, y0, x1, y1)
  x0, y0 = math.max(x0, 0), math.max(y0, 0)
  x1, y1 = math.min(x1, image:size(2) - 1), math.min(y1, image:size(1) - 1)
  if x0 > x1 or y0 > y1 then return nil end
  return image:narrow(1, y0, y1 - y0 + 1):narrow(2, x0, x1 - x0 + 1)
end

local function paint(image, ink, x0, y0, x1, y1)
  local area = part(image, x0, y0, x1, y1)
  if area then area:copy_(ink) end
end

-- Computes (a · (255 - alpha) + b · alpha) / 255 in integers, rounded as Pillow does.
local function blend(image, ink, x0, y0, x1, y1)
  local area = part(image, x0, y0, x1, y1)
  if not area then return end
  local sum = area:to(torch.int32):mul_(255 - FILL_ALPHA):add_(ink:to(torch.int32), {alpha = FILL_ALPHA}):add_(128)
  area:copy_(sum:bitwise_right_shift(8):add_(sum):bitwise_right_shift(8))
end

-- For a box lower than its lines the sides extend upwards from y0 + width, as in Pillow.
local function outline(image, ink, width, x0, y0, x1, y1)
  local first, stop = y0 + width, y1 - width + 1
  local top, bottom = math.min(first, stop + 1), math.max(first, stop - 1)
  if first == stop then bottom = top - 1 end
  for i = 0, width - 1 do
    paint(image, ink, x0, y0 + i, x1, y0 + i)
    paint(image, ink, x0, y1 - i, x1, y1 - i)
    paint(image, ink, x1 - i, top, x1 - i, bottom)
    paint(image, ink, x0 + i, top, x0 + i, bottom)
  end
end

local function drawn(options)
  local given, dtype = options.boxes:to('cpu', torch.int64):tolist(), options.image.dtype
  if #given == 0 then return options.image end
  local inks = colors.of_objects('draw_bounding_boxes', options.colors, #given)
  local image = functional.convert_image_dtype(options.image:expand(3, -1, -1), 'uint8'):clone()
  for i, box in ipairs(given) do
    local ink = torch.tensor(inks[i], {dtype = 'uint8', device = image.device}):view(3, 1, 1)
    if options.fill then blend(image, ink, unpack(box)) end
    outline(image, ink, options.width, unpack(box))
  end
  return functional.convert_image_dtype(image, dtype)
end

---Returns a copy of an image with rectangles drawn on it. PyTorch equivalent: torchvision.utils.draw_bounding_boxes.
---
---Parameters: image, boxes, {colors, fill = false, width = 1}. A colour is a CSS name, '#rrggbb' or {r, g, b}.
---`colors` is one colour for all boxes or a list with one for each; by default they come from a palette. `fill` also
---colours the inside, transparently. A gray image becomes one of three channels. Labels and rotated boxes are not
---supported (code 'unsupported').
---@param image torch.Tensor (c, h, w) with 1 or 3 channels, uint8, or float in [0, 1]
---@param boxes torch.Tensor (n, 4): xmin, ymin, xmax, ymax in pixels; parts outside of the image are not drawn
---@param ... any see above
---@return torch.Tensor image (3, h, w), of the same dtype
---
---```lua
---local torch = require 'torch'
---local utils = require 'vision.utils'
---local image = torch.zeros(3, 8, 8, {dtype = 'uint8'})
---local out = utils.draw_bounding_boxes(image, torch.tensor {{1, 1, 6, 5}}, {colors = 'red'})
---assert(out[{0, 1, 1}]:item() == 255 and out[{0, 2, 2}]:item() == 0)
---```
function drawing.draw_bounding_boxes(image, boxes, ...)
  local options = signature:bind(image, boxes, ...)
  check(options)
  return torch.no_grad(drawn, options)
end

return drawing
