-- vision/transforms/functional/hsv.lua: converts RGB images to hue, saturation and value, and back (Smith 1978).

local torch = require 'torch'

local hsv = {}

-- The largest channel determines the third of the colour circle; the other two determine the place in it.
local function hue_of(r, g, b, max, range)
  local dr, dg, db = (max - r) / range, (max - g) / range, (max - b) / range
  local is_red, is_green = max:eq(r), max:eq(g)
  local from_green = is_green:logical_and(is_red:logical_not())
  local from_blue = is_green:logical_not():logical_and(is_red:logical_not())
  local hue = (db - dg) * is_red + (dr + 2 - db) * from_green + (dg + 4 - dr) * from_blue
  return (hue / 6 + 1):fmod(1)
end

---@param x torch.Tensor floats (…, 3, h, w) in 0 … 1
---@return torch.Tensor h, torch.Tensor s, torch.Tensor v each (…, h, w) in 0 … 1
function hsv.of_rgb(x)
  local r, g, b = unpack(x:unbind(-3))
  local max, min = x:amax(-3), x:amin(-3)
  -- Gray has no hue: a denominator of 1 keeps the result finite.
  local is_gray, ones = max:eq(min), torch.ones_like(max)
  local saturation = (max - min) / torch.where(is_gray, ones, max)
  return hue_of(r, g, b, max, torch.where(is_gray, ones, max - min)), saturation, max
end

---@param h torch.Tensor
---@param s torch.Tensor
---@param v torch.Tensor
---@return torch.Tensor rgb (…, 3, h, w)
function hsv.to_rgb(h, s, v)
  local sixth = (h * 6):floor()
  local f = h * 6 - sixth
  local p = (v * (1 - s)):clamp(0, 1)
  local q = (v * (1 - s * f)):clamp(0, 1)
  local t = (v * (1 - s * (1 - f))):clamp(0, 1)
  local place = sixth:to('int64'):remainder(6):unsqueeze(-3)
  local channels = {}
  for i, choices in ipairs{{v, q, p, p, t, v}, {t, v, v, q, p, p}, {p, p, t, v, v, q}} do
    channels[i] = torch.stack(choices, -3):gather(-3, place)
  end
  return torch.cat(channels, -3)
end

return hsv
