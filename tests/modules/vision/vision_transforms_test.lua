-- vision.transforms: layouts, batches in one pass, worker threads, errors. tests/oracle/transforms_test.lua compares
-- the numbers with torchvision's.
local lu = require 'luaunit'
local torch = require 'torch'
local data = require 'torch.utils.data'
local F, T = require 'vision.transforms.functional', require 'vision.transforms'

local function bytes(...) return torch.randint(0, 256, {...}, {dtype = 'uint8'}) end

local function shape_of(x) return table.concat(x.shape, ' ') end

local message_of = require('refusal').message_of

TestLayouts = {}

-- All transforms that keep the number of channels, with their arguments.
local EVERYWHERE = {
  Resize = {{5, 7}}, CenterCrop = {6}, Pad = {2, 9}, RandomCrop = {6, 2}, RandomResizedCrop = {6}, RandomRotation = {40},
  RandomHorizontalFlip = {}, RandomVerticalFlip = {}, RandomAffine = {20}, RandomPerspective = {0.5, 1},
  ColorJitter = {0.5, 0.5, 0.5, 0.2}, GaussianBlur = {3}, RandomInvert = {1}, RandomPosterize = {3, 1},
  RandomSolarize = {99, 1}, RandomEqualize = {1},
  RandomAdjustSharpness = {2, 1}, RandomAutocontrast = {1}, RandAugment = {}, AutoAugment = {}, TrivialAugmentWide = {},
  AugMix = {}, RandomGrayscale = {1}, ElasticTransform = {5, 1},
}

function TestLayouts:test_images_of_datasets_and_tensors_give_the_same()
  local color, gray = bytes(12, 16, 3), bytes(12, 16)
  for name, arguments in pairs(EVERYWHERE) do
    local transform = T[name](unpack(arguments))
    torch.manual_seed(3)
    local image, plain = transform(color), transform(gray)
    torch.manual_seed(3)
    local tensor, channel = transform(color:permute{2, 0, 1}:contiguous()), transform(gray:unsqueeze(0))
    lu.assertTrue(torch.equal(image:permute{2, 0, 1}, tensor), name)
    lu.assertTrue(torch.equal(plain:unsqueeze(0), channel), name)
  end
end

function TestLayouts:test_what_is_read_as_channels()
  lu.assertEquals(F.get_dimensions(bytes(12, 16)), {1, 12, 16})
  lu.assertEquals(F.get_dimensions(bytes(12, 16, 3)), {3, 12, 16})
  lu.assertEquals(F.get_dimensions(bytes(12, 16, 4)), {4, 12, 16})
  lu.assertEquals(F.get_dimensions(bytes(3, 12, 16)), {3, 12, 16})
  lu.assertEquals(F.get_dimensions(bytes(5, 12, 16, 3)), {3, 12, 16})
  -- Ambiguous sizes are read as torchvision reads them; floats always are.
  lu.assertEquals(F.get_dimensions(bytes(3, 12, 3)), {3, 12, 3})
  lu.assertEquals(F.get_dimensions(torch.rand(12, 16, 3)), {12, 16, 3})
  lu.assertEquals(F.get_image_size(bytes(12, 16, 3)), {16, 12})
  lu.assertEquals(F.get_image_num_channels(bytes(12, 16)), 1)
end

function TestLayouts:test_gray_becomes_color_and_color_gray()
  lu.assertEquals(shape_of(T.Grayscale()(bytes(5, 6, 3))), '5 6 1')
  lu.assertEquals(shape_of(T.Grayscale(3)(bytes(5, 6))), '5 6 3')
  lu.assertEquals(shape_of(T.Grayscale(3)(torch.rand(1, 5, 6))), '3 5 6')
end

function TestLayouts:test_lists_of_parts()
  local parts = T.TenCrop(4)(bytes(8, 9, 3))
  lu.assertEquals({#parts, shape_of(parts[10])}, {10, '4 4 3'})
end

TestConversion = {}

function TestConversion:test_to_tensor()
  local gray = T.ToTensor()(torch.full({2, 3}, 255, {dtype = 'uint8'}))
  lu.assertEquals({gray.dtype, shape_of(gray), gray:min():item()}, {'float32', '1 2 3', 1})
  local image = bytes(4, 5, 3)
  local color = T.ToTensor()(image)
  lu.assertTrue(torch.equal(color, image:permute{2, 0, 1}:float() / 255))
  lu.assertTrue(color:is_contiguous())
  lu.assertTrue(torch.equal(T.PILToTensor()(image), image:permute{2, 0, 1}))
  lu.assertTrue(torch.equal(T.ToPILImage()(T.PILToTensor()(image)), image))
  lu.assertEquals(T.ToTensor()(torch.ones(2, 3, {dtype = 'int16'})).dtype, 'int16')
end

function TestConversion:test_the_usual_pipeline_on_an_image()
  local transform = T.Compose{T.RandomCrop(32, {padding = 4}), T.RandomHorizontalFlip(), T.ToTensor(),
                              T.Normalize({0.5, 0.5, 0.5}, {0.25, 0.25, 0.25})}
  local x = transform(bytes(32, 32, 3))
  lu.assertEquals({shape_of(x), x.dtype}, {'3 32 32', 'float32'})
  lu.assertTrue(x:min():item() >= -2 and x:max():item() <= 2)
end

function TestConversion:test_crop_takes_real_pixels()
  local x = torch.arange(64):view{8, 8}:to('uint8')
  for _ = 1, 20 do
    local y = T.RandomCrop(3)(x):long()
    local first = y[0][0]:item()
    lu.assertTrue(torch.equal(y, x:narrow(0, math.floor(first / 8), 3):narrow(1, first % 8, 3):long()))
  end
end

TestBatches = {}

-- Images in memory, like the shipped datasets.
local Images = data.Dataset:extend('Images')
function Images:init(images, transform) self.images, self.transform = images, transform end
function Images:len() return self.images:size(0) end
function Images:get(i) return self.transform(self.images:select(0, i)), i end
function Images:get_batch(indices)
  local on_batch = T.batched(self.transform)
  local images = on_batch and on_batch(self.images, indices)
  if images == nil then return nil end
  return images, indices:float()
end

-- Applies one transform after the other, without fusing them.
local function stepwise(transform, image)
  for _, item in ipairs(transform.transforms) do
    if item.transforms then image = stepwise(item, image) else image = item(image) end
  end
  return image
end

-- The same dataset, processed sample by sample.
local Singly = Images:extend('Singly')
function Singly:get(i) return stepwise(self.transform, self.images:select(0, i)), i end
function Singly:get_batch() return nil end

local to_tensor, normalize = T.ToTensor(), T.Normalize(0.3, 0.7)
local FUSED = {
  {to_tensor},
  {to_tensor, normalize},
  {to_tensor, normalize, T.Normalize(0.5, 2)},
  {T.PILToTensor()},
  {T.PILToTensor(), T.ConvertImageDtype('float32'), normalize},
  {T.PILToTensor(), T.ConvertImageDtype('float64')},
  {T.RandomCrop(6, {padding = 2, fill = 7}), T.RandomHorizontalFlip(), to_tensor, normalize},
  {T.RandomHorizontalFlip(0.3), T.RandomCrop({5, 7}, {padding = {1, 2, 3, 0}}), to_tensor, normalize},
  {to_tensor, T.RandomCrop(6, {padding = 2, fill = 0.25}), T.RandomVerticalFlip(), normalize},
  {to_tensor, normalize, T.RandomVerticalFlip(), T.RandomCrop(6, 3), T.RandomHorizontalFlip()},
  {T.CenterCrop({4, 5}), to_tensor},
  {T.Pad({1, 2}, 200), to_tensor, normalize},
  {T.RandomCrop({8, 9}), T.RandomHorizontalFlip(), to_tensor},
  {T.RandomCrop(6), to_tensor, T.CenterCrop(3), T.RandomCrop(2), normalize},
  {T.Compose{T.RandomHorizontalFlip(), T.Compose{to_tensor}}, normalize},
}

local function whole_and_single(images, transform, options)
  local out = {}
  for i, set in ipairs{Images(images, transform), Singly(images, transform)} do
    torch.manual_seed(11)
    local batches = {}
    for x in data.DataLoader(set, options) do batches[#batches + 1] = x end
    out[i] = torch.cat(batches)
    out[i + 2] = torch.rand(3)
  end
  return unpack(out)
end

function TestBatches:test_one_pass_gives_the_same_bits_and_draws_the_same_numbers()
  for _, images in ipairs{bytes(13, 8, 9), bytes(13, 8, 9, 3)} do
    for i, list in ipairs(FUSED) do
      local transform = T.Compose(list)
      lu.assertNotNil(T.batched(transform)(images, torch.arange(2)))
      local whole, single, after_whole, after_single = whole_and_single(images, transform, {batch_size = 5})
      lu.assertTrue(torch.equal(whole, single), 'chain ' .. i)
      lu.assertEquals(whole.dtype, single.dtype)
      lu.assertTrue(torch.equal(after_whole, after_single), 'chain ' .. i)
    end
  end
end

function TestBatches:test_single_images_in_one_pass_too()
  for _, images in ipairs{bytes(4, 8, 9), bytes(4, 8, 9, 3)} do
    for i, list in ipairs(FUSED) do
      local transform = T.Compose(list)
      local out = {}
      for k, call in ipairs{transform, function(x) return stepwise(transform, x) end} do
        torch.manual_seed(4)
        out[k] = {}
        for n = 0, 3 do out[k][n + 1] = call(images[n]) end
        out[k][5] = torch.rand(2)
      end
      for n = 1, 5 do lu.assertTrue(torch.equal(out[1][n], out[2][n]), ('chain %d, image %d'):format(i, n)) end
      lu.assertTrue(out[1][1]:is_contiguous() and out[1][4]:is_contiguous())
    end
  end
end

function TestBatches:test_one_pass_between_other_transforms()
  local double = function(x) return x * 2 end
  local transform = T.Compose{T.RandomResizedCrop(6), T.RandomHorizontalFlip(), to_tensor, normalize, T.RandomErasing(1),
                              double}
  local images, out = bytes(5, 12, 16, 3), {}
  for k, call in ipairs{transform, function(x)
    for _, item in ipairs(transform.transforms) do x = item(x) end
    return x
  end} do
    torch.manual_seed(4)
    out[k] = {}
    for n = 0, 4 do out[k][n + 1] = call(images[n]) end
  end
  lu.assertTrue(torch.equal(torch.stack(out[1]), torch.stack(out[2])))
end

function TestBatches:test_images_of_many_sizes()
  local transform = T.Compose{T.Pad(1), to_tensor}
  for _ = 1, 3 do
    for _, size in ipairs{8, 8, 9, 10, 10, 10} do
      local image = bytes(size, 7, 3)
      lu.assertTrue(torch.equal(transform(image), stepwise(transform, image)))
    end
  end
end

function TestBatches:test_colors_of_the_border_for_each_channel()
  local transform = T.Compose{T.RandomCrop(8, {padding = 3, fill = {1, 2, 255}}), to_tensor, normalize}
  local whole, single = whole_and_single(bytes(9, 8, 9, 3), transform, {batch_size = 4})
  lu.assertTrue(torch.equal(whole, single))
end

function TestBatches:test_outside_of_a_loader_the_default_generator_draws()
  local images, transform = bytes(6, 8, 8, 3), T.Compose(FUSED[7])
  torch.manual_seed(2)
  local whole, after = T.batched(transform)(images, torch.arange(6)), torch.rand(3)
  torch.manual_seed(2)
  for i = 0, 5 do lu.assertTrue(torch.equal(whole[i], transform(images[i]))) end
  lu.assertTrue(torch.equal(after, torch.rand(3)))
end

function TestBatches:test_worker_threads_draw_by_sample()
  local images = bytes(23, 8, 8, 3)
  local transform = T.Compose{T.RandomCrop(8, {padding = 2}), T.RandomHorizontalFlip(), to_tensor}
  local options = {batch_size = 4, num_workers = 2, shuffle = true}
  local whole, single = whole_and_single(images, transform, options)
  lu.assertTrue(torch.equal(whole, single))
  options.num_workers = 1
  local other = whole_and_single(images, transform, options)
  lu.assertTrue(torch.equal(whole, other))
end

function TestBatches:test_subsets_in_worker_threads()
  local images = bytes(23, 8, 8)
  local transform = T.Compose{T.RandomCrop(5), to_tensor}
  local out = {}
  for i, class in ipairs{Images, Singly} do
    torch.manual_seed(1)
    local subset = data.Subset(class(images, transform), {7, 3, 3, 20, 11})
    out[i] = data.DataLoader(subset, {batch_size = 5, num_workers = 1}):iter()()
  end
  lu.assertTrue(torch.equal(out[1], out[2]))
end

function TestBatches:test_all_images()
  local images = bytes(5, 8, 8)
  for _, list in ipairs{{to_tensor, normalize}, {T.Resize(4), to_tensor}} do
    local on_batch = T.batched(T.Compose(list))
    lu.assertTrue(torch.equal(on_batch(images), on_batch(images, torch.arange(5))))
  end
end

function TestBatches:test_steps_on_whole_batches()
  for _, list in ipairs{{T.Resize({4, 5}), to_tensor, normalize}, {to_tensor, T.Grayscale(), T.Pad(1, 0, 'reflect')},
    {T.PILToTensor(), T.Resize(6), T.CenterCrop(4)}} do
    local transform = T.Compose(list)
    local images = bytes(7, 8, 9, 3)
    lu.assertNotNil(T.batched(transform)(images, torch.arange(2)))
    local whole, single = whole_and_single(images, transform, {batch_size = 3})
    lu.assertTrue(torch.equal(whole, single))
  end
end

function TestBatches:test_what_only_single_images_can_have()
  local images, first = bytes(4, 8, 8), torch.arange(2)
  lu.assertNil(T.batched(function(x) return x end))
  lu.assertNil(T.batched(T.Compose{to_tensor, function(x) return x end}))
  local Mine = T.RandomHorizontalFlip:extend('Mine')
  function Mine:forward(x) return x end
  for _, list in ipairs{{T.RandomInvert(), to_tensor}, {T.RandomCrop(4)}, {T.RandomCrop(9), to_tensor}, {Mine(), to_tensor},
    {T.RandomCrop(4), T.Pad(1), to_tensor, T.RandomHorizontalFlip()}, {T.Resize(4)}} do
    lu.assertNil(T.batched(T.Compose(list))(images, first))
  end
end

function TestBatches:test_changed_transforms_count()
  local images, all = bytes(4, 8, 8), torch.arange(4)
  local transform = T.Compose{T.ToTensor(), T.Normalize(0.5, 1)}
  local before = T.batched(transform)(images, all)
  transform.transforms[2].mean = {0.25}
  lu.assertTrue(torch.allclose(T.batched(transform)(images, all), before + 0.25))
  transform.transforms[2].std[1] = 2
  lu.assertTrue(torch.allclose(T.batched(transform)(images, all), (before + 0.25) / 2))
  transform.transforms[2] = nil
  lu.assertTrue(torch.allclose(T.batched(transform)(images, all), before + 0.5))
  table.insert(transform.transforms, 1, T.CenterCrop(4))
  lu.assertEquals(shape_of(T.batched(transform)(images, all)), '4 1 4 4')
  transform.transforms[1].size = {2, 3}
  lu.assertEquals(shape_of(T.batched(transform)(images, all)), '4 1 2 3')
  local padded = T.Compose{T.Pad(1), to_tensor}
  lu.assertEquals(shape_of(T.batched(padded)(images, all)), '4 1 10 10')
  padded.transforms[1].padding = {1, 0}
  lu.assertEquals(shape_of(T.batched(padded)(images, all)), '4 1 8 10')
end

function TestBatches:test_double_precision_as_default()
  torch.set_default_dtype('float64')
  local ok, err = pcall(function()
    local whole, single = whole_and_single(bytes(5, 8, 8), T.Compose{T.RandomCrop(6), T.RandomHorizontalFlip(), to_tensor},
      {batch_size = 5})
    lu.assertEquals(whole.dtype, 'float64')
    lu.assertTrue(torch.equal(whole, single))
  end)
  torch.set_default_dtype('float32')
  if not ok then error(err, 0) end
end

TestContainers = {}

local function add(n) return T.Lambda(function(x) return x .. n end) end

function TestContainers:test_lists_of_transforms()
  lu.assertEquals(T.Compose{add 'a', function(x) return x .. 'b' end}('-'), '-ab')
  lu.assertEquals(T.RandomApply({add 'a', add 'b'}, 1)('-'), '-ab')
  lu.assertEquals(T.RandomApply({add 'a'}, 0)('-'), '-')
  lu.assertEquals(T.RandomChoice({add 'a', add 'b'}, {0, 2})('-'), '-b')
end

function TestContainers:test_orders_and_choices_are_all_drawn()
  torch.manual_seed(0)
  local orders, choices = {}, {}
  for _ = 1, 100 do
    orders[T.RandomOrder{add 'a', add 'b', add 'c'}('')] = true
    choices[T.RandomChoice{add 'a', add 'b', add 'c'}('')] = true
  end
  local seen = {}
  for order in pairs(orders) do seen[#seen + 1] = order end
  table.sort(seen)
  lu.assertEquals(table.concat(seen, ' '), 'abc acb bac bca cab cba')
  lu.assertEquals(choices, {a = true, b = true, c = true})
end

TestErrors = {}

local function refused(text, fn, ...)
  local message = message_of(fn, ...)
  lu.assertStrContains(message, text)
  return message
end

function TestErrors:test_wrong_images()
  refused('crop (9, 9) is larger than the image (8, 8)', T.RandomCrop(9), bytes(8, 8, 3))
  refused('crop (9, 3) is larger than the image (8, 8)', T.FiveCrop({9, 3}), torch.rand(1, 8, 8))
  refused('expected an image, a Tensor, got string', T.RandomHorizontalFlip(1), 'x')
  refused('at least 2 dimensions', T.CenterCrop(2), torch.rand(4))
  refused('the image has no pixels', T.Resize(4), bytes(8, 0, 3))
  refused('(c, h, w) already', T.ToTensor(), torch.rand(3, 8, 8))
  refused('expected an image (h, w) or (h, w, c)', T.ToTensor(), bytes(2, 8, 8, 3))
  refused('put ToTensor before it', T.Normalize(0.5, 1), bytes(1, 8, 8))
  refused('mean has 3 values {1, 2, 3}, the image 1 channels', T.Normalize({1, 2, 3}, 1), torch.rand(1, 8, 8))
  refused('1 or 3 channels, got 2', T.ColorJitter(0.5), torch.rand(2, 8, 8))
  refused('takes uint8 images, got float32', T.RandomEqualize(1), torch.rand(1, 8, 8))
  refused('put ToTensor before it', T.RandomErasing(1), bytes(8, 8, 3))
  refused('put PILToTensor before it', T.ConvertImageDtype('float32'), bytes(8, 8, 3))
  refused('fill has 2 values, the image 3 channels', T.RandomRotation(10, {fill = {1, 2}}), torch.rand(3, 8, 8))
  refused('padding 9 is too large', T.Pad(9, 0, 'reflect'), torch.rand(1, 8, 8))
  refused('too large for an image of 2 x 2', T.GaussianBlur(5), torch.rand(1, 2, 2))
end

function TestErrors:test_wrong_arguments()
  refused('std must not be 0', T.Normalize, {0.5, 0.5}, {1, 0})
  refused('expected a positive integer or {height, width}, got 0', T.CenterCrop, 0)
  refused('got {1, 2, 3}', T.RandomCrop, {1, 2, 3})
  refused("did you mean 'padding'?", T.RandomCrop, 4, {paddding = 1})
  refused("did you mean 'reflect'?", T.Pad, 1, {padding_mode = 'reflekt'})
  refused("did you mean 'bilinear'?", T.Resize, 4, {interpolation = 'bilinea'})
  refused("cannot be 'lanczos'", T.Resize, 4, T.InterpolationMode.LANCZOS)
  refused('max_size 4 must be greater', T.Resize, 4, {max_size = 4})
  refused('p is a probability from 0 to 1, got 2', T.RandomHorizontalFlip, 2)
  refused('expected a list of transforms', T.Compose, T.ToTensor())
  refused('item 2 is not a transform but a class: write ToTensor()', T.Compose, {T.CenterCrop(3), T.ToTensor})
  refused('kernel_size is odd', T.GaussianBlur, 4)
  refused('lies between -0.5 and 0.5', T.ColorJitter, {hue = 0.6})
  refused('expected {min, max}, got {1, 0.5}', T.RandomResizedCrop, 4, {scale = {1, 0.5}})
  refused("did you mean 'cifar10'?", T.AutoAugment, 'cifar1')
  refused('magnitude is an integer from 0 to 30, got 31', T.RandAugment, 2, 31)
  refused('there are no PIL modes', T.ToPILImage, 'RGB')
end

function TestErrors:test_names()
  refused("did you mean 'Resize'?", function() return T.Resiz end)
  refused('use vision.transforms itself', function() return T.v2 end)
  refused('torchvision.transforms.v2', function() return T.CutMix end)
  refused('use rgb_to_grayscale', function() return F.to_grayscale end)
end

function TestErrors:test_the_line_is_the_users()
  local transform = T.Compose{T.RandomCrop(9)}
  local message = message_of(function()
    local x = transform(bytes(8, 8))
    return x
  end)
  lu.assertStrContains(message, 'vision_transforms_test.lua:' .. (debug.getinfo(1, 'l').currentline - 3))
end

os.exit(lu.LuaUnit.run(), true)
