-- vision/transforms/fused_plan.lua: FusedPlan: executes a chain of transforms in one pass over the bytes of a batch.
--
-- The chain's changes of single values are computed once for each of the 256 levels of a byte and for the border
-- colour, by the transforms themselves, so that the result is bitwise equal. Crops, borders and mirrors determine the
-- place in the image of each row and column of the result: start + step · i. torch._C.data.gather_images does the rest.

local class = require 'base.class'
local draw = require 'vision.transforms.draw'
local torch = require 'torch'
local worker = require 'torch.utils.data.worker'

local LEVELS, BORDER = 257, 256

---@class vision.FusedPlan
---@field height integer of the image at this place of the chain
---@field width integer
---@field channels integer
local FusedPlan = class('FusedPlan')

---@param channels integer
---@param height integer
---@param width integer
function FusedPlan:init(channels, height, width)
  self.channels, self.height, self.width = channels, height, width
  self._levels = torch.arange(LEVELS):remainder(LEVELS - 1):to('uint8'):repeat_(channels, 1):view{channels, 1, LEVELS}
  self._limits, self._moves = {}, {}
end

---Adds the conversion of bytes to a tensor.
---@param fn fun(levels: torch.Tensor): torch.Tensor of uint8 (c, 1, 257)
---@return boolean possible
function FusedPlan:to_tensor(fn)
  if self.is_tensor then return false end
  self.is_tensor, self._levels = true, fn(self._levels)
  return true
end

---Adds a change of the single values of a tensor.
---@param fn fun(levels: torch.Tensor): torch.Tensor (c, 1, 257)
---@return boolean possible
function FusedPlan:change_tensor(fn)
  if self.is_tensor then self._levels = fn(self._levels) end
  return self.is_tensor == true
end

---Adds a border.
---@param sides integer[] left, right, top, bottom
---@param fill number|number[]
---@return boolean possible
function FusedPlan:pad(sides, fill)
  local left, right, top, bottom = unpack(sides)
  if left == 0 and right == 0 and top == 0 and bottom == 0 then return true end
  local colors = type(fill) == 'number' and {fill} or fill
  local is_plain = math.min(left, right, top, bottom) >= 0 and (#colors == 1 or #colors == self.channels)
  -- Not possible: pixels removed by an earlier crop would reappear, and only a single border colour is supported.
  if not is_plain or self._is_cropped or self._has_border then return false end
  for i = 0, self.channels - 1 do
    self._levels:select(0, i):narrow(-1, BORDER, 1):fill_(colors[#colors == 1 and 1 or i + 1])
  end
  self._has_border = true
  self.height, self.width = self.height + top + bottom, self.width + left + right
  self._moves[#self._moves + 1] = function(y, x)
    y.start = y.start - y.step * top
    x.start = x.start - x.step * left
  end
  return true
end

---Adds a random number for each sample: limit 0 for a number in [0, 1), k > 0 for an integer below k.
---@param limit integer
---@return integer place of the number among the sample's numbers
function FusedPlan:draw(limit)
  self._limits[#self._limits + 1] = limit
  return #self._limits
end

---Adds a crop.
---@param height integer
---@param width integer
---@param corner fun(number: fun(place: integer): any): any, any returns top and left, from the sample's numbers
---@return boolean possible
function FusedPlan:crop(height, width, corner)
  self._is_cropped = true
  self.height, self.width = height, width
  self._moves[#self._moves + 1] = function(y, x, number)
    local at_top, at_left = corner(number)
    y.start = y.start + y.step * at_top
    x.start = x.start + x.step * at_left
  end
  return true
end

-- Returns 1 where a number is below p, else 0; for one sample or for each.
local function below(number, p)
  if type(number) == 'number' then return number < p and 1 or 0 end
  return number:lt(p):double()
end

---Adds mirroring of the samples whose number is below p.
---@param axis string 'x' or 'y'
---@param place integer result of `draw`
---@param p number
---@return boolean possible
function FusedPlan:flip(axis, place, p)
  local last = (axis == 'x' and self.width or self.height) - 1
  self._moves[#self._moves + 1] = function(y, x, number)
    local moved, mask = axis == 'x' and x or y, below(number(place), p)
    moved.start = moved.start + moved.step * mask * last
    moved.step = moved.step * (1 - mask * 2)
  end
  return true
end

-- Draws the numbers of all samples, (n, limits), exactly as single samples would draw them; nil if that is not
-- possible.
local function drawn(limits, count)
  local draw_samples = require('torch._C').data.draw_samples
  local seeds = worker.batch_seeds()
  if seeds then return seeds:size(0) == count and draw_samples(limits, seeds) or nil end
  if worker.sample_generator() then return nil end
  return draw_samples(limits, count)
end

-- Returns the places of the result's rows and columns after all moves: numbers, or one for each sample.
local function moved(self, number)
  local y, x = {start = 0, step = 1}, {start = 0, step = 1}
  for _, move in ipairs(self._moves) do move(y, x, number) end
  return y.start, y.step, x.start, x.step
end

local function columns(count, ...)
  local out = {}
  for i = 1, 4 do
    local value = select(i, ...)
    out[i] = type(value) == 'number' and torch.full({count}, value, {dtype = 'float64'}) or value
  end
  return torch.stack(out, 1):long()
end

---Returns whether the plan can be run: the chain ended with a tensor, and operators can draw its random numbers.
---@return boolean
function FusedPlan:is_complete()
  return self.is_tensor == true and (#self._limits == 0 or torch.get_default_dtype() == 'float32')
end

local function gather(self, images, indices, places)
  self._flat = self._flat or self._levels:reshape(self.channels, LEVELS):contiguous()
  return require('torch._C').data.gather_images(images, indices,
    {levels = self._flat, places = places, height = self.height, width = self.width})
end

---Returns the batch; nil if its random numbers cannot equal those of single samples.
---@param images torch.Tensor uint8 (n, h, w) or (n, h, w, c)
---@param indices torch.Tensor int64 (batch)
---@return torch.Tensor|nil (batch, c, height, width)
function FusedPlan:run(images, indices)
  if #self._moves == 0 then return gather(self, images, indices) end
  local count = indices:size(0)
  local numbers = #self._limits > 0 and drawn(self._limits, count)
  if numbers == nil then return nil end
  local function number(place) return numbers:select(1, place - 1) end
  return gather(self, images, indices, columns(count, moved(self, number)))
end

---Returns one image.
---@param image torch.Tensor uint8 (h, w) or (h, w, c)
---@return torch.Tensor (c, height, width)
function FusedPlan:run_one(image)
  local numbers, places = {}, nil
  for i, limit in ipairs(self._limits) do numbers[i] = limit == 0 and draw.real() or draw.integer(0, limit) end
  if #self._moves > 0 then
    places = torch.tensor({{moved(self, function(place) return numbers[place] end)}}, {dtype = 'int64'})
  end
  return gather(self, image:unsqueeze(0), torch.zeros(1, {dtype = 'int64'}), places):squeeze(0)
end

return FusedPlan
