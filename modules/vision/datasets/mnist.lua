-- vision/datasets/mnist.lua: MNIST and data sets of the same form: local idx files, plain or .gz.

local args = require 'base.args'
local base = require 'vision.datasets.vision_dataset'
local class = require 'base.class'
local download = require 'vision.datasets.download'
local errors = require 'base.errors'
local location = require 'vision.datasets.location'

local mnist = {}

local FILES = {
  train = {'train-images-idx3-ubyte', 'train-labels-idx1-ubyte'},
  test = {'t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'},
}

-- Returns the file in the folder, plain or compressed; nil if there is none.
local function find_file(folder, name)
  for _, path in ipairs{folder .. '/' .. name, folder .. '/' .. name .. '.gz'} do
    if location.is_file(path) then return path end
  end
  return nil
end

local function locate(self, root, names)
  local name = class.of(self).__name
  local tried = location.folders(root, {self._folder, name .. '/raw'},
    {folders = {self._folder}, package_folder = self._package_folder})
  for _, folder in ipairs(tried) do
    local images, labels = find_file(folder, names[1]), find_file(folder, names[2])
    if images and labels then return folder, images, labels end
  end
  local package = self._package and (' or install the Debian package ' .. self._package) or ''
  return location.refuse_missing(name, ('%s[.gz] and %s[.gz]'):format(names[1], names[2]), tried,
    ('the folder that holds %s/, pass {root = …}%s'):format(self._folder, package))
end

local Idx = base.VisionDataset:extend('Idx')

local PARAMETERS = {{'root'}, {'train', true}, {'transform'}, {'target_transform'}, {'download', false}}

-- Reads the images and the labels from the two files.
local function read(self, root, names)
  local name = class.of(self).__name
  local images, labels
  self.folder, images, labels = locate(self, root, names)
  local C = require 'torch._C'
  self.data, self.targets = C.read_idx(images), C.read_idx(labels):long()
  if self.data.dtype ~= 'uint8' or self.data:dim() ~= 3 or self.targets:dim() ~= 1
    or self.data:size(0) ~= self.targets:size(0) then
    errors.raise('environment', ('%s: %s and %s do not belong together'):format(name, images, labels))
  end
end

-- Returns the archives of the split, with one file each.
local function archives_of(self)
  local list = {}
  for i, file in ipairs(self:_files()) do
    local md5 = self._md5 and self._md5[file]
    if not md5 then location.refuse_download(class.of(self).__name) end
    list[i] = {file = file .. '.gz', md5 = md5, holds = {file}}
  end
  return list
end

local function init(self, given)
  self.train = given.train
  if given.download then download.fetch(class.of(self).__name, self._folder, given.root, archives_of(self)) end
  read(self, given.root, self:_files())
  base.VisionDataset.init(self, self.folder, given)
  self.class_to_idx = base.class_to_idx(self.classes)
end

function Idx:_files() return FILES[self.train and 'train' or 'test'] end

function Idx:init(...) init(self, base.bind(self, PARAMETERS, ...)) end

---Handwritten digits: 60,000 training and 10,000 test images. Arguments: {root, train = true, transform,
---target_transform, download = false}, by position or by name. Searches below `root` if given, else in
---$RTRAIN_DATA/mnist; `.folder` is the folder that was used. With `download` missing files are fetched from the mirror
---$RTRAIN_DATA_URL, as mnist/train-images-idx3-ubyte.gz and so on, and its MD5 is compared with torchvision's. Raises
---code 'environment' with all searched folders if the files are missing or damaged.
---@class vision.MNIST: vision.VisionDataset
---@overload fun(root?: string, train?: boolean, transform?: function, target_transform?: function): vision.MNIST
---@field data torch.Tensor uint8 (n, 28, 28)
---@field targets torch.Tensor int64 (n)
---@field folder string
local MNIST = Idx:extend('MNIST')
MNIST._folder = 'mnist'
MNIST._md5 = {
  ['train-images-idx3-ubyte'] = 'f68b3c2dcbeaaa9fbdd348bbdeb94873',
  ['train-labels-idx1-ubyte'] = 'd53e105ee54ea40749a09fcbcd1e9432',
  ['t10k-images-idx3-ubyte'] = '9fb629c4189551a2d022fa330f9573f3',
  ['t10k-labels-idx1-ubyte'] = 'ec29112dd5afa0611ce80d1b7f02629c',
}
MNIST.classes = {'0 - zero', '1 - one', '2 - two', '3 - three', '4 - four', '5 - five', '6 - six', '7 - seven',
                 '8 - eight', '9 - nine'}

---Images of clothes, in the form of MNIST. Arguments as MNIST; searches below `root` if given, else in
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
---@overload fun(root?: string, train?: boolean, transform?: function, target_transform?: function): vision.FashionMNIST
local FashionMNIST = Idx:extend('FashionMNIST')
FashionMNIST._folder = 'fashion-mnist'
FashionMNIST._md5 = {
  ['train-images-idx3-ubyte'] = '8d4fb7e6c68d591d4c3dfef9ec88bf0d',
  ['train-labels-idx1-ubyte'] = '25c81989df183df01b3e8a0aad5dffbe',
  ['t10k-images-idx3-ubyte'] = 'bef4ecab320f06d8554ea6380940ec79',
  ['t10k-labels-idx1-ubyte'] = 'bb300cfdad3c16e7a12a480ee83cd310',
}
FashionMNIST._package_folder = '/usr/share/datasets/fashion-mnist'
FashionMNIST._package = 'dataset-fashion-mnist'
FashionMNIST.classes = {'T-shirt/top', 'Trouser', 'Pullover', 'Dress', 'Coat', 'Sandal', 'Shirt', 'Sneaker', 'Bag',
                        'Ankle boot'}

---Handwritten Japanese characters, in the form of MNIST. Arguments as MNIST; searches below `root` if given, else in
---$RTRAIN_DATA/kmnist.
---@class vision.KMNIST: vision.MNIST
---@overload fun(root?: string, train?: boolean, transform?: function, target_transform?: function): vision.KMNIST
local KMNIST = Idx:extend('KMNIST')
KMNIST._folder = 'kmnist'
KMNIST._md5 = {
  ['train-images-idx3-ubyte'] = 'bdb82020997e1d708af4cf47b453dcf7',
  ['train-labels-idx1-ubyte'] = 'e144d726b3acfaa3e44228e80efcd344',
  ['t10k-images-idx3-ubyte'] = '5c965bf0a639b31b8f53240b1b52f4d7',
  ['t10k-labels-idx1-ubyte'] = '7320c461ea6c1c855c0b718fb2a4b134',
}
KMNIST.classes = {'o', 'ki', 'su', 'tsu', 'na', 'ha', 'ma', 'ya', 're', 'wo'}

---Handwritten letters and digits, in the form of MNIST. Arguments: {root, split, train = true, transform,
---target_transform}, by position or by name, with split one of 'byclass', 'bymerge', 'balanced', 'letters', 'digits',
---'mnist'. Searches below `root` if given, else in $RTRAIN_DATA/emnist. Images are transposed, as in the files and in
---torchvision.
---@class vision.EMNIST: vision.MNIST
---@overload fun(root?: string, split: string, train?: boolean, transform?: function): vision.EMNIST
---@field split string
local EMNIST = Idx:extend('EMNIST')
EMNIST._folder = 'emnist'

local SPLITS = {'byclass', 'bymerge', 'balanced', 'letters', 'digits', 'mnist'}

local function characters(text)
  local list = {}
  for character in text:gmatch '.' do list[#list + 1] = character end
  return list
end

local DIGITS, CAPITALS, LOWER = '0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'
-- Letters whose upper and lower case look alike are one class.
local MERGED = characters(DIGITS .. CAPITALS .. 'abdefghnqrt')
local CLASSES = {
  byclass = characters(DIGITS .. CAPITALS .. LOWER), bymerge = MERGED, balanced = MERGED,
  letters = {'N/A', unpack(characters(LOWER))}, digits = characters(DIGITS), mnist = characters(DIGITS),
}

local EMNIST_PARAMETERS = {{'root'}, {'split'}, {'train', true}, {'transform'}, {'target_transform'}, {'download', false}}

function EMNIST:init(...)
  local given = base.bind(self, EMNIST_PARAMETERS, ...)
  if given.split == nil then
    errors.raise('argument', "EMNIST: missing argument 'split': one of " .. table.concat(SPLITS, ', '))
  end
  self.split = args.one_of('EMNIST: split', given.split, SPLITS)
  self.classes = CLASSES[given.split]
  init(self, given)
end

function EMNIST:_files()
  local stem = ('emnist-%s-%s-'):format(self.split, self.train and 'train' or 'test')
  return {stem .. 'images-idx3-ubyte', stem .. 'labels-idx1-ubyte'}
end

mnist.MNIST, mnist.FashionMNIST, mnist.KMNIST, mnist.EMNIST = MNIST, FashionMNIST, KMNIST, EMNIST

return mnist
