-- vision/transforms/functional/erase.lua: erase.

local args = require 'base.args'
local errors = require 'base.errors'
local image = require 'vision.transforms.image'
local torch = require 'torch'

local erase = {}
local defined = args.definer(erase)

---Writes a value, or a tensor that broadcasts to (c, h, w), into a part of (…, c, h, w). Arguments: img, i (top), j
---(left), h, w, v, inplace = false.
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---assert(F.erase(torch.ones(3, 4, 4), 1, 1, 2, 2, 0):sum():item() == 36)
---```
defined('erase', {'img', 'i', 'j', 'h', 'w', 'v', {'inplace', false}}, function(p)
  local x = image.check('erase', p.img)
  if image.is_channels_last(x) then
    errors.raise('argument', ('erase: expected (…, c, h, w), got shape %s: put ToTensor before it'):format(
      tostring(x.shape)))
  end
  if p.i < 0 or p.j < 0 or p.h < 0 or p.w < 0 or p.i + p.h > x:size(-2) or p.j + p.w > x:size(-1) then
    errors.raise('argument', ('erase: %d x %d pixels from (%d, %d) on do not lie in an image of %d x %d'):format(p.h, p.w,
      p.i, p.j, x:size(-2), x:size(-1)))
  end
  if not p.inplace then x = x:clone() end
  local part = x:narrow(-2, p.i, p.h):narrow(-1, p.j, p.w)
  if torch.is_tensor(p.v) then part:copy_(p.v) else part:fill_(p.v) end
  return x
end)

return erase
