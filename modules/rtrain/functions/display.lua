-- rtrain/functions/display.lua: train.display, train.display_images: show values and pictures in a notebook.

local args = require 'base.args'
local errors = require 'base.errors'
local notebook_channel = require 'rtrain.display.notebook_channel'
local picture_grid = require 'rtrain.display.picture_grid'
local pixels = require 'rtrain.functions.pixels'
local rich = require 'rtrain.display.rich'

local print = print

local display = {}

local MAX_IMAGES = 400
local IS_BINARY = {['image/png'] = true, ['image/jpeg'] = true, ['image/gif'] = true}

local function fail(format, ...) errors.raise('argument', format:format(...)) end

---Shows a value in the output of a notebook's cell, as its last value is shown: a Result and a metrics_dataframe as tables,
---others as text. With `mime` the value is the bytes of a file, such as a picture. Outside of a notebook it is printed.
---IPython equivalent: IPython.display.display.
---@param value any
---@param options? {mime: string} 'image/png', 'image/jpeg', 'image/gif', 'image/svg+xml', 'text/html' or 'text/markdown'
---
---```lua
---local train = require 'rtrain'
---train.display {accuracy = 0.5}
---train.display('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>', {mime = 'image/svg+xml'})
---```
function display.display(value, options)
  options = args.options(options, {'mime'}, 'display')
  local mime, channel = options.mime, notebook_channel.current()
  if mime and type(value) ~= 'string' then fail('display: with mime: expected the bytes as a string, got %s', type(value)) end
  if not channel then
    print(mime and ('<%s, %d bytes>'):format(mime, #value) or value)
  elseif mime then
    channel:display{[mime] = IS_BINARY[mime] and channel:base64(value) or value, ['text/plain'] = ('<%s>'):format(mime)}
  else
    channel:display(rich.bundle(value))
  end
end

-- Returns the images of a list, a batch {n, c, h, w}, or one image.
local function list_of(images)
  if type(images) == 'table' then return images end
  if type(images) ~= 'userdata' or not require('torch').is_tensor(images) then
    fail('display_images: expected a tensor or a list of tensors, got %s', type(images))
  end
  if images:dim() < 4 then return {images} end
  local list = {}
  for i = 1, math.min(images.shape[1], MAX_IMAGES + 1) do list[i] = images[i - 1] end
  return list
end

-- Scales the values of the range to those from 0 to 1.
local function scaled(image, range)
  if not range then return image end
  return (image:float() - range[1]) / math.max(range[2] - range[1], 1e-12)
end

---Shows images next to each other in the output of a notebook's cell, each with a caption. Outside of a notebook the captions
---are printed. In a train function, `train.log_image` records an image.
---@param images torch.Tensor|torch.Tensor[] {n, c, h, w}, one image, or a list of images; values as for train.log_image
---@param options? {captions: any[], width: integer, value_range: number[], dataformats: 'CHW'|'HWC'|'HW'} width of an image
---  on the screen in pixels, default 96; value_range: {least, largest}, what is shown black and white, default {0, 1}
---Errors: 'argument' for other tensors, and more than 400 images.
---
---```lua
---local train, torch = require 'rtrain', require 'torch'
---train.display_images(torch.rand(2, 1, 8, 8), {captions = {'a 3', 'a 7'}})
---```
function display.display_images(images, options)
  options = args.options(options, {'captions', 'width', 'value_range', 'dataformats'}, 'display_images')
  local list, captions = list_of(images), options.captions or {}
  local files, texts = {}, {}
  local width, range = options.width or 96, options.value_range
  if type(width) ~= 'number' or width < 1 then fail('display_images: width = %s: expected pixels', tostring(width)) end
  if range and (type(range) ~= 'table' or type(range[1]) ~= 'number' or type(range[2]) ~= 'number') then
    fail('display_images: value_range: expected {least, largest}')
  end
  if #list > MAX_IMAGES then fail('display_images: at most %d images are shown at once', MAX_IMAGES) end
  for i, image in ipairs(list) do
    local is_tensor = type(image) == 'userdata'
    files[i] = pixels.png('display_images', is_tensor and scaled(image, range) or image, options.dataformats)
    texts[i] = captions[i] ~= nil and tostring(captions[i]) or ''
  end
  local text = ('%d image%s'):format(#list, #list == 1 and '' or 's')
  if captions[1] ~= nil then text = text .. ': ' .. table.concat(texts, ', ') end
  local channel = notebook_channel.current()
  if not channel then return print(text) end
  local grid = picture_grid(channel, files, {captions = captions[1] ~= nil and texts or {}, width = width})
  channel:display{['image/svg+xml'] = grid, ['text/plain'] = text}
end

return display
