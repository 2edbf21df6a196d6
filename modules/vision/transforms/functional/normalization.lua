-- vision/transforms/functional/normalization.lua: normalize.

local args = require 'base.args'
local errors = require 'base.errors'
local image = require 'vision.transforms.image'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'

local normalization = {}
local defined = args.definer(normalization)

local function check_input(x)
  image.check('normalize', x)
  if not x:is_floating_point() then
    errors.raise('argument', ('normalize: expected floating-point images, got %s: put ToTensor before it, or '
      .. 'ConvertImageDtype'):format(x.dtype))
  end
  if x:dim() < 3 then
    errors.raise('argument', ('normalize: expected (…, c, h, w), got shape %s'):format(tostring(x.shape)))
  end
end

local function per_channel(values, name, x)
  if type(values) == 'number' then values = {values} end
  local like = {dtype = x.dtype, device = x.device}
  local numbers = torch.is_tensor(values) and values:to(x.dtype) or torch.tensor(values, like)
  if numbers:dim() ~= 1 then return numbers end
  local count, channels = numbers:size(0), x:size(-3)
  if count ~= 1 and count ~= channels then
    errors.raise('argument', ('normalize: %s has %d values %s, the image %d channels: shape %s'):format(name, count,
      sizes.text(numbers:tolist()), channels, tostring(x.shape)))
  end
  return numbers:view{-1, 1, 1}
end

---Computes (x - mean) / std for each channel of floats (…, c, h, w). Arguments: tensor, mean, std (a number, a list or
---a tensor), inplace = false.
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---assert(F.normalize(torch.ones(3, 2, 2), {0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}):max():item() == 2)
---```
defined('normalize', {'tensor', 'mean', 'std', {'inplace', false}}, function(p)
  local x = p.tensor
  check_input(x)
  local mean, std = per_channel(p.mean, 'mean', x), per_channel(p.std, 'std', x)
  if std:eq(0):any():item() then
    errors.raise('argument', ('normalize: std has a 0 as %s, and divides'):format(x.dtype))
  end
  if p.inplace then return x:sub_(mean):div_(std) end
  return x:sub(mean):div_(std)
end)

return normalization
