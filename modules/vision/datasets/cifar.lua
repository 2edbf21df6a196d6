-- vision/datasets/cifar.lua: CIFAR-10 and CIFAR-100, from Parquet files or the original binary batches.

local base = require 'vision.datasets.vision_dataset'
local class = require 'base.class'
local download = require 'vision.datasets.download'
local errors = require 'base.errors'
local location = require 'vision.datasets.location'
local system = require 'base._system'
local torch = require 'torch'

local cifar = {}

local SIDE, PIXELS = 32, 3 * 32 * 32
local ROWS_AT_ONCE = 4096

local Cifar = base.VisionDataset:extend('Cifar')

local PARAMETERS = {{'root'}, {'train', true}, {'transform'}, {'target_transform'}, {'download', false}}

local function refuse(self, path, what)
  errors.raise('environment', ("%s: cannot read '%s': %s"):format(class.of(self).__name, path, what))
end

-- Returns the files of the split among the folder's entries, in order: 'train-00000-of-00005.parquet', ….
local function parquet_files(folder, split)
  local list = {}
  if system.path_kind(folder) ~= 'folder' then return list end
  for _, name in ipairs(system.list_folder(folder)) do
    if name:match('^' .. split .. '[-.].*parquet$') then list[#list + 1] = folder .. '/' .. name end
  end
  return list
end

local function all_files(folder, names)
  local list = {}
  for i, name in ipairs(names) do
    list[i] = folder .. '/' .. name
    if not location.is_file(list[i]) then return {} end
  end
  return list
end

-- Returns index and batches of the columns of images and labels of one Parquet file.
local function columns_of(self, reader, path)
  local image, label
  for _, field in ipairs(reader:schema()) do
    if field.type == 'image' then image = image or field.name end
    for _, name in ipairs(self._label_columns) do
      if field.name == name then label = name end
    end
  end
  if image and label then return {image, label} end
  return refuse(self, path, ('it has no column of images, or none named %s'):format(
    table.concat(self._label_columns, ' or ')))
end

-- Decodes one batch of rows: images uint8 (n, 32, 32, 3) and labels int64 (n).
local function decode_rows(self, path, place, batch)
  local C = require('torch._C').data
  local names, columns = C.from_arrow(batch)
  local images, labels = columns[1], columns[2]
  if names[1] ~= self._columns[1] then images, labels = labels, images end
  local ok, pixels = pcall(C.decode_images, images.offsets, images.bytes, {mode = 'RGB'})
  if not ok then
    refuse(self, path, ('%s: %s'):format(place, errors.wrap(pixels).message))
  end
  if not torch.is_tensor(pixels) or pixels:size(1) ~= SIDE or pixels:size(2) ~= SIDE then
    refuse(self, path, place .. ': images are not all of 32 × 32 pixels')
  end
  if not torch.is_tensor(labels) or labels:is_floating_point() then refuse(self, path, place .. ': a label is missing') end
  return pixels, labels:long()
end

local function read_parquet(self, path, images, labels)
  local reader = require('base._arrow').open_parquet(path)
  self._columns = columns_of(self, reader, path)
  for group = 0, reader:num_row_groups() - 1 do
    local cursor = reader:read(group, self._columns, ROWS_AT_ONCE)
    local first = 0
    for batch in function() return cursor:next() end do
      local place = ('row group %d, rows from %d on'):format(group, first)
      images[#images + 1], labels[#labels + 1] = decode_rows(self, path, place, batch)
      first = first + images[#images]:size(0)
    end
  end
end

-- Reads records of labels, then 1024 bytes each of red, green and blue.
local function read_binary(self, path, images, labels)
  local bytes = require('torch._C').data.read_file(path)
  local record = self._label_bytes + PIXELS
  if #bytes == 0 or #bytes % record ~= 0 then
    refuse(self, path, ('its %d bytes are not a multiple of the %d of a record: it is truncated, or another file'):format(
      #bytes, record))
  end
  local rows = bytes:view(-1, record)
  labels[#labels + 1] = rows:select(1, self._label_bytes - 1):long()
  images[#images + 1] = rows:narrow(1, self._label_bytes, PIXELS):reshape(-1, 3, SIDE, SIDE):permute{0, 2, 3, 1}
end

-- Returns the files in the folder and their reader; nil if the folder has neither kind of files.
local function files_in(self, folder)
  local parquet = parquet_files(folder, self.train and 'train' or 'test')
  if #parquet > 0 then return parquet, read_parquet end
  local binary = all_files(folder, self.train and self._binary.train or self._binary.test)
  if #binary > 0 then return binary, read_binary end
  if #all_files(folder, self.train and self._pickled.train or self._pickled.test) > 0 then
    errors.raise('unsupported', ('%s: %s holds the version for Python, which are pickles: fetch the binary version (%s) '
      .. 'or Parquet files'):format(class.of(self).__name, folder, self._archive))
  end
  return nil
end

local function folders_of(self, root) return location.folders(root, self._subfolders, {folders = self._data_folders}) end

local function has_files(self, root)
  for _, folder in ipairs(folders_of(self, root)) do
    if files_in(self, folder) then return true end
  end
  return false
end

local function locate(self, root)
  local name = class.of(self).__name
  local tried = folders_of(self, root)
  for _, folder in ipairs(tried) do
    local files, read = files_in(self, folder)
    if files then return folder, files, read end
  end
  local split = self.train and 'train' or 'test'
  return location.refuse_missing(name, ('%s-*.parquet or %s'):format(split, self._binary[split][1]), tried,
    ('the folder that holds %s/ or pass {root = …}'):format(self._data_folders[1]))
end

local function check_labels(self)
  if self.targets:min():item() >= 0 and self.targets:max():item() < #self.classes then return end
  refuse(self, self.folder, ('it has labels outside of 0 … %d'):format(#self.classes - 1))
end

function Cifar:init(...)
  local given = base.bind(self, PARAMETERS, ...)
  self.train = given.train
  if given.download and not has_files(self, given.root) then
    download.fetch(class.of(self).__name, self._data_folders[1], given.root, {
      {file = self._archive, md5 = self._md5, unpack = true}})
  end
  local files, read
  self.folder, files, read = locate(self, given.root)
  base.VisionDataset.init(self, self.folder, given)
  local images, labels = {}, {}
  for _, path in ipairs(files) do read(self, path, images, labels) end
  self.data, self.targets = torch.cat(images):contiguous(), torch.cat(labels)
  self.class_to_idx = base.class_to_idx(self.classes)
  check_labels(self)
end

---Small photographs: 50,000 for training and 10,000 for testing. Arguments: {root, train = true, transform,
---target_transform, download = false}, by position or by name. Searches `root` if given, else $RTRAIN_DATA/cifar10, for
---Parquet files (train-*.parquet, with a column of images and a column named label) and for the original binary batches
---(data_batch_1.bin, …), also in cifar-10-batches-bin below it. All images are decoded once. `.folder` is the folder
---that was used.
---With `download`, if no files are found, the binary batches are fetched from the mirror $RTRAIN_DATA_URL as
---cifar10/cifar-10-binary.tar.gz, and their MD5 is compared with the publisher's.
---Raises code 'environment' with all searched folders if there are no files, and with the file if one is
---damaged; 'unsupported' for the version for Python.
---@class vision.CIFAR10: vision.VisionDataset
---@overload fun(root?: string, train?: boolean, transform?: function, target_transform?: function): vision.CIFAR10
---@field data torch.Tensor uint8 (n, 32, 32, 3)
---@field targets torch.Tensor int64 (n)
---@field folder string
local CIFAR10 = Cifar:extend('CIFAR10')
CIFAR10.classes = {'airplane', 'automobile', 'bird', 'cat', 'deer', 'dog', 'frog', 'horse', 'ship', 'truck'}
CIFAR10._data_folders = {'cifar10', 'cifar10/cifar-10-batches-bin', 'cifar-10-batches-bin'}
CIFAR10._subfolders = {'cifar10', 'cifar10/cifar-10-batches-bin', 'cifar-10-batches-bin', 'cifar-10-batches-py'}
CIFAR10._label_columns, CIFAR10._label_bytes = {'label', 'labels'}, 1
CIFAR10._binary = {test = {'test_batch.bin'}, train = {'data_batch_1.bin', 'data_batch_2.bin', 'data_batch_3.bin',
                                                      'data_batch_4.bin', 'data_batch_5.bin'}}
CIFAR10._pickled = {test = {'test_batch'}, train = {'data_batch_1'}}
CIFAR10._archive, CIFAR10._md5 = 'cifar-10-binary.tar.gz', 'c32a1d4ab5d03f1284b67883e8d87530'

---The same with 100 classes. Searches $RTRAIN_DATA/cifar100; the label is the fine_label of a Parquet file, or the
---second byte of a binary record.
---@class vision.CIFAR100: vision.CIFAR10
---@overload fun(root?: string, train?: boolean, transform?: function, target_transform?: function): vision.CIFAR100
local CIFAR100 = Cifar:extend('CIFAR100')
CIFAR100._data_folders = {'cifar100', 'cifar100/cifar-100-binary', 'cifar-100-binary'}
CIFAR100._subfolders = {'cifar100', 'cifar100/cifar-100-binary', 'cifar-100-binary', 'cifar-100-python'}
CIFAR100._label_columns, CIFAR100._label_bytes = {'fine_label', 'label'}, 2
CIFAR100._binary = {train = {'train.bin'}, test = {'test.bin'}}
CIFAR100._pickled = {train = {'train', 'meta'}, test = {'test', 'meta'}}
CIFAR100._archive, CIFAR100._md5 = 'cifar-100-binary.tar.gz', '03b5dce01913d631647c71ecec9e9cb8'
CIFAR100.classes = {}
for name in ([[
  apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle
  caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant flatfish
  forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle
  mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine
  possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake spider squirrel streetcar
  sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle wardrobe whale
  willow_tree wolf woman worm]]):gmatch '%S+' do
  CIFAR100.classes[#CIFAR100.classes + 1] = name
end

cifar.CIFAR10, cifar.CIFAR100 = CIFAR10, CIFAR100

return cifar
