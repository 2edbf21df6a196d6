-- vision/transforms/resize.lua: Resize.

local interpolation = require 'vision.transforms.interpolation'
local resize = require 'vision.transforms.functional.resize'
local repr = require 'torch.nn.repr'
local transform = require 'vision.transforms.transform'

---Resizes images. Arguments: size (a number for the shorter side, which keeps the aspect ratio; or {height, width}),
---interpolation = 'bilinear' | 'nearest' | 'nearest-exact' | 'bicubic', max_size (for the longer side), antialias = true.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.Resize(20)(torch.rand(3, 40, 60)).shape[3] == 30)
---assert(T.Resize({8, 8})(torch.zeros(40, 60, 3, {dtype = 'uint8'})).shape[1] == 8)
---```
---@class vision.Resize
---@overload fun(size: integer|integer[], options?: table): vision.Resize
local Resize = transform.define('Resize', {'size', {'interpolation', 'bilinear'}, {'max_size'}, {'antialias', true}},
  function(self)
    self.interpolation = interpolation.of_resize('Resize', self.interpolation)
    resize._check('Resize', self.size, self.max_size)
  end)
Resize.takes_batches = true

function Resize:extra_repr()
  local size = type(self.size) == 'table' and repr.list(self.size) or self.size
  return repr.fields{{'size', size, true}, {'interpolation', self.interpolation, true},
                     {'max_size', self.max_size}, {'antialias', self.antialias}}
end

function Resize:forward(image)
  return resize.resize(image, self.size, self.interpolation, self.max_size, self.antialias)
end

return {Resize = Resize}
