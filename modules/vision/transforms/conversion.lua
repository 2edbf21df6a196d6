-- vision/transforms/conversion.lua: ToTensor, PILToTensor, ToPILImage, ConvertImageDtype.

local errors = require 'base.errors'
local F = require 'vision.transforms.functional.conversion'
local image_layout = require 'vision.transforms.image'
local transform = require 'vision.transforms.transform'

---Converts an image uint8 (h, w) or (h, w, c) in 0 … 255 to floats of the default dtype, (c, h, w) in 0 … 1. Images of
---other dtypes keep their numbers.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---local x = T.ToTensor()(torch.full({28, 28}, 255, {dtype = 'uint8'}))
---assert(x.shape[1] == 1 and x:max():item() == 1 and x.dtype == 'float32')
---```
---@class vision.ToTensor
---@overload fun(): vision.ToTensor
local ToTensor = transform.define('ToTensor', {})
ToTensor.takes_batches, ToTensor.makes_tensors = true, true

function ToTensor:forward(image) return F.to_tensor(image) end

---Converts a batch that already has the layout (n, c, h, w): only its numbers change.
---@param images torch.Tensor
---@return torch.Tensor
function ToTensor:batch(images)
  return images.dtype == 'uint8' and F.convert_image_dtype(images, require('torch').get_default_dtype()) or images
end

function ToTensor:fuse(plan)
  return plan:to_tensor(function(levels) return self:batch(levels) end)
end

---Converts an image (h, w) or (h, w, c) to (c, h, w); dtype and numbers stay.
---@class vision.PILToTensor
---@overload fun(): vision.PILToTensor
local PILToTensor = transform.define('PILToTensor', {})
PILToTensor.takes_batches, PILToTensor.makes_tensors = true, true

function PILToTensor:forward(image) return F.pil_to_tensor(image) end

---Returns a batch that already has the layout (n, c, h, w) unchanged.
---@param images torch.Tensor
---@return torch.Tensor
function PILToTensor:batch(images) return images end

function PILToTensor:fuse(plan)
  return plan:to_tensor(function(levels) return levels end)
end

---Converts (c, h, w) to uint8 (h, w, c), or (h, w) for one channel, the layout of datasets and of ToTensor's input.
---Since there are no PIL images, `mode` can only be the mode for the number of channels. Arguments: mode (nil).
---@class vision.ToPILImage
---@overload fun(): vision.ToPILImage
local ToPILImage = transform.define('ToPILImage', {{'mode'}}, function(self)
  F._check_mode('ToPILImage', self.mode)
end, {})

function ToPILImage:forward(image) return F.to_pil_image(image) end

---Converts the image to another dtype and scales its levels to that dtype's range. Arguments: dtype.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.ConvertImageDtype('float32')(torch.full({3, 2, 2}, 51, {dtype = 'uint8'})):max():item() > 0.19)
---```
---@class vision.ConvertImageDtype
---@overload fun(dtype: torch.dtype): vision.ConvertImageDtype
local ConvertImageDtype = transform.define('ConvertImageDtype', {'dtype'}, function(self)
  if type(self.dtype) ~= 'string' then
    errors.raise('argument', ('ConvertImageDtype: expected a dtype, got a %s'):format(type(self.dtype)))
  end
end, {})
ConvertImageDtype.takes_batches = true

function ConvertImageDtype:forward(image)
  -- With a dtype other than uint8 the result would be read as (c, h, w).
  if image_layout.is_channels_last(image_layout.check('ConvertImageDtype', image)) then
    errors.raise('argument', ('ConvertImageDtype: expected (…, c, h, w), got shape %s: put PILToTensor before it'):format(
      tostring(image.shape)))
  end
  return F.convert_image_dtype(image, self.dtype)
end

function ConvertImageDtype:fuse(plan)
  return plan:change_tensor(function(levels) return self:forward(levels) end)
end

return {ToTensor = ToTensor, PILToTensor = PILToTensor, ToPILImage = ToPILImage, ConvertImageDtype = ConvertImageDtype}
