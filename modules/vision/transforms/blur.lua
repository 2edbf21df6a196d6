-- vision/transforms/blur.lua: GaussianBlur.

local blur = require 'vision.transforms.functional.blur'
local draw = require 'vision.transforms.draw'
local errors = require 'base.errors'
local sizes = require 'vision.transforms.sizes'
local transform = require 'vision.transforms.transform'

---Blurs with a Gaussian kernel of random width. Arguments: kernel_size (odd; a number or {horizontal, vertical}), sigma
---= {0.1, 2} ({min, max} in pixels, or a number).
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.GaussianBlur(3)(torch.rand(3, 8, 8)).shape[2] == 8)
---```
---@class vision.GaussianBlur
---@overload fun(kernel_size: integer|integer[], sigma?: number|number[]): vision.GaussianBlur
local GaussianBlur = transform.define('GaussianBlur', {'kernel_size', {'sigma', {0.1, 2}}}, function(self)
  self.kernel_size = blur._kernel_size('GaussianBlur', self.kernel_size)
  if type(self.sigma) == 'number' then self.sigma = {self.sigma, self.sigma} end
  if sizes.range('GaussianBlur: sigma', self.sigma)[1] <= 0 then
    errors.raise('argument', ('GaussianBlur: sigma is positive, got %s'):format(sizes.text(self.sigma)))
  end
end)

function GaussianBlur:forward(image)
  return blur.gaussian_blur(image, self.kernel_size, draw.uniform(self.sigma[1], self.sigma[2]))
end

return {GaussianBlur = GaussianBlur}
