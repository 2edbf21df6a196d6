-- vision/datasets.lua: MNIST and FashionMNIST, from idx files (plain or .gz) that lie on this machine.

local args = require 'rtrain.args'
local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local data = require 'torch.utils.data'
local transforms = require 'vision.transforms'

local FILES = {
  train = {'train-images-idx3-ubyte', 'train-labels-idx1-ubyte'},
  test = {'t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'},
}

local function readable(path)
  local file = io.open(path, 'rb')
  if not file then return nil end
  file:close()
  return path
end

-- The file in the folder, plain or compressed; nil when there is none.
local function find_file(folder, name)
  return readable(folder .. '/' .. name) or readable(folder .. '/' .. name .. '.gz')
end

local function expand_home(path)
  local home = os.getenv 'HOME'
  return home and path:gsub('^~', home) or path
end

-- Folders in the order in which they are tried. With a root only those below it: a wrong path must not go unnoticed.
local function folders(self, root)
  if root ~= nil then
    root = expand_home(root)
    return {root, root .. '/' .. self._folder, root .. '/' .. class.of(self).__name .. '/raw'}
  end
  local list = {}
  local variable = os.getenv 'RTRAIN_DATA'
  if variable and variable ~= '' then list[1] = expand_home(variable) .. '/' .. self._folder end
  if self._package_folder then list[#list + 1] = self._package_folder end
  return list
end

local function refuse_missing(self, tried, names)
  local hint = self._package and (' or install the Debian package ' .. self._package) or ''
  errors.raise('environment', ('%s: no folder with %s[.gz] and %s[.gz]\n  looked in: %s\n'
    .. '  set RTRAIN_DATA to the folder that holds %s/, pass {root = …}%s'):format(class.of(self).__name, names[1],
    names[2], #tried > 0 and table.concat(tried, ', ') or '(nowhere: RTRAIN_DATA is not set)', self._folder, hint))
end

local function locate(self, root, names)
  local tried = folders(self, root)
  for _, folder in ipairs(tried) do
    local images, labels = find_file(folder, names[1]), find_file(folder, names[2])
    if images and labels then return folder, images, labels end
  end
  return refuse_missing(self, tried, names)
end

local Idx = data.Dataset:extend('Idx')
Idx.dtypes = {[2] = 'int64'}

local OPTIONS = {'root', 'train', 'transform', 'target_transform', 'download'}

-- `root` may be the first argument, as in torchvision, or among the options.
function Idx:init(root, options)
  if type(root) == 'table' then root, options = nil, root end
  local name = class.of(self).__name
  options = args.options(options, OPTIONS, name)
  if options.download then
    errors.raise('argument', name .. ': rtrain downloads no data: see where it looks with {root = …} or RTRAIN_DATA')
  end
  self.train = options.train ~= false
  self.transform, self.target_transform = options.transform, options.target_transform
  local images, labels
  self.folder, images, labels = locate(self, root or options.root, FILES[self.train and 'train' or 'test'])
  local read = require('torch._C').read_idx
  self.data, self.targets = read(images), read(labels):long()
  if self.data:dim() ~= 3 or self.targets:dim() ~= 1 or self.data:size(0) ~= self.targets:size(0) then
    errors.raise('environment', ('%s: %s and %s do not belong together'):format(name, images, labels))
  end
end

function Idx:len() return self.data:size(0) end

---@param i integer from 0
---@return any image uint8 (28, 28), or what the transform makes of it
---@return any label integer, or what target_transform makes of it
function Idx:get(i)
  local image, label = self.data:select(0, i), self.targets:select(0, i):item()
  if self.transform then image = self.transform(image) end
  if self.target_transform then label = self.target_transform(label) end
  return image, label
end

-- A whole batch at once where the transform can do that; nil otherwise.
function Idx:get_batch(indices)
  local on_batch = self.transform == nil and transforms.identity or transforms.batched(self.transform)
  if not on_batch or self.target_transform then return nil end
  local images = on_batch(self.data, indices)
  if images == nil then return nil end
  return images, self.targets:index_select(0, indices)
end

function Idx.__tostring(self)
  return ('Dataset %s\n    Number of datapoints: %d\n    Root location: %s\n    Split: %s'):format(
    class.of(self).__name, self:len(), self.folder, self.train and 'Train' or 'Test')
end

---Handwritten digits: 60,000 training and 10,000 test images. Arguments: root (or nil), {train = true, transform,
---target_transform}. Looks below `root` if given, else in $RTRAIN_DATA/mnist; `.folder` says which was taken.
---Raises code 'environment' with every folder that was looked at when the files are missing or broken.
---@class vision.MNIST: data.Dataset
---@overload fun(root?: string, options?: table): vision.MNIST
---@field data torch.Tensor uint8 (n, 28, 28)
---@field targets torch.Tensor int64 (n)
---@field folder string
local MNIST = Idx:extend('MNIST')
MNIST._folder = 'mnist'
MNIST.classes = {'0 - zero', '1 - one', '2 - two', '3 - three', '4 - four', '5 - five', '6 - six', '7 - seven',
                 '8 - eight', '9 - nine'}

---Images of clothes, in the form of MNIST. Arguments as MNIST's; looks below `root` if given, else in
---$RTRAIN_DATA/fashion-mnist, then in the folder of Debian's package dataset-fashion-mnist.
---
---```lua
---local data = require 'torch.utils.data'
---local datasets, transforms = require 'vision.datasets', require 'vision.transforms'
---local train_set = datasets.FashionMNIST{transform = transforms.ToTensor()}
---local x, y = data.DataLoader(train_set, {batch_size = 64}):iter()()
---assert(x.shape[2] == 1 and x.shape[4] == 28 and y.dtype == 'int64')
---```
---@class vision.FashionMNIST: vision.MNIST
---@overload fun(root?: string, options?: table): vision.FashionMNIST
local FashionMNIST = Idx:extend('FashionMNIST')
FashionMNIST._folder = 'fashion-mnist'
FashionMNIST._package_folder = '/usr/share/datasets/fashion-mnist'
FashionMNIST._package = 'dataset-fashion-mnist'
FashionMNIST.classes = {'T-shirt/top', 'Trouser', 'Pullover', 'Dress', 'Coat', 'Sandal', 'Shirt', 'Sneaker', 'Bag',
                        'Ankle boot'}

local LATER = {CIFAR10 = true, ImageFolder = 'write a Dataset with get(i) and len()'}

return require 'rtrain.namespace'('vision.datasets', {later = LATER}, {MNIST = MNIST, FashionMNIST = FashionMNIST})
