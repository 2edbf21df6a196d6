-- vision/io.lua: reads and writes JPEG and PNG files, as torchvision.io.
--
-- The engine does the work (host/engine/data/images/image.h); this file handles the arguments. Images are (c, h, w).

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'

local io = {}

---The channels to which an image is decoded. Every parameter `mode` accepts these values or their names, in any case.
---@class vision.ImageReadMode
---@field UNCHANGED string as in the file; RGB for a palette
---@field GRAY string 1 channel
---@field GRAY_ALPHA string 2 channels; PNG only
---@field RGB string 3 channels
---@field RGB_ALPHA string 4 channels; PNG only
---@field RGBA string the same as RGB_ALPHA
io.ImageReadMode = {
  UNCHANGED = 'UNCHANGED', GRAY = 'GRAY', GRAY_ALPHA = 'GRAY_ALPHA', RGB = 'RGB', RGB_ALPHA = 'RGB_ALPHA',
  RGBA = 'RGB_ALPHA',
}

local function engine() return require('torch._C').data end

local function decoder_signature(name, ...)
  local parameters = {'input', {'mode', 'UNCHANGED'}}
  for _, parameter in ipairs{...} do parameters[#parameters + 1] = parameter end
  for _, parameter in ipairs{{'apply_exif_orientation', false}, {'max_pixels'}, {'size'}} do
    parameters[#parameters + 1] = parameter
  end
  return args.signature(name, parameters)
end

local decode_signature = decoder_signature 'decode_image'
local png_signature = decoder_signature 'decode_png'
local jpeg_signature = decoder_signature('decode_jpeg', {'device', 'cpu'})
local read_signature = decoder_signature 'read_image'

local function options_of(name, given)
  if type(given.mode) ~= 'string' then
    errors.raise('argument', ("%s: mode: expected a name such as 'RGB', got %s"):format(name, type(given.mode)))
  end
  local size = given.size
  if type(size) == 'number' then size = {size, size} end
  return {mode = given.mode:upper(), apply_exif_orientation = given.apply_exif_orientation,
          max_pixels = given.max_pixels, size = size}
end

local function is_list(value) return type(value) == 'table' and class.of(value) == nil end

-- Applies fn to the value, or to each item of a list.
local function for_each(name, value, fn)
  if not is_list(value) then return fn(value) end
  if #value == 0 then errors.raise('argument', name .. ': the list is empty') end
  local out = {}
  for i, item in ipairs(value) do out[i] = fn(item) end
  return out
end

---Returns the bytes of a file.
---@param path string
---@return torch.Tensor data uint8 (n)
---Errors: 'not_found' without such a file; 'argument' if it is a folder.
function io.read_file(path)
  if type(path) ~= 'string' then errors.raise('argument', 'read_file: expected a path, got ' .. type(path)) end
  return engine().read_file(path)
end

---Writes bytes to a file. The file appears complete or not at all; an older file stays until then.
---@param filename string
---@param data torch.Tensor uint8 (n)
---Errors: 'environment' if it cannot be written.
function io.write_file(filename, data)
  if type(filename) ~= 'string' then
    errors.raise('argument', 'write_file: expected a path, got ' .. type(filename))
  end
  engine().write_file(filename, data)
end

---Decodes a JPEG or PNG file, or its bytes.
---
---Parameters: input, {mode = 'UNCHANGED', apply_exif_orientation = false, max_pixels, size}. A PNG of 16 bits becomes
---uint16, a CMYK JPEG four channels or, with a mode, its channels. An image with more than max_pixels (default
---178,956,970, Pillow's limit) by its header is refused before memory is allocated. With `size`, a number or {height,
---width}, the image is resized to uint8 of that size: a JPEG is decoded at 1/2, 1/4 or 1/8 if that is not smaller,
---which saves most of the work, and scaled by an antialiased bilinear filter; on photographs the result is within 2
---levels, on average, of filtering all pixels (over 40 dB).
---
---```lua
---local torch = require 'torch'
---local io = require 'vision.io'
---local image = torch.arange(48, {dtype = 'uint8'}):view(3, 4, 4)
---assert(torch.equal(io.decode_image(io.encode_png(image)), image))
---assert(io.decode_image(io.encode_jpeg(image), 'GRAY').shape[1] == 1)
---```
---@param input string|torch.Tensor path, or uint8 (n)
---@param ... any see above
---@return torch.Tensor image (c, h, w), uint8 or uint16
---Errors: 'not_found' without such a file; 'argument', naming the file, for another format and for damaged, truncated or
---too large images.
function io.decode_image(input, ...)
  local given = decode_signature:bind(input, ...)
  return engine().decode_image(given.input, options_of('decode_image', given))
end

---Decodes the file of a path; torchvision's older name.
---@param path string
---@param ... any the parameters of decode_image
---@return torch.Tensor image (c, h, w), uint8 or uint16
function io.read_image(path, ...)
  local given = read_signature:bind(path, ...)
  if type(path) ~= 'string' then errors.raise('argument', 'read_image: expected a path, got ' .. type(path)) end
  return engine().decode_image(path, options_of('read_image', given))
end

---Decodes a PNG's bytes; parameters as of decode_image.
---@param input torch.Tensor uint8 (n)
---@param ... any the parameters of decode_image
---@return torch.Tensor image (c, h, w), uint8 or uint16
function io.decode_png(input, ...)
  local given = png_signature:bind(input, ...)
  return engine().decode_image(given.input, options_of('decode_png', given), 'png')
end

---Decodes a JPEG's bytes, or a list of them to a list of images.
---Parameters: input, {mode = 'UNCHANGED', device = 'cpu', apply_exif_orientation = false, max_pixels, size}, as of
---decode_image; pixels are decoded on the CPU and then moved to the device.
---@param input torch.Tensor|torch.Tensor[] uint8 (n)
---@param ... any see above
---@return torch.Tensor|torch.Tensor[] image uint8 (c, h, w)
function io.decode_jpeg(input, ...)
  local given = jpeg_signature:bind(input, ...)
  local options = options_of('decode_jpeg', given)
  return for_each('decode_jpeg', given.input, function(bytes)
    local image = engine().decode_image(bytes, options, 'jpeg')
    return given.device == 'cpu' and image or image:to(given.device)
  end)
end

local encode_jpeg_signature = args.signature('encode_jpeg', {'input', {'quality', 75}})
local write_jpeg_signature = args.signature('write_jpeg', {'input', 'filename', {'quality', 75}})
local encode_png_signature = args.signature('encode_png', {'input', {'compression_level', 6}})
local write_png_signature = args.signature('write_png', {'input', 'filename', {'compression_level', 6}})

---Returns an image, or a list of them, as the bytes of JPEG files. Parameters: input, {quality = 75}, 1 to 100.
---@param input torch.Tensor|torch.Tensor[] uint8 (c, h, w) with 1 or 3 channels
---@param ... any see above
---@return torch.Tensor|torch.Tensor[] bytes uint8 (n)
function io.encode_jpeg(input, ...)
  local given = encode_jpeg_signature:bind(input, ...)
  return for_each('encode_jpeg', given.input, function(image) return engine().encode_jpeg(image, given.quality) end)
end

---Saves an image as a JPEG file. Parameters: input, filename, {quality = 75}.
---
---```lua
---local torch = require 'torch'
---local io = require 'vision.io'
---local path = os.tmpname()
---io.write_jpeg(torch.full({3, 8, 8}, 100, {dtype = 'uint8'}), path, {quality = 90})
---assert(io.read_image(path, 'RGB')[0][4][4]:item() == 100)
---os.remove(path)
---```
---@param input torch.Tensor uint8 (c, h, w) with 1 or 3 channels
---@param filename string
---@param ... any see above
function io.write_jpeg(input, filename, ...)
  local given = write_jpeg_signature:bind(input, filename, ...)
  io.write_file(given.filename, engine().encode_jpeg(given.input, given.quality))
end

---Returns an image as the bytes of a PNG file. Parameters: input, {compression_level = 6}, 0 to 9.
---@param input torch.Tensor uint8 (c, h, w) with 1 (gray), 2 (with transparency), 3 or 4 channels
---@param ... any see above
---@return torch.Tensor bytes uint8 (n)
function io.encode_png(input, ...)
  local given = encode_png_signature:bind(input, ...)
  return engine().encode_png(given.input, given.compression_level)
end

---Saves an image as a PNG file. Parameters: input, filename, {compression_level = 6}.
---@param input torch.Tensor uint8 (c, h, w) with 1 to 4 channels, or (h, w)
---@param filename string
---@param ... any see above
function io.write_png(input, filename, ...)
  local given = write_png_signature:bind(input, filename, ...)
  local image = given.input
  if image:dim() == 2 then image = image:unsqueeze(0) end
  io.write_file(given.filename, engine().encode_png(image, given.compression_level))
end

local ABSENT = {
  decode_gif = 'only JPEG and PNG are read', decode_webp = 'only JPEG and PNG are read',
  decode_avif = 'only JPEG and PNG are read', decode_heic = 'only JPEG and PNG are read',
}

return require 'base.namespace'('vision.io', {absent = ABSENT}, io)
