-- vision.io: files and bytes that are not images, are damaged, or claim too many pixels. tests/e2e/data/test_images.py
-- compares pixels with torchvision and Pillow.
local lu = require 'luaunit'
local torch = require 'torch'
local D = require('torch._C').data
local io_ = require 'vision.io'

local function image(channels, height, width)
  torch.manual_seed(3)
  return torch.randint(0, 256, {channels or 3, height or 20, width or 30}, {dtype = 'uint8'})
end

local function text_of(bytes)
  local out = {}
  for i, value in ipairs(bytes:tolist()) do out[i] = string.char(value) end
  return table.concat(out)
end

local function bytes_of(text) return torch.tensor({text:byte(1, -1)}, {dtype = 'uint8'}) end

local message_of = require('refusal').message_of

local function number32(n)
  return string.char(math.floor(n / 2 ^ 24) % 256, math.floor(n / 2 ^ 16) % 256, math.floor(n / 256) % 256, n % 256)
end

-- Computes CRC-32 for modified PNG headers.
local function crc32(text)
  local crc = 0xffffffff
  for i = 1, #text do
    crc = bit.bxor(crc, text:byte(i))
    for _ = 1, 8 do
      crc = bit.band(crc, 1) == 1 and bit.bxor(bit.rshift(crc, 1), 0xedb88320) or bit.rshift(crc, 1)
    end
  end
  return bit.bxor(crc, 0xffffffff) % 2 ^ 32
end

local function png_claiming(width, height)
  local header = 'IHDR' .. number32(width) .. number32(height) .. '\8\2\0\0\0'
  return '\137PNG\r\n\26\n\0\0\0\13' .. header .. number32(crc32(header)) .. text_of(io_.encode_png(image())):sub(34)
end

-- Changes a JPEG's frame header: height and width are 3 and 5 bytes after its length.
local function jpeg_claiming(width, height)
  local text = text_of(io_.encode_jpeg(image()))
  local at = text:find('\255\192\0\17\8', 1, true)
  return text:sub(1, at + 4) .. number32(height):sub(3) .. number32(width):sub(3) .. text:sub(at + 9)
end

TestImages = {}

function TestImages.test_encoders_and_decoders_are_inverse()
  for channels = 1, 4 do
    local x = image(channels)
    for _, level in ipairs{0, 6, 9} do
      lu.assertTrue(torch.equal(io_.decode_png(io_.encode_png(x, level)), x))
    end
  end
  local smooth = torch.arange(0, 240, {dtype = 'uint8'}):view(1, 12, 20)
  local decoded = io_.decode_jpeg(io_.encode_jpeg(smooth, {quality = 100}))
  lu.assertTrue((decoded:int() - smooth:int()):abs():max():item() <= 2)
end

function TestImages.test_lists_of_jpegs()
  local encoded = io_.encode_jpeg{image(), image(1)}
  local decoded = io_.decode_jpeg(encoded, {mode = 'gray'})
  lu.assertEquals({#decoded, decoded[1].shape[1], decoded[2].shape[1]}, {2, 1, 1})
  lu.assertErrorMsgContains('the list is empty', io_.decode_jpeg, {})
end

function TestImages.test_a_strided_or_small_view_is_encoded_as_it_looks()
  local x = image()
  lu.assertTrue(torch.equal(io_.decode_png(io_.encode_png(x:flip{-1})), x:flip{-1}))
  lu.assertTrue(torch.equal(io_.decode_png(io_.encode_png(x[{'...', torch.slice(2, 9)}])), x[{'...', torch.slice(2, 9)}]))
end

function TestImages.test_more_pixels_than_allowed_are_refused_by_their_header()
  for _, claim in ipairs{png_claiming, jpeg_claiming} do
    local text = message_of(io_.decode_image, bytes_of(claim(60000, 60000)))
    lu.assertStrContains(text, '60000 × 60000 pixels, more than max_pixels = 178956970')
    -- Few bytes cannot hold many pixels, whatever max_pixels allows.
    text = message_of(io_.decode_image, bytes_of(claim(60000, 60000)), {max_pixels = 2 ^ 40})
    lu.assertStrContains(text, 'bytes cannot hold 60000 × 60000 pixels')
    lu.assertStrContains(message_of(io_.decode_image, bytes_of(claim(0, 5))), 'damaged')
  end
  lu.assertStrContains(message_of(io_.decode_image, io_.encode_png(image()), {max_pixels = 599}), 'max_pixels = 599')
  lu.assertEquals(io_.decode_image(io_.encode_png(image()), {max_pixels = 600}).shape[3], 30)
end

function TestImages.test_every_cut_is_an_error()
  for _, whole in ipairs{text_of(io_.encode_png(image())), text_of(io_.encode_jpeg(image(3, 17, 9)))} do
    for size = 0, #whole - 1 do
      local _, err = message_of(io_.decode_image, bytes_of(whole:sub(1, size)))
      lu.assertEquals(err.code, 'argument')
    end
  end
end

function TestImages.test_changed_bytes_are_an_error_or_an_image()
  local jpeg, png = text_of(io_.encode_jpeg(image(3, 17, 9))), text_of(io_.encode_png(image(3, 9, 9)))
  for _, whole in ipairs{jpeg, png} do
    for i = 1, #whole do
      for _, change in ipairs{1, 128, 255 - whole:byte(i)} do
        local changed = whole:sub(1, i - 1) .. string.char((whole:byte(i) + change) % 256) .. whole:sub(i + 1)
        local ok, out = pcall(io_.decode_image, bytes_of(changed), {mode = 'RGB'})
        if ok then lu.assertEquals(out.shape[1], 3) else lu.assertEquals(out.code, 'argument') end
      end
    end
  end
end

function TestImages.test_a_chunk_that_claims_a_gigabyte_costs_nothing()
  local whole = text_of(io_.encode_png(image()))
  local text = message_of(io_.decode_image, bytes_of(whole:sub(1, 33) .. number32(2 ^ 30) .. 'eXIf' .. whole:sub(34)))
  lu.assertStrContains(text, 'truncated: its chunk eXIf should have 1073741824 bytes where')
end

function TestImages.test_bytes_behind_the_end_are_ignored()
  for _, encode in ipairs{io_.encode_png, io_.encode_jpeg} do
    local bytes = encode(image())
    lu.assertTrue(torch.equal(io_.decode_image(torch.cat{bytes, bytes_of 'more than an image'}), io_.decode_image(bytes)))
  end
end

function TestImages.test_a_png_with_a_wrong_checksum_is_refused()
  local whole = text_of(io_.encode_png(image()))
  local at = whole:find('IDAT', 1, true) + 20
  lu.assertStrContains(message_of(io_.decode_image,
    bytes_of(whole:sub(1, at) .. string.char((whole:byte(at + 1) + 1) % 256) .. whole:sub(at + 2))), 'damaged PNG')
end

function TestImages.test_files_are_named()
  local path = os.tmpname()
  io_.write_file(path, bytes_of 'GIF89a and more')
  lu.assertStrContains(message_of(io_.read_image, path), ("cannot read '%s': it is a GIF image"):format(path))
  io_.write_file(path, bytes_of(text_of(io_.encode_jpeg(image())):sub(1, -40)))
  local text = message_of(io_.decode_image, path)
  lu.assertStrContains(text, path)
  lu.assertStrContains(text, 'truncated')
  io_.write_file(path, torch.zeros(0, {dtype = 'uint8'}))
  lu.assertStrContains(message_of(io_.read_image, path), 'it is empty')
  os.remove(path)
  local _, err = message_of(io_.read_image, path)
  lu.assertEquals(err.code, 'not_found')
  _, err = message_of(io_.read_image, '/tmp')
  lu.assertStrContains(err.message, 'it is a folder')
  _, err = message_of(io_.write_png, image(), '/no/such/folder/x.png')
  lu.assertEquals(err.code, 'environment')
end

function TestImages.test_wrong_arguments()
  local png, jpeg = io_.encode_png(image()), io_.encode_jpeg(image())
  lu.assertStrContains(message_of(io_.decode_image, png, 'RBG'), "did you mean 'RGB'")
  lu.assertStrContains(message_of(io_.decode_image, png, {mod = 'RGB'}), "did you mean 'mode'")
  lu.assertStrContains(message_of(io_.decode_image, png, 3), 'mode: expected a name')
  lu.assertStrContains(message_of(io_.decode_png, jpeg), 'no PNG: it is a JPEG')
  lu.assertStrContains(message_of(io_.decode_jpeg, png), 'no JPEG: it is a PNG')
  lu.assertStrContains(message_of(io_.decode_jpeg, jpeg, 'RGB_ALPHA'), 'no transparency')
  lu.assertStrContains(message_of(io_.decode_image, png:int()), 'uint8')
  lu.assertStrContains(message_of(io_.decode_image, png, {size = {0, 3}}), 'size')
  lu.assertStrContains(message_of(io_.encode_jpeg, image(), 0), 'quality must be 1 to 100')
  lu.assertStrContains(message_of(io_.encode_png, image(), 10), 'compression_level must be 0 to 9')
  lu.assertStrContains(message_of(io_.encode_jpeg, image(2)), '1 or 3 channels')
  lu.assertStrContains(message_of(io_.encode_png, image():float()), 'uint8 image')
  lu.assertStrContains(message_of(io_.encode_jpeg, torch.zeros(1, 1, 70000, {dtype = 'uint8'})), '65500')
  lu.assertStrContains(message_of(io_.encode_png, torch.zeros(1, 0, 3, {dtype = 'uint8'})), 'uint8 image')
  lu.assertStrContains(message_of(function() return io_.decode_gif end), 'only JPEG and PNG')
end

TestBatches = {}

local function rows_of(list)
  local offsets = {0}
  for i, bytes in ipairs(list) do offsets[i + 1] = offsets[i] + #bytes end
  return torch.tensor(offsets, {dtype = 'int64'}), torch.cat(list)
end

function TestBatches.test_one_size_gives_one_tensor_and_several_a_list()
  local small, large = io_.encode_png(image()), io_.encode_png(image(3, 5, 6))
  local offsets, bytes = rows_of{small, small}
  local all = D.decode_images(offsets, bytes, {})
  lu.assertTrue(torch.equal(all[1], image():permute{1, 2, 0}))
  offsets, bytes = rows_of{small, large}
  local list = D.decode_images(offsets, bytes, {})
  lu.assertEquals({#list, list[2].shape[1], list[2].shape[2]}, {2, 5, 6})
  local sized = D.decode_images(offsets, bytes, {size = {7, 8}})
  lu.assertEquals({sized.shape[1], sized.shape[2], sized.shape[3], sized.shape[4]}, {2, 7, 8, 3})
  lu.assertEquals(#D.decode_images(offsets:narrow(0, 0, 1), bytes, {}), 0)
end

function TestBatches.test_the_bad_image_is_counted()
  local good = io_.encode_png(image())
  local offsets, bytes = rows_of{good, good, good:narrow(0, 0, 50)}
  lu.assertStrContains(message_of(D.decode_images, offsets, bytes, {}), 'image 2: damaged PNG')
  offsets, bytes = rows_of{good, good:narrow(0, 0, 0)}
  lu.assertStrContains(message_of(D.decode_images, offsets, bytes, {}), 'image 1: it is empty')
end

function TestBatches.test_offsets_are_checked()
  local bytes = torch.zeros(10, {dtype = 'uint8'})
  local function offsets(...) return torch.tensor({...}, {dtype = 'int64'}) end
  for _, wrong in ipairs{offsets(0, 11), offsets(-1, 4), offsets(0, 5, 4), offsets(3, 2)} do
    lu.assertStrContains(message_of(D.decode_images, wrong, bytes, {}), 'offsets: they fall, or leave the 10 bytes')
  end
  lu.assertStrContains(message_of(D.decode_images, offsets(0, 5):int(), bytes, {}), 'offsets: expected')
  lu.assertStrContains(message_of(D.decode_images, offsets(0, 5), bytes:int(), {}), 'bytes: expected')
  lu.assertStrContains(message_of(D.decode_images, offsets(0, 5):narrow(0, 0, 0), bytes, {}), 'at least one')
end

function TestBatches.test_rows_are_gathered()
  local offsets, bytes = torch.tensor({2, 4, 4, 9}, {dtype = 'int64'}), bytes_of 'xxabcdefgh'
  local o, b = D.gather_strings(offsets, bytes, torch.tensor({2, 1, 0, 2}, {dtype = 'int64'}))
  lu.assertEquals(o:tolist(), {0, 5, 5, 7, 12})
  lu.assertEquals(text_of(b), 'cdefgabcdefg')
  lu.assertStrContains(message_of(D.gather_strings, offsets, bytes, torch.tensor({3}, {dtype = 'int64'})), 'no row 3 among 3')
end

os.exit(lu.LuaUnit.run(), true)
