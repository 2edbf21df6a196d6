-- vision/datasets/vision_dataset.lua: VisionDataset: the base of all image data sets: root, transforms, and printing.

local args = require 'base.args'
local class = require 'base.class'
local data = require 'torch.utils.data'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local transforms = require 'vision.transforms'

local vision_dataset = {}

---Base of the data sets of images. A subclass keeps its images in `data` and its labels in `targets`, or defines
---`load(i)`, which returns both, and `len()`.
---
---```lua
---local torch = require 'torch'
---local datasets, T = require 'vision.datasets', require 'vision.transforms'
---local Dots = datasets.VisionDataset:extend('Dots')
---function Dots:init(options)
---  datasets.VisionDataset.init(self, nil, options)
---  self.data, self.targets = torch.zeros({4, 8, 8}, {dtype = 'uint8'}), torch.arange(4)
---end
---local image, label = Dots{transform = T.ToTensor()}:get(3)
---assert(image.shape[1] == 1 and label == 3)
---```
---@class vision.VisionDataset: data.Dataset
---@field root? string
---@field transform? fun(image: any): any
---@field target_transform? fun(label: integer): any
---@field data torch.Tensor uint8 (n, h, w) or (n, h, w, c)
---@field targets torch.Tensor int64 (n)
---@field classes string[] names of the classes, in the order of their labels
---@field class_to_idx table<string, integer> ordered map: name → label
local VisionDataset = data.Dataset:extend('VisionDataset')
VisionDataset.dtypes = {[2] = 'int64'}

---@param root? string
---@param options? {transform: fun(image: any): any, target_transform: fun(label: integer): any}
function VisionDataset:init(root, options)
  options = options or {}
  self.root, self.transform, self.target_transform = root, options.transform, options.target_transform
end

---Binds the arguments of a data set, in torchvision's order or by name.
---@param self vision.VisionDataset
---@param parameters (string|table)[] in the form of base.args.signature
---@param ... any
---@return table bound parameter name → value
function vision_dataset.bind(self, parameters, ...)
  local name = class.of(self).__name
  local given = args.signature(name, parameters):bind(...)
  if given.root ~= nil and type(given.root) ~= 'string' then
    errors.raise('argument', ('%s: root: expected a path, got %s'):format(name, type(given.root)))
  end
  return given
end

---Returns an ordered map from the name of each class to its label.
---@param classes string[]
---@return table<string, integer>
function vision_dataset.class_to_idx(classes)
  local map = ordered.new()
  for i, name in ipairs(classes) do map[name] = i - 1 end
  return map
end

function VisionDataset:len() return self.data:size(0) end

---Returns the image and the label as they are stored.
---@param i integer from 0
---@return torch.Tensor image
---@return integer label
function VisionDataset:load(i) return self.data:select(0, i), self.targets:select(0, i):item() end

---@param i integer from 0
---@return any image uint8 (h, w) or (h, w, c), or the transform's result
---@return any label integer, or target_transform's result
function VisionDataset:get(i)
  local image, label = self:load(i)
  if self.transform then image = self.transform(image) end
  if self.target_transform then label = self.target_transform(label) end
  return image, label
end

---Returns the transform for whole batches; nil if there is no such transform, or samples must be transformed one by
---one.
---@param self vision.VisionDataset
---@return nil|fun(images: torch.Tensor, indices?: torch.Tensor): torch.Tensor|nil
function vision_dataset.batch_transform(self)
  if self.target_transform then return nil end
  return self.transform == nil and transforms.identity or transforms.batched(self.transform)
end

-- Returns a whole batch if the images are in memory and the transform supports batches; nil otherwise.
function VisionDataset:get_batch(indices)
  local on_batch = self.data and vision_dataset.batch_transform(self)
  if not on_batch then return nil end
  local images = on_batch(self.data, indices)
  if images == nil then return nil end
  return images, self.targets:index_select(0, indices)
end

-- Returns further lines for print.
function VisionDataset:extra_repr()
  if self.train == nil then return {} end
  return {'Split: ' .. (self.train and 'Train' or 'Test')}
end

-- Adds 'Transform: ' before the first line of the printed transform, blanks before the others.
local function add_transform(lines, head, transform)
  for line in tostring(transform):gmatch '[^\n]+' do
    lines[#lines + 1] = head .. line
    head = (' '):rep(#head)
  end
end

local function transform_lines(self)
  if not self.transform and not self.target_transform then return {} end
  local lines = {'StandardTransform'}
  if self.transform then add_transform(lines, 'Transform: ', self.transform) end
  if self.target_transform then add_transform(lines, 'Target transform: ', self.target_transform) end
  return lines
end

function VisionDataset.__tostring(self)
  local lines = {'Number of datapoints: ' .. self:len()}
  if self.root then lines[2] = 'Root location: ' .. self.root end
  for _, list in ipairs{self:extra_repr(), transform_lines(self)} do
    for _, line in ipairs(list) do lines[#lines + 1] = line end
  end
  return 'Dataset ' .. class.of(self).__name .. '\n    ' .. table.concat(lines, '\n    ')
end

vision_dataset.VisionDataset = VisionDataset

return vision_dataset
