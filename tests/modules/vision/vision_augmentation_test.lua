-- vision.augmentation: each sample of a batch has its own draw; vision.transforms gives the expected images.
local lu = require 'luaunit'
local augmentation = require 'vision.augmentation'
local torch = require 'torch'
local F, T = require 'vision.transforms.functional', require 'vision.transforms'

local message_of = require('refusal').message_of

local function bytes(...) return torch.randint(0, 256, {...}, {dtype = 'uint8'}) end

-- Returns the batch of the images that `fn` makes of the single images.
local function each(images, fn)
  local out = {}
  for i = 0, images:size(0) - 1 do out[i + 1] = fn(images[i], i) end
  return torch.stack(out)
end

TestRandomCrop = {}

local function crops_like_single_images(images, padding, mode)
  local crop = augmentation.RandomCrop({6, 5}, {padding = padding, padding_mode = mode, fill = 3,
                                                generator = torch.Generator(7)})
  local out, draws, n = crop(images), torch.Generator(7), images:size(0)
  local tops = torch.randint(0, 8 + 2 * padding - 6 + 1, {n, 1}, {generator = draws}):view(-1):tolist()
  local lefts = torch.randint(0, 7 + 2 * padding - 5 + 1, {n, 1}, {generator = draws}):view(-1):tolist()
  local padded = F.pad(images, padding, {padding_mode = mode, fill = 3})
  lu.assertTrue(torch.equal(out, each(padded, function(x, i) return F.crop(x, tops[i + 1], lefts[i + 1], 6, 5) end)), mode)
  lu.assertEquals(out.dtype, images.dtype)
end

function TestRandomCrop:test_each_sample_is_cropped_at_a_place_of_its_own()
  for _, mode in ipairs{'constant', 'edge', 'reflect', 'symmetric'} do
    crops_like_single_images(bytes(32, 3, 8, 7), 2, mode)
    crops_like_single_images(torch.rand(32, 1, 8, 7), 3, mode)
  end
end

function TestRandomCrop:test_all_places_of_the_bordered_image_come_up()
  local images = torch.arange(1, 5, {dtype = 'float32'}):view{1, 1, 2, 2}:expand{400, 1, 2, 2}
  local corners = {}
  for _, x in ipairs(augmentation.RandomCrop(2, {padding = 1})(images):view{400, 4}:tolist()) do
    corners[table.concat(x, ' ')] = true
  end
  local count = 0
  for _ in pairs(corners) do count = count + 1 end
  lu.assertEquals(count, 9)
end

function TestRandomCrop:test_refusals()
  local crop = augmentation.RandomCrop(32)
  lu.assertStrContains(message_of(crop, bytes(3, 40, 40)), 'RandomCrop: expected a batch of images (n, c, h, w), got shape')
  lu.assertStrContains(message_of(crop, bytes(8, 40, 40, 3)), 'movedim(-1, 1)')
  lu.assertStrContains(message_of(crop, bytes(8, 3, 30, 40)), 'the crop (32, 32) is larger than the images')
  lu.assertStrContains(message_of(augmentation.RandomCrop(4, {padding = 4, padding_mode = 'reflect'}), bytes(1, 1, 4, 4)),
    "padding 4 is too large for mode 'reflect' of 4 pixels")
  lu.assertStrContains(message_of(augmentation.RandomCrop, 4, {padding_mode = 'wrap'}), 'padding_mode')
  lu.assertStrContains(message_of(augmentation.RandomCrop, 4, {fill = {1, 2}}), 'fill is one number')
end

TestRandomFlip = {}

function TestRandomFlip:test_each_sample_is_flipped_or_not()
  for name, flip in pairs{RandomHorizontalFlip = F.hflip, RandomVerticalFlip = F.vflip} do
    local images = bytes(64, 3, 5, 4)
    local out = augmentation[name](0.5, {generator = torch.Generator(3)})(images)
    local is_flipped = torch.rand({64}, {generator = torch.Generator(3)}):lt(0.5):tolist()
    lu.assertTrue(torch.equal(out, each(images, function(x, i) return is_flipped[i + 1] and flip(x) or x end)), name)
  end
end

function TestRandomFlip:test_probability()
  local images = bytes(4, 1, 2, 3)
  lu.assertTrue(torch.equal(augmentation.RandomHorizontalFlip(0)(images), images))
  lu.assertTrue(torch.equal(augmentation.RandomHorizontalFlip(1)(images), images:flip{3}))
  lu.assertStrContains(message_of(augmentation.RandomHorizontalFlip, 1.5), 'p is a probability')
end

TestRandomCutout = {}

-- Counts the blank pixels of each sample.
local function blank_counts(images) return images:eq(0):sum({1, 2, 3}):tolist() end

function TestRandomCutout:test_a_rectangle_around_a_random_pixel()
  local out = augmentation.RandomCutout({4, 2}, {generator = torch.Generator(5)})(torch.ones(50, 2, 9, 8))
  local draws = torch.Generator(5)
  local rows = torch.randint(0, 9, {50, 1}, {generator = draws}):view(-1):tolist()
  local columns = torch.randint(0, 8, {50, 1}, {generator = draws}):view(-1):tolist()
  local expected = torch.ones(50, 2, 9, 8)
  for i = 0, 49 do
    local top, left = rows[i + 1] - 2, columns[i + 1] - 1
    for r = math.max(0, top), math.min(8, top + 3) do
      for c = math.max(0, left), math.min(7, left + 1) do expected:select(0, i):select(1, r):select(1, c):fill_(0) end
    end
  end
  lu.assertTrue(torch.equal(out, expected))
end

function TestRandomCutout:test_probability_and_fill()
  local images = torch.ones(200, 1, 6, 6)
  lu.assertTrue(torch.equal(augmentation.RandomCutout(2, {p = 0})(images), images))
  local touched = 0
  for _, count in ipairs(blank_counts(augmentation.RandomCutout(2, {p = 0.5})(images))) do
    touched = touched + (count > 0 and 1 or 0)
  end
  lu.assertTrue(touched > 50 and touched < 150)
  lu.assertEquals(augmentation.RandomCutout(2, {fill = 7})(images):max():item(), 7)
  lu.assertEquals(images:min():item(), 1)  -- the input batch is unchanged
end

TestNormalize = {}

function TestNormalize:test_bytes_and_floats_as_totensor_and_normalize()
  local images, mean, std = bytes(6, 3, 5, 4), {0.49, 0.48, 0.44}, {0.2, 0.21, 0.22}
  local expected = T.Normalize(mean, std)(images:float():div(255))
  local normalize = augmentation.Normalize(mean, std)
  lu.assertTrue(torch.allclose(normalize(images), expected, {atol = 1e-5}))
  lu.assertTrue(torch.allclose(normalize(images:float():div(255)), expected, {atol = 1e-5}))
  lu.assertEquals(augmentation.Normalize(mean, std, {dtype = 'bfloat16'})(images).dtype, 'bfloat16')
  lu.assertTrue(torch.allclose(augmentation.Normalize(0.5, 0.5)(images), images:float():div(127.5):sub(1), {atol = 1e-5}))
end

function TestNormalize:test_refusals()
  lu.assertStrContains(message_of(augmentation.Normalize, {1, 2}, {1, 0}), 'std must not be 0')
  lu.assertStrContains(message_of(augmentation.Normalize({1, 2}, 1), bytes(1, 3, 2, 2)), 'mean has 2 values')
  lu.assertStrContains(message_of(augmentation.Normalize(1, 1), torch.zeros({1, 3, 2, 2}, {dtype = 'int64'})),
    'expected bytes (uint8) or floats, got int64')
end

TestAugmentation = {}

function TestAugmentation:test_compose_prints_and_the_default_generator_repeats()
  local augment = augmentation.Compose{augmentation.RandomCrop(8, {padding = 2, padding_mode = 'reflect'}),
    augmentation.RandomHorizontalFlip(), augmentation.Normalize(0.5, 0.25), augmentation.RandomCutout(4)}
  local images = bytes(16, 3, 8, 8)
  torch.manual_seed(4)
  local first = augment(images)
  torch.manual_seed(4)
  lu.assertTrue(torch.equal(augment(images), first))
  lu.assertFalse(torch.equal(augment(images), first))
  lu.assertStrContains(tostring(augment), "RandomCrop(size=(8, 8), padding=2, fill=0, padding_mode='reflect')")
  lu.assertStrContains(tostring(augment), 'RandomHorizontalFlip(p=0.5)')
  lu.assertEquals(augment(images:narrow(0, 0, 0)):size(), {0, 3, 8, 8})
end

os.exit(lu.LuaUnit.run(), true)
