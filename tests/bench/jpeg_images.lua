-- Creates folders of JPEG files like photographs: FOLDER/small/{a,b} of 500 × 375 and FOLDER/large/{a,b} of 1600 × 1200
-- pixels.
--
--   jpeg_images.lua FOLDER COUNT
local io_ = require 'vision.io'
local system = require 'base._system'
local torch = require 'torch'

local folder, count = arg[1], tonumber(arg[2])
torch.manual_seed(0)

-- Returns noise of several scales, stronger at coarser scales, as in natural images.
local function picture(height, width)
  local image = torch.zeros(1, 3, height, width)
  for octave = 1, 7 do
    local cells = 2 ^ octave
    local noise = torch.randn(1, 3, math.min(height, cells), math.min(width, cells))
    image:add_(torch.nn.functional.interpolate(noise, {size = {height, width}, mode = 'bicubic'}), {alpha = 90 / octave ^ 1.3})
  end
  return image:add_(torch.randn(1, 3, height, width), {alpha = 3}):add_(120):clamp_(0, 255):to('uint8'):squeeze(0)
end

local function write(part, height, width, pictures)
  for i = 0, pictures - 1 do
    local class_folder = ('%s/%s/%s'):format(folder, part, i % 2 == 0 and 'a' or 'b')
    system.make_folders(class_folder)
    io_.write_jpeg(picture(height, width), ('%s/%03d.jpg'):format(class_folder, i), {quality = 90})
  end
end

write('small', 375, 500, count)
write('large', 1200, 1600, math.ceil(count / 8))
