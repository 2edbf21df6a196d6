-- vision/transforms.lua: what is done to an image before it is put into a batch.
--
-- A transform is called with one image: uint8 (h, w) or (h, w, c) before ToTensor, float (c, h, w) after it. Those
-- with a method `batch` can do all images of a batch, (n, …), at once with the same result; the loader then never
-- sees single samples. Random ones draw from the sample's generator in a worker thread and have no `batch`.

local args = require 'rtrain.args'
local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local torch = require 'torch'
local worker = require 'torch.utils.data.worker'

local transforms = {}

local Transform = class('Transform')
function Transform:__call(image) return self:forward(image) end

---Several transforms one after the other.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---local transform = T.Compose{T.ToTensor(), T.Normalize({0.5}, {0.5})}
---assert(transform(torch.zeros(28, 28, {dtype = 'uint8'})):min():item() == -1)
---```
---@class vision.Compose
---@overload fun(list: fun(image: any): any[]): vision.Compose
local Compose = Transform:extend('Compose')

---@param list fun(image: any): any[]
function Compose:init(list)
  if type(list) ~= 'table' or class.of(list) then
    errors.raise('argument', 'Compose: expected a list of transforms: Compose{a, b}')
  end
  self.transforms = list
end

function Compose:forward(image)
  for _, transform in ipairs(self.transforms) do image = transform(image) end
  return image
end

function Compose:batch(images)
  for _, transform in ipairs(self.transforms) do images = transform:batch(images) end
  return images
end

---uint8 (h, w) or (h, w, c) in 0 … 255 → float32 (c, h, w) in 0 … 1.
---@class vision.ToTensor
---@overload fun(): vision.ToTensor
local ToTensor = Transform:extend('ToTensor')

local function to_float(images)
  local is_bytes = images.dtype == 'uint8'
  local float = images:to(torch.get_default_dtype())
  return is_bytes and float:div_(255) or float
end

function ToTensor:forward(image)
  if image:dim() == 2 then return to_float(image:unsqueeze(0)) end
  if image:dim() == 3 then return to_float(image:permute{2, 0, 1}:contiguous()) end
  errors.raise('argument', ('ToTensor: an image has 2 or 3 dimensions, not %d'):format(image:dim()))
end

function ToTensor:batch(images)
  if images:dim() == 3 then return to_float(images:unsqueeze(1)) end
  return to_float(images:permute{0, 3, 1, 2}:contiguous())
end

---(x - mean) / std for each channel of float (c, h, w). Arguments: mean, std (lists, or a number for one channel),
---{inplace = false}.
---@class vision.Normalize
---@overload fun(mean: number|number[], std: number|number[], options?: {inplace: boolean}): vision.Normalize
local Normalize = Transform:extend('Normalize')

local normalize_signature = args.signature('Normalize', {'mean', 'std', {'inplace', false}})

local function channel_list(value) return type(value) == 'number' and {value} or value end

function Normalize:init(...)
  local a = normalize_signature:bind(...)
  self.mean, self.std, self.inplace = channel_list(a.mean), channel_list(a.std), a.inplace
  for _, std in ipairs(self.std) do
    if std == 0 then errors.raise('argument', 'Normalize: std must not be 0') end
  end
end

local function per_channel(values, like) return torch.tensor(values, {dtype = like.dtype}):view{-1, 1, 1} end

local function normalize(self, images)
  if not images:is_floating_point() then
    errors.raise('argument', ('Normalize: expected floating-point images, got %s: put ToTensor before it'):format(
      images.dtype))
  end
  local mean, std = per_channel(self.mean, images), per_channel(self.std, images)
  if self.inplace then return images:sub_(mean):div_(std) end
  return images:sub(mean):div_(std)
end

function Normalize:forward(image) return normalize(self, image) end

-- The images of a batch were made for it: they may be changed in place.
function Normalize:batch(images)
  return normalize({mean = self.mean, std = self.std, inplace = true}, images)
end

-- Numbers from [0, 1): the sample's generator in a worker thread, else the default one.
local function draw()
  return torch.rand({1}, {generator = worker.generator()}):item()
end

local function draw_integer(below)
  if below <= 1 then return 0 end
  return torch.randint(0, below, {1}, {generator = worker.generator()}):item()
end

---Mirrors (…, h, w) left to right with probability p. Arguments: p = 0.5.
---@class vision.RandomHorizontalFlip
---@overload fun(p?: number): vision.RandomHorizontalFlip
local RandomHorizontalFlip = Transform:extend('RandomHorizontalFlip')

local flip_signature = args.signature('RandomHorizontalFlip', {{'p', 0.5}})

function RandomHorizontalFlip:init(...) self.p = flip_signature:bind(...).p end

function RandomHorizontalFlip:forward(image)
  if draw() >= self.p then return image end
  return image:flip{-1}
end

---Cuts a random part of the given size out of (…, h, w). Arguments: size (a number or {height, width}), {padding
---(number, or {left, top, right, bottom}), fill = 0}.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.RandomCrop(24, {padding = 2})(torch.ones(3, 28, 28)).shape[3] == 24)
---```
---@class vision.RandomCrop
---@overload fun(size: integer|integer[], options?: {padding: integer|integer[], fill: number}): vision.RandomCrop
local RandomCrop = Transform:extend('RandomCrop')

local crop_signature = args.signature('RandomCrop', {'size', {'padding'}, {'fill', 0}})

local function crop_padding(value)
  if value == nil then return nil end
  if type(value) == 'number' then return {value, value, value, value} end
  if #value == 2 then return {value[1], value[1], value[2], value[2]} end
  return {value[1], value[3], value[2], value[4]}
end

function RandomCrop:init(...)
  local a = crop_signature:bind(...)
  self.size = type(a.size) == 'number' and {a.size, a.size} or a.size
  self.padding, self.fill = crop_padding(a.padding), a.fill
end

function RandomCrop:forward(image)
  if self.padding then image = torch.constant_pad_nd(image, self.padding, self.fill) end
  local height, width = image:size(-2), image:size(-1)
  local th, tw = self.size[1], self.size[2]
  if height < th or width < tw then
    errors.raise('argument', ('RandomCrop: the crop (%d, %d) is larger than the image (%d, %d)'):format(th, tw, height,
      width))
  end
  local top = draw_integer(height - th + 1)
  local left = draw_integer(width - tw + 1)
  return image:narrow(-2, top, th):narrow(-1, left, tw)
end

---A function as a transform.
---@class vision.Lambda
---@overload fun(fn: fun(image: any): any): vision.Lambda
local Lambda = Transform:extend('Lambda')

---@param fn fun(image: any): any
function Lambda:init(fn)
  if type(fn) ~= 'function' then errors.raise('argument', 'Lambda: expected a function, got ' .. type(fn)) end
  self.fn = fn
end

function Lambda:forward(image) return self.fn(image) end

---Leaves images as they are.
---@param images any
---@return any
function transforms.identity(images) return images end

local function can_batch(transform)
  local of = class.of(transform)
  if not of or not of.batch then return false end
  for _, part in ipairs(of == Compose and transform.transforms or {}) do
    if not can_batch(part) then return false end
  end
  return true
end

---The transform for whole batches; nil when it has none.
---@param transform any
---@return nil|fun(images: torch.Tensor): torch.Tensor
function transforms.batched(transform)
  if not can_batch(transform) then return nil end
  return function(images) return transform:batch(images) end
end

transforms.Compose, transforms.ToTensor, transforms.Normalize, transforms.Lambda = Compose, ToTensor, Normalize, Lambda
transforms.RandomHorizontalFlip, transforms.RandomCrop = RandomHorizontalFlip, RandomCrop

return require 'rtrain.namespace'('vision.transforms', {later = {Resize = true, CenterCrop = true}}, transforms)
