-- vision/datasets/fake_data.lua: FakeData: images of noise, for test runs without data.

local args = require 'base.args'
local base = require 'vision.datasets.vision_dataset'
local errors = require 'base.errors'
local torch = require 'torch'

---Random images with random labels; image i depends only on i and random_offset, and equals torchvision's. Arguments:
---{size = 1000, image_size = {3, 224, 224} (channels, height, width), num_classes = 10, transform, target_transform,
---random_offset = 0}.
---
---```lua
---local datasets = require 'vision.datasets'
---local fakes = datasets.FakeData{size = 8, image_size = {3, 16, 12}}
---local image, label = fakes:get(0)
---assert(#fakes == 8 and image.shape[1] == 16 and image.shape[3] == 3 and label < 10)
---```
---@class vision.FakeData: vision.VisionDataset
---@overload fun(options?: table): vision.FakeData
local FakeData = base.VisionDataset:extend('FakeData')

local signature = args.signature('FakeData', {{'size', 1000}, {'image_size', {3, 224, 224}}, {'num_classes', 10},
  {'transform'}, {'target_transform'}, {'random_offset', 0}})

function FakeData:init(...)
  local given = signature:bind(...)
  if type(given.image_size) ~= 'table' or #given.image_size ~= 3 then
    errors.raise('argument', 'FakeData: image_size: expected {channels, height, width}')
  end
  base.VisionDataset.init(self, nil, given)
  self.size, self.image_size, self.num_classes = given.size, given.image_size, given.num_classes
  self.random_offset = given.random_offset
end

function FakeData:len() return self.size end

---Returns image i and its label.
---@param i integer from 0
---@return torch.Tensor image uint8 (h, w, c)
---@return integer label
function FakeData:load(i)
  if i < 0 or i >= self.size then
    errors.raise('argument', ('FakeData: index %s is out of range for %d samples'):format(i, self.size))
  end
  local generator = torch.Generator():manual_seed(i + self.random_offset)
  local image = torch.randn(self.image_size, {generator = generator})
  local label = torch.randint(0, self.num_classes, {1}, {generator = generator}):item()
  -- Values below 0 and above 1 wrap around, as in torchvision's conversion to bytes.
  return image:mul_(255):to('int64'):bitwise_and_(255):to('uint8'):permute{1, 2, 0}:contiguous(), label
end

return {FakeData = FakeData}
