-- vision/transforms/interpolation.lua: names of interpolation modes.

local args = require 'base.args'

local interpolation = {}

---The modes by torchvision's names; the strings may be used directly.
---
---```lua
---local T = require 'vision.transforms'
---assert(T.Resize(8, T.InterpolationMode.BICUBIC).interpolation == 'bicubic')
---```
interpolation.InterpolationMode = {
  NEAREST = 'nearest', NEAREST_EXACT = 'nearest-exact', BILINEAR = 'bilinear', BICUBIC = 'bicubic', BOX = 'box',
  HAMMING = 'hamming', LANCZOS = 'lanczos',
}

local RESIZE = {'nearest', 'nearest-exact', 'bilinear', 'bicubic'}
local WARP = {'nearest', 'bilinear'}

-- Pillow's numbers, which torchvision accepts too.
local OF_NUMBER = {[0] = 'nearest', [2] = 'bilinear', [3] = 'bicubic', [4] = 'box', [5] = 'hamming', [1] = 'lanczos'}

---Returns a mode for resizing.
---@param owner string for the message
---@param value string|integer
---@return string
function interpolation.of_resize(owner, value)
  return args.one_of(owner .. ': interpolation', OF_NUMBER[value] or value, RESIZE)
end

---Returns a mode for rotations and other warps.
---@param owner string for the message
---@param value string|integer
---@return string
function interpolation.of_warp(owner, value)
  return args.one_of(owner .. ': interpolation', OF_NUMBER[value] or value, WARP)
end

return interpolation
