-- vision/transforms/functional/pad.lua: pads images.

local args = require 'base.args'
local errors = require 'base.errors'
local image = require 'vision.transforms.image'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'

local pad = {}
local defined = args.definer(pad)

local MODES = {'constant', 'edge', 'reflect', 'symmetric'}

-- Returns the source of the pixel at place i of a row of `size` pixels.
local SOURCE = {
  edge = function(i, size) return math.max(0, math.min(i, size - 1)) end,
  reflect = function(i, size)
    if i < 0 then return -i end
    return i < size and i or 2 * (size - 1) - i
  end,
  symmetric = function(i, size)
    if i < 0 then return -i - 1 end
    return i < size and i or 2 * size - 1 - i
  end,
}

---Returns {left, right, top, bottom} of torchvision's padding: a number for all sides, {horizontal, vertical}, or
---{left, top, right, bottom}.
---@param owner string for the message
---@param padding integer|integer[]
---@return integer[]
function pad._sides(owner, padding)
  local list = type(padding) == 'number' and {padding} or padding
  if type(list) ~= 'table' or not (#list == 1 or #list == 2 or #list == 4) then
    errors.raise('argument', ('%s: padding is a number or a list of 1, 2 or 4, got %s'):format(owner,
      sizes.text(padding)))
  end
  for _, number in ipairs(list) do
    if type(number) ~= 'number' or number % 1 ~= 0 then
      errors.raise('argument', ('%s: padding is in whole pixels, got %s'):format(owner, sizes.text(padding)))
    end
  end
  if #list == 1 then return {list[1], list[1], list[1], list[1]} end
  if #list == 2 then return {list[1], list[1], list[2], list[2]} end
  return {list[1], list[3], list[2], list[4]}
end

---@param owner string for the message
---@param mode string
---@return string mode
function pad._mode(owner, mode) return args.one_of(owner .. ': padding_mode', mode, MODES) end

local function pad_axis(x, dim, before, after, mode)
  local size, source, places = x:size(dim), SOURCE[mode], {}
  for i = -before, size - 1 + after do
    places[#places + 1] = source(i, size)
    if places[#places] < 0 or places[#places] >= size then
      errors.raise('argument', ("pad: padding %d is too large for mode '%s' of %d pixels"):format(
        math.max(before, after), mode, size))
    end
  end
  return x:index_select(dim, torch.tensor(places, {dtype = 'int64', device = x.device}))
end

-- Pads with a separate colour for each channel.
local function pad_colors(x, sides, colors)
  if #colors ~= 1 and #colors ~= x:size(-3) then
    errors.raise('argument', ('pad: fill has %d values, the image %d channels'):format(#colors, x:size(-3)))
  end
  local parts = {}
  for i = 0, x:size(-3) - 1 do
    parts[i + 1] = torch.constant_pad_nd(x:narrow(-3, i, 1), sides, colors[#colors == 1 and 1 or i + 1])
  end
  return torch.cat(parts, -3)
end

local function padded(x, sides, fill, mode)
  if mode ~= 'constant' then
    x = pad_axis(x, -2, sides[3], sides[4], mode)
    return pad_axis(x, -1, sides[1], sides[2], mode)
  end
  if type(fill) == 'table' then return pad_colors(x, sides, fill) end
  return torch.constant_pad_nd(x, sides, fill or 0)
end

---Adds a border; negative numbers crop. Arguments: img, padding (a number for all sides, {horizontal, vertical} or
---{left, top, right, bottom}), fill = 0 (of mode 'constant': a number, or a list with one for each channel),
---padding_mode = 'constant' | 'edge' (repeats the last pixel) | 'reflect' (reflects without it) | 'symmetric' (reflects
---including it).
---
---```lua
---local torch = require 'torch'
---local F = require 'vision.transforms.functional'
---local row = F.pad(torch.arange(3):view{1, 1, 3}, {2, 0}, {padding_mode = 'reflect'})
---assert(torch.equal(row:view(-1), torch.tensor({2, 1, 0, 1, 2, 1, 0}):long()))
---```
defined('pad', {'img', 'padding', {'fill', 0}, {'padding_mode', 'constant'}}, function(p)
  local sides, mode = pad._sides('pad', p.padding), pad._mode('pad', p.padding_mode)
  local fill = sizes.fill('pad', p.fill)
  return image.channels_first('pad', p.img, function(x) return padded(x, sides, fill, mode) end)
end)

return pad
