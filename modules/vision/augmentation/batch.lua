-- vision/augmentation/batch.lua: checks the batches for augmentations, and draws their random numbers.

local errors = require 'base.errors'
local image = require 'vision.transforms.image'
local torch = require 'torch'
local transform = require 'vision.transforms.transform'

local batch = {}

-- Describes the error in a value that is not a batch.
local function described(images)
  if not torch.is_tensor(images) then return 'a ' .. type(images) end
  local shape = 'shape ' .. tostring(images.shape)
  if images:dim() == 3 then return shape .. ': for single images there is vision.transforms' end
  if images:dim() == 4 then return shape .. ': images:movedim(-1, 1) brings the channels forward' end
  return shape
end

local function check(name, images)
  if torch.is_tensor(images) and images:dim() == 4 and not image.is_channels_last(images) then return images end
  errors.raise('argument', ('%s: expected a batch of images (n, c, h, w), got %s'):format(name, described(images)))
end

---Makes a class of augmentations. Define `_change(images)` for it, which gets (n, c, h, w).
---@param name string
---@param parameters (string|table)[] in the form of args.signature
---@param check_fields? fun(self: table)
---@param shown? string[] the fields that are printed
---@return table class
function batch.define(name, parameters, check_fields, shown)
  local Class = transform.define(name, parameters, check_fields, shown)
  function Class:forward(images)
    return self:_change(check(name, images))
  end
  return Class
end

---Returns a number of [0, 1) for each sample.
---@param images torch.Tensor
---@param generator? userdata of the images' device
---@return torch.Tensor (n) float32
function batch.reals(images, generator)
  return torch.rand({images:size(0)}, {dtype = 'float32', device = images.device, generator = generator})
end

---Returns an integer from `low` to `high` - 1 for each sample.
---@param images torch.Tensor
---@param low integer
---@param high integer
---@param generator? userdata of the images' device
---@return torch.Tensor (n, 1) int64
function batch.integers(images, low, high, generator)
  return torch.randint(low, high, {images:size(0), 1}, {device = images.device, generator = generator})
end

return batch
