-- Image data sets.
local lu = require 'luaunit'
local torch = require 'torch'
local data = torch.utils.data
local datasets, T = require 'vision.datasets', require 'vision.transforms'

local message_of = require('refusal').message_of

local function number32(n)
  return string.char(math.floor(n / 2 ^ 24) % 256, math.floor(n / 2 ^ 16) % 256, math.floor(n / 256) % 256, n % 256)
end

local function write(path, text)
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
end

-- A data set of `count` images of 2 × 3 pixels: image i has the bytes 6i … 6i + 5 and the label i.
local function make_folder(count, prefix)
  local folder = os.tmpname()
  os.remove(folder)
  os.execute(("mkdir -p '%s'"):format(folder))
  local pixels, labels = {}, {}
  for i = 0, count * 6 - 1 do pixels[#pixels + 1] = string.char(i) end
  for i = 0, count - 1 do labels[#labels + 1] = string.char(i) end
  write(folder .. '/' .. prefix .. '-images-idx3-ubyte',
    '\0\0\8\3' .. number32(count) .. number32(2) .. number32(3) .. table.concat(pixels))
  write(folder .. '/' .. prefix .. '-labels-idx1-ubyte', '\0\0\8\1' .. number32(count) .. table.concat(labels))
  return folder
end

TestDatasets = {}

function TestDatasets:setUp() self.folder = make_folder(4, 'train') end

function TestDatasets:tearDown() os.execute(("rm -r '%s'"):format(self.folder)) end

function TestDatasets:test_reads_idx_files()
  local set = datasets.MNIST(self.folder)
  lu.assertEquals(#set, 4)
  lu.assertEquals(set.folder, self.folder)
  lu.assertEquals({set.data.dtype, set.targets.dtype}, {'uint8', 'int64'})
  local image, label = set:get(2)
  lu.assertEquals(image:tolist(), {{12, 13, 14}, {15, 16, 17}})
  lu.assertEquals(label, 2)
end

function TestDatasets:test_batches_equal_single_samples()
  local transform = T.Compose{T.ToTensor(), T.Normalize(0.5, 0.25)}
  local set = datasets.MNIST(self.folder, {transform = transform})
  local slow = datasets.MNIST(self.folder, {transform = function(image) return transform(image) end})
  local x, y = data.DataLoader(set, {batch_size = 4}):iter()()
  local other_x, other_y = data.DataLoader(slow, {batch_size = 4}):iter()()
  lu.assertTrue(torch.equal(x, other_x))
  lu.assertTrue(torch.equal(y, other_y))
  lu.assertEquals(y.dtype, 'int64')
  lu.assertEquals(other_y.dtype, 'int64')
  lu.assertEquals({x.shape[1], x.shape[2], x.shape[3], x.shape[4]}, {4, 1, 2, 3})
  lu.assertAlmostEquals(x[{1, 0, 0, 0}]:item(), (6 / 255 - 0.5) / 0.25, 1e-6)
end

function TestDatasets:test_batches_do_not_change_the_data()
  local set = datasets.MNIST(self.folder, {transform = T.ToTensor()})
  for _ = 1, 2 do data.DataLoader(set, {batch_size = 4}):iter()() end
  lu.assertEquals(set.data[3][1][2]:item(), 23)
end

function TestDatasets:test_target_transform()
  local set = datasets.MNIST{root = self.folder, target_transform = function(label) return label * 10 end}
  local _, y = data.DataLoader(set, {batch_size = 4}):iter()()
  lu.assertEquals(y:tolist(), {0, 10, 20, 30})
end

function TestDatasets:test_missing_files_name_the_places()
  local text, err = message_of(datasets.MNIST, self.folder, {train = false})
  lu.assertStrContains(text, 't10k-images-idx3-ubyte')
  lu.assertStrContains(text, self.folder)
  lu.assertEquals(err.code, 'environment')
end

function TestDatasets:test_refuses_what_is_wrong()
  lu.assertStrContains(message_of(datasets.MNIST, self.folder, {train = false, download = true}), 'set RTRAIN_DATA_URL')
  lu.assertStrContains(message_of(datasets.EMNIST, self.folder, {split = 'digits', download = true}),
    'EMNIST: download = true is not')
  lu.assertStrContains(message_of(datasets.MNIST, self.folder, {transforms = 1}), "did you mean 'transform'?")
  lu.assertStrContains(message_of(function() return datasets.FashionMNST end), "did you mean 'FashionMNIST'?")
  lu.assertStrContains(message_of(function() return datasets.SVHN end), 'SVHN is not in this version')
end

os.exit(lu.LuaUnit.run(), true)
