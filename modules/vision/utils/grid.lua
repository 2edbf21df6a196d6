-- vision/utils/grid.lua: arranges many images in one image, and saves it.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local io = require 'vision.io'
local torch = require 'torch'

local grid = {}

local GRID = {{'nrow', 8}, {'padding', 2}, {'normalize', false}, {'value_range'}, {'scale_each', false}, {'pad_value', 0}}

local make_signature = args.signature('make_grid', {'tensor', unpack(GRID)})
local save_signature = args.signature('save_image', {'tensor', 'fp', {'format'}, unpack(GRID)})

-- Returns (n, c, h, w) with at least three channels.
local function batch_of(owner, images)
  if not torch.is_tensor(images) then
    if type(images) ~= 'table' or class.of(images) or #images == 0 then
      errors.raise('argument', ('%s: expected a tensor or a list of tensors, got %s'):format(owner, type(images)))
    end
    images = torch.stack(images)
  end
  if images:dim() < 2 or images:dim() > 4 then
    errors.raise('argument', ('%s: expected images (h, w), (c, h, w) or (n, c, h, w), got %s'):format(
      owner, tostring(images.shape)))
  end
  while images:dim() < 4 do images = images:unsqueeze(0) end
  if images:size(1) == 1 then images = images:expand(-1, 3, -1, -1) end
  return images
end

-- Scales to [0, 1], in place: from the range, or from the extremes of the values.
local function scale_(images, range)
  local low, high
  if range then low, high = range[1], range[2] else low, high = images:min():item(), images:max():item() end
  images:clamp_{min = low, max = high}
  images:sub_(low):div_(math.max(high - low, 1e-5))
end

local function normalized(images, options)
  local range = options.value_range
  if range ~= nil and (type(range) ~= 'table' or type(range[1]) ~= 'number' or type(range[2]) ~= 'number') then
    errors.raise('argument', 'make_grid: value_range: expected {min, max}')
  end
  images = images:clone()
  if not options.scale_each then
    scale_(images, range)
    return images
  end
  for image in images:iter() do scale_(image, range) end
  return images
end

-- Arranges images next to each other, `nrow` in a row, with a margin around each.
local function arranged(images, nrow, padding, pad_value)
  local count, height, width = images:size(0), images:size(2) + padding, images:size(3) + padding
  local columns = math.min(nrow, count)
  local rows = math.ceil(count / columns)
  local out = images:new_full({images:size(1), height * rows + padding, width * columns + padding}, pad_value)
  for k = 0, count - 1 do
    local y, x = math.floor(k / columns) * height + padding, k % columns * width + padding
    out:narrow(1, y, height - padding):narrow(2, x, width - padding):copy_(images[k])
  end
  return out
end

local function make(owner, options)
  return torch.no_grad(function()
    local images = batch_of(owner, options.tensor)
    if options.nrow < 1 then errors.raise('argument', owner .. ': nrow: at least 1') end
    if options.normalize then images = normalized(images, options) end
    if images:size(0) == 1 then return images:squeeze(0) end
    return arranged(images, options.nrow, options.padding, options.pad_value)
  end)
end

---Arranges many images in one. PyTorch equivalent: torchvision.utils.make_grid.
---
---Parameters: tensor, {nrow = 8, padding = 2, normalize = false, value_range, scale_each = false, pad_value = 0}. Images of one
---channel become three equal channels. `normalize` scales the values to [0, 1]: from value_range = {min, max}, or from
---the range of all images, or with scale_each from the range of each image.
---@param tensor torch.Tensor|torch.Tensor[] (n, c, h, w), or images of one size; a single image has no margin
---@param ... any see above
---@return torch.Tensor image (c, rows · (h + padding) + padding, columns · (w + padding) + padding)
---
---```lua
---local torch = require 'torch'
---local utils = require 'vision.utils'
---local image = utils.make_grid(torch.zeros(5, 1, 4, 4), {nrow = 3, pad_value = 1})
---assert(table.concat(image.shape, ' ') == '3 14 20')
---```
function grid.make_grid(tensor, ...) return make('make_grid', make_signature:bind(tensor, ...)) end

local WRITERS = {png = io.write_png, jpg = io.write_jpeg, jpeg = io.write_jpeg}

local function writer_of(path, format)
  local name = format or path:match '%.(%w+)$' or ''
  local writer = type(name) == 'string' and WRITERS[name:lower()]
  if writer then return writer end
  errors.raise('argument', ("save_image: no format '%s': write a path that ends in .png or .jpg, or {format = 'png'}")
    :format(tostring(name)))
end

---Saves images as a PNG or JPEG file, several as a grid. PyTorch equivalent: torchvision.utils.save_image.
---
---Parameters: tensor, fp, {format}, and those of make_grid. Values are scaled from [0, 1] to 0 … 255 and rounded;
---values outside are clamped. The file appears complete or not at all.
---@param tensor torch.Tensor|torch.Tensor[] float, as in make_grid
---@param fp string path; its extension determines the format, unless `format` ('png' or 'jpeg') is given
---@param ... any see above
---Errors: 'argument' for another format; 'environment' if the file cannot be written.
---
---```lua
---local torch = require 'torch'
---local utils, io = require 'vision.utils', require 'vision.io'
---local path = os.tmpname()
---utils.save_image(torch.full({4, 1, 2, 2}, 0.5), path, {format = 'png', nrow = 2, padding = 0})
---assert(io.read_image(path)[0][3][3]:item() == 128)
---os.remove(path)
---```
function grid.save_image(tensor, fp, ...)
  local options = save_signature:bind(tensor, fp, ...)
  if type(options.fp) ~= 'string' then
    errors.raise('argument', 'save_image: fp: expected a path, got ' .. type(options.fp))
  end
  local write = writer_of(options.fp, options.format)
  local image = make('save_image', options)
  torch.no_grad(function()
    write(image:mul(255):add_(0.5):clamp_(0, 255):to('cpu', torch.uint8):contiguous(), options.fp)
  end)
end

return grid
