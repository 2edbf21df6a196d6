-- vision/transforms/fused_plan.lua: a chain of transforms as one pass over the bytes of a batch.
--
-- Whatever the chain does to a single value is done once to each of the 256 levels of a byte and to the colour of the border:
-- by the transforms themselves, so that the result is the same to the last bit. Crops, borders and mirrors say where in the
-- image each row and column of the result lies: at start + step · i. torch._C.data.gather_images does the rest.

local class = require 'rtrain.class'
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

---The chain turns bytes into a tensor here.
---@param fn fun(levels: torch.Tensor): torch.Tensor of uint8 (c, 1, 257)
---@return boolean possible
function FusedPlan:to_tensor(fn)
  if self.is_tensor then return false end
  self.is_tensor, self._levels = true, fn(self._levels)
  return true
end

---The chain changes each value of a tensor here.
---@param fn fun(levels: torch.Tensor): torch.Tensor (c, 1, 257)
---@return boolean possible
function FusedPlan:change_tensor(fn)
  if self.is_tensor then self._levels = fn(self._levels) end
  return self.is_tensor == true
end

---The chain adds a border here.
---@param sides integer[] left, right, top, bottom
---@param fill number|number[]
---@return boolean possible
function FusedPlan:pad(sides, fill)
  local left, right, top, bottom = unpack(sides)
  if left == 0 and right == 0 and top == 0 and bottom == 0 then return true end
  local colors = type(fill) == 'number' and {fill} or fill
  local is_plain = math.min(left, right, top, bottom) >= 0 and (#colors == 1 or #colors == self.channels)
  -- What an earlier crop took away would come back, and there is one colour of the border alone.
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

---A random number of each sample: 0 for one in [0, 1), k > 0 for an integer below k.
---@param limit integer
---@return integer place what `number` of crop and flip takes
function FusedPlan:draw(limit)
  self._limits[#self._limits + 1] = limit
  return #self._limits
end

---The chain cuts a part out here.
---@param height integer
---@param width integer
---@param corner fun(number: fun(place: integer): torch.Tensor): any, any gives top and left: numbers, or one for each sample
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

---The chain mirrors some samples here.
---@param axis string 'x' or 'y'
---@param which fun(number: fun(place: integer): torch.Tensor): torch.Tensor gives a bool for each sample
---@return boolean possible
function FusedPlan:flip(axis, which)
  local last = (axis == 'x' and self.width or self.height) - 1
  self._moves[#self._moves + 1] = function(y, x, number)
    local moved, mask = axis == 'x' and x or y, which(number):double()
    moved.start = moved.start + moved.step * mask * last
    moved.step = moved.step * (1 - 2 * mask)
  end
  return true
end

-- The numbers of all samples, (n, limits): the very ones that single samples would draw; nil where that cannot be.
local function drawn(limits, count)
  local draw_samples = require('torch._C').data.draw_samples
  local seeds = worker.batch_seeds()
  if seeds then return seeds:size(0) == count and draw_samples(limits, seeds) or nil end
  if worker.sample_generator() then return nil end
  return draw_samples(limits, count)
end

local function column(value, count)
  return type(value) == 'number' and torch.full({count}, value, {dtype = 'float64'}) or value
end

-- int64 (n, 4) of gather_images; nil where they cannot be drawn.
local function places_of(self, count)
  local numbers = #self._limits > 0 and drawn(self._limits, count)
  if numbers == nil then return nil end
  local y, x = {start = 0, step = 1}, {start = 0, step = 1}
  local function number(place) return numbers:select(1, place - 1) end
  for _, move in ipairs(self._moves) do move(y, x, number) end
  return torch.stack({column(y.start, count), column(y.step, count), column(x.start, count), column(x.step, count)}, 1)
    :long()
end

---Whether the plan can be run: the chain ended with a tensor, and random numbers are those that operators draw.
---@return boolean
function FusedPlan:is_complete()
  return self.is_tensor == true and (#self._limits == 0 or torch.get_default_dtype() == 'float32')
end

---The batch; nil where its random numbers cannot be those of single samples.
---@param images torch.Tensor uint8 (n, h, w) or (n, h, w, c)
---@param indices torch.Tensor int64 (batch)
---@return torch.Tensor|nil (batch, c, height, width)
function FusedPlan:run(images, indices)
  local places
  if #self._moves > 0 then
    places = places_of(self, indices:size(0))
    if places == nil then return nil end
  end
  self._flat = self._flat or self._levels:reshape(self.channels, LEVELS):contiguous()
  return require('torch._C').data.gather_images(images, indices,
    {levels = self._flat, places = places, height = self.height, width = self.width})
end

-- Values and lists of values, so that two of these lists are equal when the chains are.
local function append_fields(out, value)
  if type(value) ~= 'table' or class.of(value) then
    out[#out + 1] = value == nil and 'nil' or value
    return
  end
  out[#out + 1] = #value
  for _, item in ipairs(value) do append_fields(out, item) end
end

local function key_of(chain, images)
  local key = {torch.get_default_dtype()}
  append_fields(key, images:size())
  for _, item in ipairs(chain) do
    key[#key + 1] = class.of(item)
    for _, name in ipairs(item._parameters) do append_fields(key, item[name]) end
  end
  return key
end

local function equal_lists(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    if not rawequal(a[i], b[i]) then return false end
  end
  return true
end

local function planned(chain, images)
  local plan = FusedPlan(images:dim() == 4 and images:size(3) or 1, images:size(1), images:size(2))
  for _, item in ipairs(chain) do
    if not item:fuse(plan) then return false end
  end
  return plan:is_complete() and plan
end

-- First transform of a chain → {key, plan}: batches of an epoch share a plan, and a changed transform gets another.
local plans = setmetatable({}, {__mode = 'k'})

---The plan of a chain for images in memory; nil where they cannot be done in one pass.
---@param chain table[] transforms
---@param images torch.Tensor
---@return vision.FusedPlan|nil
function FusedPlan.of(chain, images)
  if #chain == 0 or images.dtype ~= 'uint8' or images.device ~= 'cpu' then return nil end
  if images:dim() ~= 3 and images:dim() ~= 4 then return nil end
  for _, item in ipairs(chain) do
    -- A class that extends one of the library may do anything.
    if not rawget(class.of(item), 'fuse') then return nil end
  end
  local key = key_of(chain, images)
  local kept = plans[chain[1]]
  if not (kept and equal_lists(kept.key, key)) then
    kept = {key = key, plan = planned(chain, images)}
    plans[chain[1]] = kept
  end
  return kept.plan or nil
end

return FusedPlan
