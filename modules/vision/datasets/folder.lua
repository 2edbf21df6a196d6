-- vision/datasets/folder.lua: DatasetFolder, ImageFolder: files in folders that are named after their classes.

local args = require 'base.args'
local base = require 'vision.datasets.vision_dataset'
local class = require 'base.class'
local errors = require 'base.errors'
local location = require 'vision.datasets.location'
local Strings = require 'torch.utils.data.strings'
local system = require 'base._system'
local torch = require 'torch'

local folder = {}

local IMG_EXTENSIONS = {'.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif', '.tiff', '.webp'}
-- Deeper folders are links that form a cycle.
local MAX_DEPTH = 32

local function has_extension(path, extensions)
  local lower = path:lower()
  for _, extension in ipairs(extensions) do
    if lower:sub(-#extension) == extension then return true end
  end
  return false
end

-- Collects the folder and all below it, following links, each with its files.
local function walk(path, found, depth)
  if depth > MAX_DEPTH then
    errors.raise('environment', ("cannot read '%s': folders within folders, %d deep: a link leads back"):format(path,
      MAX_DEPTH))
  end
  local files = {}
  for _, name in ipairs(system.list_folder(path)) do
    local entry = path .. '/' .. name
    if system.path_kind(entry) == 'folder' then walk(entry, found, depth + 1) else files[#files + 1] = entry end
  end
  found[#found + 1] = {path = path, files = files}
end

-- Returns the files below a folder: folder by folder, sorted by path, as in torchvision.
local function files_below(path)
  local found = {}
  walk(path, found, 1)
  table.sort(found, function(a, b) return a.path < b.path end)
  local list = {}
  for _, entry in ipairs(found) do
    for _, file in ipairs(entry.files) do list[#list + 1] = file end
  end
  return list
end

local function refuse_empty(name, empty, extensions)
  if #empty == 0 then return end
  local hint = extensions and '. Supported extensions are: ' .. table.concat(extensions, ', ') or ''
  errors.raise('not_found', ('%s: found no valid file for the classes %s%s: pass {allow_empty = true} if that is meant')
    :format(name, table.concat(empty, ', '), hint))
end

-- Returns the function that decides whether a file belongs to the data set.
local function validity(name, given)
  local extensions, is_valid = given.extensions, given.is_valid_file
  if (extensions == nil) == (is_valid == nil) then
    errors.raise('argument', name .. ': pass either extensions or is_valid_file')
  end
  if is_valid then return is_valid end
  extensions = type(extensions) == 'string' and {extensions} or extensions
  return function(path) return has_extension(path, extensions) end, extensions
end

---Loads files in folders named after their classes: root/dog/xxx.ext, root/cat/more/yyy.ext.
---Arguments: root, loader, extensions, {transform, target_transform, is_valid_file, allow_empty = false}. Classes are
---sorted by name, samples by class, folder and name; folders are searched recursively. Either `extensions` (a list
---like {'.wav'}, case does not matter) or `is_valid_file(path)` must be given.
---
---```lua
---local datasets, system = require 'vision.datasets', require 'base._system'
---local root = system.make_temp 'words'
---for _, name in ipairs{'long', 'short'} do
---  system.make_folders(root .. '/' .. name)
---  local file = io.open(root .. '/' .. name .. '/it.txt', 'w')
---  file:write(name)
---  file:close()
---end
---local set = datasets.DatasetFolder(root, function(path) return io.open(path):read '*a' end, {'.txt'})
---assert(#set == 2 and set.classes[2] == 'short' and set.class_to_idx.short == 1 and set:get(1) == 'short')
---system.remove_tree(root)
---```
---@class vision.DatasetFolder: vision.VisionDataset
---@overload fun(root: string, loader: function, extensions?: string[], options?: table): vision.DatasetFolder
---@field classes string[]
---@field class_to_idx table<string, integer> ordered map: name → label
---@field samples any[][] list of {path, label}
---@field targets torch.Tensor int64 (n)
---@field loader fun(path: string): any
local DatasetFolder = base.VisionDataset:extend('DatasetFolder')

-- Paths are stored as one run of bytes, which worker threads share; the list of all samples is made on access.
function DatasetFolder.__index(fields, key)
  if key ~= 'samples' and key ~= 'imgs' then return getmetatable(fields)[key] end
  local paths, labels, list = rawget(fields, '_paths'), rawget(fields, 'targets'):tolist(), {}
  for i = 1, paths:len() do list[i] = {paths:value(i - 1), labels[i]} end
  rawset(fields, 'samples', list)
  rawset(fields, 'imgs', list)
  return list
end

-- Leaves out fields that can be made again.
function DatasetFolder.__pack(self)
  local module, name, state = class.pack(self)
  state.fields.samples, state.fields.imgs = nil, nil
  return module, name, state
end

local signature = args.signature('DatasetFolder', {'root', 'loader', {'extensions'}, {'transform'}, {'target_transform'},
  {'is_valid_file'}, {'allow_empty', false}})

function DatasetFolder:init(...)
  local given = signature:bind(...)
  folder._init(self, given)
end

---Returns the classes below a folder; a subclass may return others.
---@param directory string
---@return string[] classes sorted
---@return table<string, integer> class_to_idx ordered map
function DatasetFolder:find_classes(directory) -- luacheck: ignore self
  local classes = {}
  for _, name in ipairs(system.list_folder(directory)) do
    if system.path_kind(directory .. '/' .. name) == 'folder' then classes[#classes + 1] = name end
  end
  if #classes == 0 then
    errors.raise('not_found', ("Couldn't find any class folder in %s"):format(directory))
  end
  return classes, base.class_to_idx(classes)
end

-- Returns paths and labels of the valid files of all classes.
local function find_samples(self, given)
  local name = class.of(self).__name
  local is_valid, extensions = validity(name, given)
  local paths, labels, empty = {}, {}, {}
  local classes = {unpack(self.classes)}
  table.sort(classes)
  for _, class_name in ipairs(classes) do
    local before = #paths
    local path = given.root .. '/' .. class_name
    for _, file in ipairs(system.path_kind(path) == 'folder' and files_below(path) or {}) do
      if is_valid(file) then
        paths[#paths + 1], labels[#labels + 1] = file, self.class_to_idx[class_name]
      end
    end
    if #paths == before then empty[#empty + 1] = class_name end
  end
  if not given.allow_empty then refuse_empty(name, empty, extensions) end
  return paths, labels
end

function folder._init(self, given)
  local name = class.of(self).__name
  if type(given.root) ~= 'string' then
    errors.raise('argument', ('%s: root: expected a path, got %s'):format(name, type(given.root)))
  end
  given.root = location.expand_home(given.root)
  if system.path_kind(given.root) ~= 'folder' then
    errors.raise('not_found', ("%s: there is no folder '%s'"):format(name, given.root))
  end
  base.VisionDataset.init(self, given.root, given)
  self.loader, self.extensions = given.loader, given.extensions
  self.classes, self.class_to_idx = self:find_classes(given.root)
  local paths, labels = find_samples(self, given)
  self._paths = Strings.from_list(paths)
  self.targets = torch.tensor(labels, {dtype = 'int64'})
end

function DatasetFolder:len() return self._paths:len() end

---Returns the loader's result for file i, and its label.
---@param i integer from 0
---@return any sample
---@return integer label
function DatasetFolder:load(i)
  if i < 0 or i >= self:len() then
    errors.raise('argument', ('%s: index %s is out of range for %d samples'):format(class.of(self).__name, i, self:len()))
  end
  return self.loader(self._paths:value(i)), self.targets:select(0, i):item()
end

-- Loads a JPEG or PNG file as uint8 (h, w, 3).
local function default_loader(path)
  return require('torch._C').data.decode_image(path, {mode = 'RGB'}):permute{1, 2, 0}
end

---Images in folders named after their classes. Arguments: root, {transform, target_transform, loader, is_valid_file,
---allow_empty = false, size}; see DatasetFolder. The loader reads JPEG and PNG files as RGB, uint8 (h, w, 3);
---files with the extensions of other image formats are listed too, as in torchvision, and loading them raises an error.
---
---With `size`, a number or {height, width}, all images get that size: a JPEG is decoded at 1/2, 1/4 or 1/8 if
---that is not smaller, then an antialiased bilinear filter is applied (see `vision.io.decode_image`), and
---whole batches are transformed at once.
---
---```lua
---local torch = require 'torch'
---local datasets, T = require 'vision.datasets', require 'vision.transforms'
---local io, system = require 'vision.io', require 'base._system'
---local root = system.make_temp 'pets'
---for _, name in ipairs{'cat', 'dog'} do
---  system.make_folders(root .. '/' .. name)
---  io.write_png(torch.zeros({3, 20, 30}, {dtype = 'uint8'}), root .. '/' .. name .. '/1.png')
---end
---local set = datasets.ImageFolder(root, {transform = T.ToTensor(), size = 16})
---local x, y = torch.utils.data.DataLoader(set, {batch_size = 2}):iter()()
---assert(x.shape[2] == 3 and x.shape[4] == 16 and y:tolist()[2] == 1)
---system.remove_tree(root)
---```
---@class vision.ImageFolder: vision.DatasetFolder
---@overload fun(root: string, options?: table): vision.ImageFolder
---@field imgs any[][] the same as samples
local ImageFolder = DatasetFolder:extend('ImageFolder')

local image_signature = args.signature('ImageFolder', {'root', {'transform'}, {'target_transform'}, {'loader'},
  {'is_valid_file'}, {'allow_empty', false}, {'size'}})

function ImageFolder:init(...)
  local given = image_signature:bind(...)
  if given.size and given.loader then
    errors.raise('argument', 'ImageFolder: size is for the loader it brings: leave out size or loader')
  end
  if not given.is_valid_file then given.extensions = IMG_EXTENSIONS end
  self.size = type(given.size) == 'number' and {given.size, given.size} or given.size
  given.loader = given.loader or default_loader
  folder._init(self, given)
end

---Returns image i and its label.
---@param i integer from 0
---@return any image uint8 (h, w, 3), or the loader's result
---@return integer label
function ImageFolder:load(i)
  if not self.size then return DatasetFolder.load(self, i) end
  local image = require('torch._C').data.decode_files({self._paths:value(i)}, {size = self.size})
  return image:select(0, 0), self.targets:select(0, i):item()
end

-- Transforms images of one size together.
function ImageFolder:get_batch(indices)
  local on_batch = self.size and not self._one_by_one and base.batch_transform(self)
  if not on_batch then return nil end
  local paths = {}
  for i, index in ipairs(indices:tolist()) do paths[i] = self._paths:value(index) end
  local images = on_batch(require('torch._C').data.decode_files(paths, {size = self.size}))
  if images == nil then
    self._one_by_one = true  -- skips the attempt for the next batches
    return nil
  end
  return images, self.targets:index_select(0, indices)
end

folder.DatasetFolder, folder.ImageFolder = DatasetFolder, ImageFolder

return folder
