-- rtrain/functions/pixels.lua: images as PNG files.

local args = require 'base.args'
local errors = require 'base.errors'

local pixels = {PNG_LEVEL = 6}

local MAX_SIDE = 8192
local FORMATS = {'CHW', 'HWC', 'HW'}

local function fail(format, ...) errors.raise('argument', format:format(...)) end

local function shape_text(tensor) return '{' .. table.concat(tensor.shape, ', ') .. '}' end

-- Returns the image as (c, h, w), whatever its format.
local function planes_of(call, image, format)
  if image:dim() == 2 then image = image:unsqueeze(0) end
  if image:dim() ~= 3 then
    fail('%s: the tensor has the shape %s: expected {h, w} or %s', call, shape_text(image),
      format == 'HWC' and '{h, w, c}' or '{c, h, w}')
  end
  local shape = shape_text(image)
  if format == 'HWC' then image = image:permute(2, 0, 1) end
  local channels, height, width = image.shape[1], image.shape[2], image.shape[3]
  if channels < 1 or channels > 4 then
    local other = format == 'HWC' and 'CHW' or 'HWC'
    fail("%s: the tensor of shape %s would have %d channels, expected 1 to 4: is it {dataformats = '%s'}?", call, shape,
      channels, other)
  end
  if math.min(height, width) < 1 or math.max(height, width) > MAX_SIDE then
    fail('%s: the image has %d x %d pixels, expected 1 to %d on each side', call, height, width, MAX_SIDE)
  end
  return image
end

---Returns the pixels as bytes; floating-point values are from 0 to 1.
---@param call string begins the messages
---@param image torch.Tensor
---@return torch.Tensor uint8
function pixels.of(call, image)
  if image.dtype == 'uint8' then return image end
  if image.dtype == 'bool' then return image:to('uint8'):mul(255) end
  if not image:is_floating_point() then
    fail('%s: the dtype is %s: expected uint8, bool, or floating point from 0 to 1', call, tostring(image.dtype))
  end
  return image:float():nan_to_num(0):clamp(0, 1):mul(255):add(0.5):floor():to('uint8')
end

---Returns the image as a PNG file. Raises code 'argument' for other values.
---@param call string begins the messages
---@param image torch.Tensor uint8, bool, or floating point from 0 to 1 (other values are clamped)
---@param format? 'CHW'|'HWC'|'HW' default 'CHW'
---@return string bytes
function pixels.png(call, image, format)
  format = args.one_of(call .. ': dataformats', format or 'CHW', FORMATS)
  if type(image) ~= 'userdata' or not require('torch').is_tensor(image) then
    fail('%s: expected a tensor, got %s', call, type(image))
  end
  local bytes = pixels.of(call, planes_of(call, image:detach():cpu(), format)):contiguous()
  return require 'torch.tensor.tensor_bytes'(require('torch._C').data.encode_png(bytes, pixels.PNG_LEVEL))
end

return pixels
