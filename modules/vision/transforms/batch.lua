-- vision/transforms/batch.lua: applies transforms to whole batches of images in memory.

local class = require 'base.class'
local compose = require 'vision.transforms.compose'
local plan_cache = require 'vision.transforms.plan_cache'
local torch = require 'torch'
local Transform = require('vision.transforms.transform').Transform

local batch = {}

-- Flattens nested lists of transforms; returns nil if an item is not a transform of the library.
local function chain_of(value, out)
  if not class.is(value, Transform) then return nil end
  if class.of(value) ~= compose.Compose then
    out[#out + 1] = value
    return out
  end
  for _, item in ipairs(value.transforms) do
    if not chain_of(item, out) then return nil end
  end
  return out
end

-- Returns the plan for images in memory; nil if they cannot be processed in one pass.
local function plan_of(chain, images)
  local dims = images:dim()
  if #chain == 0 or images.dtype ~= 'uint8' or images.device ~= 'cpu' or (dims ~= 3 and dims ~= 4) then return nil end
  for _, item in ipairs(chain) do
    if not plan_cache.is_fusible(item) then return nil end
  end
  return plan_cache.of(chain, {channels = dims == 4 and images:size(3) or 1, height = images:size(1), width = images:size(2)})
end

local function all_take_batches(chain)
  local makes_tensors = false
  for _, item in ipairs(chain) do
    -- A subclass of a library class may behave differently.
    if not rawget(class.of(item), 'takes_batches') then return false end
    makes_tensors = makes_tensors or item.makes_tensors
  end
  -- Before ToTensor, images have a layout that batches lack.
  return makes_tensors
end

local function step_by_step(chain, images)
  if images:dim() == 3 then images = images:unsqueeze(1) else images = images:movedim(-1, 1):contiguous() end
  for _, item in ipairs(chain) do
    images = item.batch and item:batch(images) or item(images)
  end
  return images
end

---Returns a function (images, indices) that returns the transformed batch of these samples, or nil if only single
---images can be transformed; nil instead of a function if that holds for all images. `images` is uint8 (n, h, w) or (n,
---h, w, c), `indices` an int64 tensor; without it all images are used.
---
---Random transforms draw for each sample the numbers that they would draw for it alone: in a loader from the sample's
---generator, otherwise from the default generator, sample by sample.
---@param transform any
---@return nil|fun(images: torch.Tensor, indices?: torch.Tensor): torch.Tensor|nil
---
---```lua
---local torch = require 'torch'
---local T = require 'vision.transforms'
---local on_batch = T.batched(T.Compose{T.ToTensor(), T.Normalize(0.5, 0.5)})
---local x = on_batch(torch.zeros(10, 28, 28, {dtype = 'uint8'}), torch.arange(4))
---assert(x.shape[1] == 4 and x.shape[2] == 1 and x:max():item() == -1)
---```
function batch.batched(transform)
  local chain = chain_of(transform, {})
  if not chain then return nil end
  return function(images, indices)
    local plan = plan_of(chain, images)
    if plan then return plan:run(images, indices or torch.arange(images:size(0))) end
    if not all_take_batches(chain) then return nil end
    return step_by_step(chain, batch.identity(images, indices))
  end
end

---Returns the images of the given samples unchanged, as `batched` would without a transform.
---@param images torch.Tensor
---@param indices? torch.Tensor int64
---@return torch.Tensor
function batch.identity(images, indices) return indices and images:index_select(0, indices) or images end

return batch
