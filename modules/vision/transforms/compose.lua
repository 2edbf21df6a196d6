-- vision/transforms/compose.lua: transforms that combine others: Compose, RandomApply, RandomChoice, RandomOrder,
-- Lambda.

local class = require 'base.class'
local draw = require 'vision.transforms.draw'
local errors = require 'base.errors'
local image_layout = require 'vision.transforms.image'
local plan_cache = require 'vision.transforms.plan_cache'
local sizes = require 'vision.transforms.sizes'
local torch = require 'torch'
local transform = require 'vision.transforms.transform'

local repr = require 'torch.nn.repr'

local function apply(list, image, first, last)
  for i = first, last do image = list[i](image) end
  return image
end

---Applies several transforms one after the other. Arguments: transforms (a list, which may also contain functions).
---
---A sequence of RandomCrop, CenterCrop, Pad, flips, ToTensor, ConvertImageDtype and Normalize around ToTensor is
---executed in one pass over the image's bytes. If the whole list is such a sequence, batches of images in memory are,
---too.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---local transform = T.Compose{T.RandomCrop(32, {padding = 4}), T.RandomHorizontalFlip(), T.ToTensor(),
---                            T.Normalize({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5})}
---local x = transform(torch.zeros(32, 32, 3, {dtype = 'uint8'}))
---assert(x.shape[1] == 3 and x:min():item() == -1)
---```
---@class vision.Compose
---@overload fun(transforms: fun(image: any): any[]): vision.Compose
---@field transforms any[]
local Compose = transform.define('Compose', {'transforms'}, function(self)
  transform.check_list('Compose', self.transforms)
end)

function Compose:extra_repr() return transform.lines(self.transforms) .. '\n' end

-- Returns the first sequence of transforms that one pass over the image's bytes can execute; it must include a
-- conversion to a tensor.
local function fusible_run(list)
  local first, makes_tensors
  for i, item in ipairs(list) do
    if not plan_cache.is_fusible(item) then
      if makes_tensors then return first, i - 1 end
      first = nil
    else
      first, makes_tensors = first or i, makes_tensors or item.makes_tensors
    end
  end
  return makes_tensors and first, #list
end

-- Returns the result of list[first … last] in one pass; nil if that is not possible.
local function in_one_pass(list, first, last, image)
  if not torch.is_tensor(image) or image.dtype ~= 'uint8' or image.device ~= 'cpu' then return nil end
  if image:dim() ~= 2 and not (image:dim() == 3 and image_layout.is_channels_last(image)) then return nil end
  local size = {height = image:size(0), width = image:size(1), channels = image:dim() == 3 and image:size(2) or 1}
  local plan = plan_cache.of({unpack(list, first, last)}, size, true)
  return plan and plan:run_one(image)
end

function Compose:forward(image)
  local list = self.transforms
  local first, last = fusible_run(list)
  if not first then return apply(list, image, 1, #list) end
  image = apply(list, image, 1, first - 1)
  local fused = in_one_pass(list, first, last, image)
  if fused then return apply(list, fused, last + 1, #list) end
  return apply(list, image, first, #list)
end

---Applies a list of transforms with probability p. Arguments: transforms, p = 0.5.
---
---```lua
---local T = require 'vision.transforms'
---assert(T.RandomApply({T.Lambda(function(x) return x + 1 end)}, 1)(1) == 2)
---```
---@class vision.RandomApply
---@overload fun(transforms: any[], p?: number): vision.RandomApply
local RandomApply = transform.define('RandomApply', {'transforms', {'p', 0.5}}, function(self)
  transform.check_list('RandomApply', self.transforms)
  sizes.probability('RandomApply', self.p)
end)

function RandomApply:extra_repr()
  return '\n    p=' .. repr.value(self.p) .. transform.lines(self.transforms) .. '\n'
end

function RandomApply:forward(image)
  if self.p < draw.real() then return image end
  return apply(self.transforms, image, 1, #self.transforms)
end

---Applies a list of transforms in random order. Arguments: transforms.
---@class vision.RandomOrder
---@overload fun(transforms: any[]): vision.RandomOrder
local RandomOrder = transform.define('RandomOrder', {'transforms'}, function(self)
  transform.check_list('RandomOrder', self.transforms)
end)
RandomOrder.extra_repr = Compose.extra_repr

function RandomOrder:forward(image)
  for _, place in ipairs(draw.permutation(#self.transforms)) do image = self.transforms[place + 1](image) end
  return image
end

---Applies one of a list of transforms. Arguments: transforms, p (a weight for each; default: equal weights).
---
---```lua
---local T = require 'vision.transforms'
---local choice = T.RandomChoice({T.Lambda(function() return 'a' end), T.Lambda(function() return 'b' end)}, {0, 1})
---assert(choice(0) == 'b')
---```
---@class vision.RandomChoice
---@overload fun(transforms: any[], p?: number[]): vision.RandomChoice
local RandomChoice = transform.define('RandomChoice', {'transforms', {'p'}}, function(self)
  transform.check_list('RandomChoice', self.transforms)
  local sum = 0
  if self.p ~= nil then
    sizes.numbers('RandomChoice: p', self.p, #self.transforms)
    for _, weight in ipairs(self.p) do sum = weight < 0 and -math.huge or sum + weight end
    if not sizes.is_positive(sum) then
      errors.raise('argument', ('RandomChoice: p needs weights from 0 on with a sum above 0, got %s'):format(
        sizes.text(self.p)))
    end
  end
end)

function RandomChoice:extra_repr() return Compose.extra_repr(self) end

function RandomChoice.__tostring(self)
  local p = self.p and repr.list(self.p) or 'None'
  return ('%s(%s)(p=%s)'):format(class.of(self).__name, self:extra_repr(), p)
end

function RandomChoice:forward(image)
  local weights = self.p
  if not weights then
    weights = {}
    for i = 1, #self.transforms do weights[i] = 1 end
  end
  return self.transforms[draw.choice(weights) + 1](image)
end

---Uses a function as a transform. Arguments: lambd.
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---assert(T.Lambda(function(x) return x * 2 end)(torch.ones(3)):sum():item() == 6)
---```
---@class vision.Lambda
---@overload fun(lambd: fun(image: any): any): vision.Lambda
local Lambda = transform.define('Lambda', {'lambd'}, function(self)
  if not transform.is_callable(self.lambd) then
    errors.raise('argument', ('Lambda: expected a function, got %s'):format(
      torch.is_tensor(self.lambd) and 'a Tensor' or 'a ' .. type(self.lambd)))
  end
end, {})

function Lambda:forward(image) return self.lambd(image) end

return {Compose = Compose, RandomApply = RandomApply, RandomOrder = RandomOrder, RandomChoice = RandomChoice,
        Lambda = Lambda}
