-- Data sets of images: files in folders, CIFAR's formats, drawn shapes.
local lu = require 'luaunit'
local io_ = require 'vision.io'
local ordered = require 'base.ordered'
local system = require 'base._system'
local torch = require 'torch'
local data, nn = torch.utils.data, torch.nn
local datasets, T = require 'vision.datasets', require 'vision.transforms'

local root

local message_of = require('refusal').message_of

local function write(path, text)
  system.make_folders((root .. '/' .. path):match '^(.*)/')
  local file = assert(io.open(root .. '/' .. path, 'wb'))
  file:write(text)
  file:close()
end

local function write_image(path, height, width, level)
  system.make_folders(root .. '/' .. path:match '^(.*)/')
  local image = torch.full({3, height, width}, level, {dtype = 'uint8'})
  local save = path:match 'jpe?g$' and io_.write_jpeg or io_.write_png
  save(image, root .. '/' .. path)
end

local function set_up() root = system.make_temp 'datasets' end
local function tear_down() system.remove_tree(root) end

TestFolder = {setUp = set_up, tearDown = tear_down}

function TestFolder.test_classes_and_samples_are_in_torchvisions_order()
  for _, path in ipairs{'b/2.png', 'b/1.JPG', 'a/x/3.png', 'a/x-1/4.png', 'a/x/y/5.png', 'a/0.png', 'b/no.txt', 'C/6.png'} do
    write(path, '')
  end
  write('loose.png', '')
  local set = datasets.ImageFolder(root)
  lu.assertEquals(set.classes, {'C', 'a', 'b'})
  lu.assertEquals(ordered.keys(set.class_to_idx), {'C', 'a', 'b'})
  lu.assertEquals(set.class_to_idx.b, 2)
  local found = {}
  for i, sample in ipairs(set.samples) do found[i] = {sample[1]:sub(#root + 2), sample[2]} end
  -- a folder's path sorts before the paths below it, and '-' before '/'
  lu.assertEquals(found, {{'C/6.png', 0}, {'a/0.png', 1}, {'a/x/3.png', 1}, {'a/x-1/4.png', 1}, {'a/x/y/5.png', 1},
                          {'b/1.JPG', 2}, {'b/2.png', 2}})
  lu.assertEquals(set.imgs, set.samples)
  lu.assertEquals(set.targets:tolist(), {0, 1, 1, 1, 1, 2, 2})
end

function TestFolder.test_images_come_in_colour_and_go_through_transforms()
  write_image('a/1.png', 4, 6, 10)
  write_image('b/1.jpg', 8, 8, 200)
  io_.write_png(torch.full({1, 2, 2}, 7, {dtype = 'uint8'}), root .. '/b/2.png')
  local set = datasets.ImageFolder(root)
  local image, label = set:get(0)
  lu.assertEquals({image.dtype, image.shape[1], image.shape[2], image.shape[3], label}, {'uint8', 4, 6, 3, 0})
  lu.assertEquals((set:get(2)):tolist(), {{{7, 7, 7}, {7, 7, 7}}, {{7, 7, 7}, {7, 7, 7}}})
  set = datasets.ImageFolder(root, {transform = T.ToTensor(), target_transform = function(x) return x + 5 end})
  image, label = set:get(1)
  lu.assertEquals({image.shape[1], image.dtype, label}, {3, 'float32', 6})
  lu.assertStrContains(tostring(set), 'Dataset ImageFolder\n    Number of datapoints: 3\n    Root location: ' .. root
    .. '\n    StandardTransform\n    Transform: ')
end

function TestFolder.test_a_size_gives_whole_batches()
  write_image('a/1.png', 40, 60, 10)
  write_image('b/1.jpg', 90, 80, 200)
  local transform = T.Compose{T.ToTensor(), T.Normalize({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5})}
  local set = datasets.ImageFolder(root, {transform = transform, size = {16, 12}})
  local x, y = set:get_batch(torch.tensor({1, 0}, {dtype = 'int64'}))
  lu.assertEquals({x.shape[1], x.shape[2], x.shape[3], x.shape[4]}, {2, 3, 16, 12})
  lu.assertEquals(y:tolist(), {1, 0})
  lu.assertTrue(torch.allclose(x[0], (set:get(1)), {atol = 1e-6}))
  for _, workers in ipairs{0, 2} do
    local count = 0
    for images in data.DataLoader(set, {batch_size = 1, num_workers = workers}) do
      lu.assertEquals(images.shape[4], 12)
      count = count + 1
    end
    lu.assertEquals(count, 2)
  end
end

function TestFolder.test_workers_read_files()
  for i = 0, 5 do write_image(('c%d/1.png'):format(i), 8, 8, i * 10) end
  local set = datasets.ImageFolder(root, {transform = T.ToTensor()})
  lu.assertEquals(#set.samples, 6)
  local levels = {}
  for x, y in data.DataLoader(set, {batch_size = 2, num_workers = 2}) do
    for i = 0, 1 do levels[#levels + 1] = {math.floor(x[{i, 0, 0, 0}]:item() * 255 + 0.5), y[i]:item()} end
  end
  lu.assertEquals(levels, {{0, 0}, {10, 1}, {20, 2}, {30, 3}, {40, 4}, {50, 5}})
end

function TestFolder.test_a_broken_image_is_named()
  write_image('a/1.png', 8, 8, 1)
  write('a/2.jpg', 'no image')
  local set = datasets.ImageFolder(root)
  local text = message_of(set.get, set, 1)
  lu.assertStrContains(text, root .. '/a/2.jpg')
  text = message_of(function() for _ in data.DataLoader(set, {batch_size = 2, num_workers = 1}) do end end)
  lu.assertStrContains(text, root .. '/a/2.jpg')
  lu.assertStrContains(message_of(set.get, set, 2), 'index 2 is out of range for 2 samples')
end

function TestFolder.test_other_files_by_a_loader()
  write('yes/a.txt', 'one')
  write('no/b.TXT', 'two')
  local function loader(path) return io.open(path):read '*a' end
  local set = datasets.DatasetFolder(root, loader, {'.txt'})
  lu.assertEquals({set:get(0)}, {'two', 0})
  set = datasets.DatasetFolder(root, loader, {is_valid_file = function(path) return path:match 'a%.' end, allow_empty = true})
  lu.assertEquals({#set, set:get(0)}, {1, 'one', 1})
end

function TestFolder.test_what_is_missing()
  lu.assertStrContains(message_of(datasets.ImageFolder, root .. '/none'), 'there is no folder')
  lu.assertStrContains(message_of(datasets.ImageFolder, root), "Couldn't find any class folder in " .. root)
  write_image('a/1.png', 2, 2, 0)
  write('b/readme.txt', '')
  local text, err = message_of(datasets.ImageFolder, root)
  lu.assertStrContains(text, 'found no valid file for the classes b. Supported extensions are: .jpg')
  lu.assertEquals(err.code, 'not_found')
  lu.assertEquals(#datasets.ImageFolder(root, {allow_empty = true}), 1)
  lu.assertStrContains(message_of(datasets.DatasetFolder, root, print), 'either extensions or is_valid_file')
  lu.assertStrContains(message_of(datasets.ImageFolder, root, {tranform = print}), "did you mean 'transform'")
  lu.assertStrContains(message_of(datasets.ImageFolder, root, {size = 3, loader = print}), 'leave out size or loader')
  lu.assertStrContains(message_of(datasets.ImageFolder), "missing argument 'root'")
end

function TestFolder.test_a_link_that_leads_back_is_an_error()
  write_image('a/1.png', 2, 2, 0)
  os.execute(("ln -s ../a '%s/a/again'"):format(root))
  lu.assertStrContains(message_of(datasets.ImageFolder, root), '/a/again')
end

TestCifar = {setUp = set_up, tearDown = tear_down}

-- A record of CIFAR-10: the label, then red, green and blue.
local function record(label, first)
  local planes = {}
  for c = 0, 2 do planes[c + 1] = string.char((first + c) % 256) .. ('\0'):rep(1022) .. string.char(255 - c) end
  return string.char(label) .. table.concat(planes)
end

function TestCifar.test_binary_batches()
  for i = 1, 5 do write(('cifar-10-batches-bin/data_batch_%d.bin'):format(i), record(i, 10 * i) .. record(9, 3)) end
  write('cifar-10-batches-bin/test_batch.bin', record(0, 7))
  local set = datasets.CIFAR10(root)
  lu.assertEquals({#set, set.folder, set.data.dtype}, {10, root .. '/cifar-10-batches-bin', 'uint8'})
  lu.assertEquals(set.targets:tolist(), {1, 9, 2, 9, 3, 9, 4, 9, 5, 9})
  local image, label = set:get(2)
  lu.assertEquals({image.shape[1], image.shape[2], image.shape[3], label}, {32, 32, 3, 2})
  lu.assertEquals(image[0][0]:tolist(), {20, 21, 22})
  lu.assertEquals(image[31][31]:tolist(), {255, 254, 253})
  lu.assertTrue(set.data:is_contiguous())
  lu.assertEquals(set.classes[set.class_to_idx.frog + 1], 'frog')
  lu.assertEquals(#datasets.CIFAR10(root .. '/cifar-10-batches-bin', {train = false}), 1)
  lu.assertEquals((datasets.CIFAR10(root, false, T.ToTensor()):get(0)).shape[1], 3)
  local x, y = data.DataLoader(datasets.CIFAR10(root, {transform = T.ToTensor()}), {batch_size = 4}):iter()()
  lu.assertEquals({x.shape[1], x.shape[2], x.shape[4], y.dtype}, {4, 3, 32, 'int64'})
end

function TestCifar.test_cifar100_takes_the_second_label()
  write('cifar-100-binary/train.bin', '\3' .. record(99, 1))
  write('cifar-100-binary/test.bin', '\3' .. record(5, 1) .. '\4' .. record(6, 1))
  local set = datasets.CIFAR100{root = root, train = false}
  lu.assertEquals(set.targets:tolist(), {5, 6})
  lu.assertEquals(#set.classes, 100)
  lu.assertEquals(datasets.CIFAR100(root).classes[100], 'worm')
end

function TestCifar.test_what_is_refused()
  local text, err = message_of(datasets.CIFAR10, root)
  lu.assertStrContains(text, 'no folder with train-*.parquet or data_batch_1.bin')
  lu.assertStrContains(text, root .. '/cifar-10-batches-bin')
  lu.assertEquals(err.code, 'environment')
  write('cifar-10-batches-py/data_batch_1', 'pickle')
  text, err = message_of(datasets.CIFAR10, root)
  lu.assertStrContains(text, 'are pickles')
  lu.assertStrContains(text, 'cifar-10-binary.tar.gz')
  lu.assertEquals(err.code, 'unsupported')
  write('test_batch.bin', record(1, 1):sub(1, -2))
  text = message_of(datasets.CIFAR10, root, {train = false})
  lu.assertStrContains(text, 'test_batch.bin')
  lu.assertStrContains(text, '3072 bytes are not a multiple of the 3073')
  write('test_batch.bin', record(10, 1))
  lu.assertStrContains(message_of(datasets.CIFAR10, root, {train = false}), 'labels outside of 0 … 9')
  lu.assertStrContains(message_of(datasets.CIFAR10, root, {download = true}), 'are pickles')
  lu.assertStrContains(message_of(datasets.CIFAR10, 3), 'root: expected a path')
end

function TestCifar.test_the_real_files()
  local folder = os.getenv 'RTRAIN_DATA'
  if not folder or system.path_kind(folder .. '/cifar10') ~= 'folder' then lu.skip 'RTRAIN_DATA has no cifar10' end
  local set = datasets.CIFAR10{train = false}
  lu.assertEquals({#set, set.data.shape[2], set.data.shape[3], set.data.shape[4]}, {10000, 32, 32, 3})
  lu.assertEquals(torch.bincount(set.targets):tolist(), {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000})
end

TestMnistKin = {setUp = set_up, tearDown = tear_down}

function TestMnistKin.test_emnist_has_splits()
  local function idx(name, text) write('emnist/' .. name, text) end
  idx('emnist-letters-train-images-idx3-ubyte', '\0\0\8\3\0\0\0\1\0\0\0\1\0\0\0\2ab')
  idx('emnist-letters-train-labels-idx1-ubyte', '\0\0\8\1\0\0\0\1\26')
  local set = datasets.EMNIST(root, 'letters')
  lu.assertEquals({#set, select(2, set:get(0)), set.classes[27]}, {1, 26, 'z'})
  lu.assertEquals({set.classes[1], set.class_to_idx.a}, {'N/A', 1})
  lu.assertStrContains(message_of(datasets.EMNIST, root, 'leters'), "did you mean 'letters'")
  lu.assertStrContains(message_of(datasets.EMNIST, root), "missing argument 'split'")
  lu.assertStrContains(message_of(datasets.EMNIST, root, {split = 'mnist', train = false}), 'emnist-mnist-test-images')
  lu.assertStrContains(message_of(datasets.KMNIST, root), 'the folder that holds kmnist/')
end

TestMade = {}

function TestMade.test_fake_data_is_a_function_of_index_and_offset()
  local set = datasets.FakeData{size = 5, image_size = {1, 4, 3}, num_classes = 3}
  local image, label = set:get(2)
  lu.assertEquals({image.shape[1], image.shape[2], image.shape[3], image.dtype}, {4, 3, 1, 'uint8'})
  local again, label_again = datasets.FakeData{size = 5, image_size = {1, 4, 3}, num_classes = 3, random_offset = 2}:get(0)
  lu.assertTrue(torch.equal(image, again))
  lu.assertEquals(label, label_again)
  lu.assertStrContains(message_of(set.get, set, 5), 'out of range')
  lu.assertStrContains(message_of(datasets.FakeData, 10, 3), 'image_size')
end

function TestMade.test_shapes_are_the_same_everywhere()
  local set = datasets.shapes10{n = 30, size = 16}
  local weights = torch.arange(set.data:numel()):remainder(97)
  lu.assertEquals(set.data:long():sum():item(), 2831389)
  lu.assertEquals(set.data:long():view(-1):mul(weights):sum():item(), 135525471)
  lu.assertEquals(set.targets:narrow(0, 8, 4):tolist(), {8, 9, 0, 1})
end

function TestMade.test_shapes_do_not_depend_on_how_many_are_asked_for()
  local many = datasets.shapes10{n = 300, size = 8}
  lu.assertTrue(torch.equal(datasets.shapes10{n = 20, size = 8}.data, many.data:narrow(0, 0, 20)))
  for _, other in ipairs{{n = 300, size = 8, train = false}, {n = 300, size = 8, seed = 1}} do
    lu.assertFalse(torch.equal(datasets.shapes10(other).data, many.data))
  end
  lu.assertEquals(#datasets.shapes10{n = 0}, 0)
  local gray = datasets.shapes10{n = 2, size = 9, channels = 1}
  lu.assertEquals({gray.data:dim(), gray.data.shape[3]}, {3, 9})
  lu.assertStrContains(message_of(datasets.shapes10, {size = 4}), 'size must be an integer from 8')
  lu.assertStrContains(message_of(datasets.shapes10, {n = 1.5}), 'n must be an integer')
end

local function conv(inputs, outputs)
  return nn.Conv2d(inputs, outputs, 3, {padding = 1, bias = false}), nn.BatchNorm2d(outputs), nn.ReLU()
end

local function convnet()
  local layers = {}
  for _, block in ipairs{{conv(3, 32)}, {conv(32, 32)}, {nn.MaxPool2d(2)}, {conv(32, 64)},
                         {nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1024, 128), nn.ReLU(), nn.Linear(128, 10)}} do
    for _, layer in ipairs(block) do layers[#layers + 1] = layer end
  end
  return nn.Sequential(unpack(layers))
end

local function accuracy(net, set)
  local right = 0
  torch.no_grad(function()
    for x, y in data.DataLoader(set, {batch_size = 250}) do right = right + net(x):argmax(1):eq(y):sum():item() end
  end)
  return right / #set
end

function TestMade.test_a_small_convnet_learns_the_shapes()
  torch.set_num_threads(1)
  torch.manual_seed(1)
  local options = {n = 4000, size = 16, transform = T.Compose{T.ToTensor(),
    T.Normalize({0.5, 0.5, 0.5}, {0.25, 0.25, 0.25})}}
  local train_set = datasets.shapes10(options)
  options.n, options.train = 1000, false
  local net, loader = convnet(), data.DataLoader(train_set, {batch_size = 64, shuffle = true})
  local optimizer = torch.optim.Adam(net:parameters())
  local scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, {total_steps = 5 * #loader})
  for _ = 1, 5 do
    for x, y in loader do
      optimizer:zero_grad()
      nn.functional.cross_entropy(net(x), y):backward()
      optimizer:step()
      scheduler:step()
    end
  end
  net:eval()
  lu.assertTrue(accuracy(net, datasets.shapes10(options)) > 0.9)
end

os.exit(lu.LuaUnit.run(), true)
