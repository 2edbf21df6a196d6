-- vision/transforms/pad.lua: Pad.

local pad = require 'vision.transforms.functional.pad'
local repr = require 'torch.nn.repr'
local sizes = require 'vision.transforms.sizes'
local transform = require 'vision.transforms.transform'

---Adds a border. Arguments: padding (a number for all sides, {horizontal, vertical} or {left, top, right, bottom}), fill = 0 (a
---number, or one for each channel), padding_mode = 'constant' | 'edge' | 'reflect' | 'symmetric'.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.Pad({1, 2})(torch.zeros(28, 28, {dtype = 'uint8'})).shape[1] == 32)
---```
---@class vision.Pad
---@overload fun(padding: integer|integer[], options?: {fill: number|number[], padding_mode: string}): vision.Pad
local Pad = transform.define('Pad', {'padding', {'fill', 0}, {'padding_mode', 'constant'}}, function(self)
  pad._sides('Pad', self.padding)
  pad._mode('Pad', self.padding_mode)
  sizes.fill('Pad', self.fill)
end)
Pad.takes_batches = true

function Pad:extra_repr()
  return repr.fields{{'padding', self.padding}, {'fill', self.fill}, {'padding_mode', self.padding_mode, true}}
end

function Pad:forward(image) return pad.pad(image, self.padding, self.fill, self.padding_mode) end

function Pad:fuse(plan)
  return self.padding_mode == 'constant' and plan:pad(pad._sides('Pad', self.padding), self.fill)
end

return {Pad = Pad}
