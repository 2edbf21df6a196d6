-- vision/augmentation/normalize.lua: converts bytes or floats of a batch to normalized floats in one operation.

local batch = require 'vision.augmentation.batch'
local errors = require 'base.errors'
local image = require 'vision.transforms.image'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'

---Computes (x - mean) / std for each channel; bytes are first divided by 255, so mean and std are those after
---torchvision's ToTensor. Arguments: mean, std (lists, or a number for all channels), dtype = 'float32' (of the
---result). Images (n, c, h, w) of bytes or floats, on any device.
---
---```lua
---local torch = require 'torch'
---local augmentation = require 'vision.augmentation'
---local images = torch.full({8, 3, 4, 4}, 255, {dtype = 'uint8'})
---assert(torch.allclose(augmentation.Normalize(0.5, 0.25)(images), torch.full({8, 3, 4, 4}, 2)))
---```
---@class vision.augmentation.Normalize
---@overload fun(mean: number|number[], std: number|number[], options?: table): vision.augmentation.Normalize
local Normalize = batch.define('Normalize', {'mean', 'std', {'dtype', 'float32'}}, function(self)
  self.mean, self.std = sizes.of_channels('Normalize: mean', self.mean), sizes.of_channels('Normalize: std', self.std)
  for _, std in ipairs(self.std) do
    if std == 0 then errors.raise('argument', 'Normalize: std must not be 0') end
  end
  self._factors = {}
end)

local function check_channels(self, images)
  for _, name in ipairs{'mean', 'std'} do
    local count = #self[name]
    if count ~= 1 and count ~= images:size(1) then
      errors.raise('argument', ('Normalize: %s has %d values %s, the images %d channels: shape %s'):format(name, count,
        sizes.text(self[name]), images:size(1), tostring(images.shape)))
    end
  end
end

-- Returns scale and shift of x · scale + shift, (c, 1, 1) on the device. They are kept there: a copy for each batch
-- would wait for the device.
local function factors_of(self, device, most)
  local key = device .. ' ' .. most
  if self._factors[key] then return unpack(self._factors[key]) end
  local scale, shift = {}, {}
  for i = 1, math.max(#self.mean, #self.std) do
    local mean, std = self.mean[#self.mean == 1 and 1 or i], self.std[#self.std == 1 and 1 or i]
    scale[i], shift[i] = 1 / (std * most), -mean / std
  end
  local like = {dtype = 'float32', device = device}
  self._factors[key] = {torch.tensor(scale, like):view{-1, 1, 1}, torch.tensor(shift, like):view{-1, 1, 1}}
  return unpack(self._factors[key])
end

function Normalize:_change(images)
  check_channels(self, images)
  if not images:is_floating_point() and images.dtype ~= 'uint8' then
    errors.raise('argument', ('Normalize: expected bytes (uint8) or floats, got %s'):format(images.dtype))
  end
  local scale, shift = factors_of(self, images.device, image.max_value(images.dtype))
  return torch.addcmul(shift, images, scale):to(self.dtype)
end

return {Normalize = Normalize}
