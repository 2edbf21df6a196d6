-- vision/transforms/plan_cache.lua: caches the plans of chains that are used repeatedly, until something about them
-- changes.

local class = require 'base.class'
local FusedPlan = require 'vision.transforms.fused_plan'
local torch = require 'torch'

local plan_cache = {}

local NONE = {}

-- Returns the inputs of a plan, in groups of four: the number of the transform, its field, the place in a list or 0,
-- the value. It refers to no transform, so that the cache does not keep its keys alive.
local function witness_of(chain)
  local out = {}
  local function note(k, name, place, value)
    if value == nil then value = NONE end
    for _, part in ipairs{k, name, place, value} do out[#out + 1] = part end
  end
  for k, item in ipairs(chain) do
    note(k, '__index', 0, item.__index)
    for _, name in ipairs(item._parameters) do
      local value = item[name]
      note(k, name, 0, value)
      local count = type(value) == 'table' and #value or -1
      for place = 1, count + 1 do note(k, name, place, value[place]) end
    end
  end
  return out
end

local function is_unchanged(chain, witness)
  for i = 1, #witness, 4 do
    local item, place = chain[witness[i]], witness[i + 2]
    local value = item and item[witness[i + 1]]
    if place > 0 and value ~= nil then value = value[place] end
    if value == nil then value = NONE end
    if not rawequal(value, witness[i + 3]) then return false end
  end
  return true
end

local function planned(chain, channels, height, width)
  local plan = FusedPlan(channels, height, width)
  for _, item in ipairs(chain) do
    if not item:fuse(plan) then return false end
  end
  return plan:is_complete() and plan
end

---Returns whether a transform can be part of a plan. A class that extends one of the library may behave differently.
---@param item any
---@return boolean
function plan_cache.is_fusible(item)
  local of = class.of(item)
  return of ~= nil and rawget(of, 'fuse') ~= nil and rawget(of, '_parameters') ~= nil
end

-- First transform of a chain → the last plan. Batches of an epoch share a plan.
local kept = setmetatable({}, {__mode = 'k'})

local function is_for(entry, channels, height, width)
  return entry.channels == channels and entry.height == height and entry.width == width
    and entry.dtype == torch.get_default_dtype()
end

---Returns the plan of a chain for images of a size; nil if they cannot be processed in one pass. With `hesitant` a plan
---is made only for the second image of a size in a row, since plans for images of varying sizes would not be reused.
---@param chain vision.Transform[] all fusible
---@param size {channels: integer, height: integer, width: integer}
---@param hesitant? boolean
---@return vision.FusedPlan|nil
function plan_cache.of(chain, size, hesitant)
  local channels, height, width = size.channels, size.height, size.width
  local entry = kept[chain[1]]
  local is_same = entry and is_for(entry, channels, height, width) and entry.count == #chain
  if is_same and entry.witness and is_unchanged(chain, entry.witness) then return entry.plan or nil end
  entry = {channels = channels, height = height, width = width, count = #chain, dtype = torch.get_default_dtype()}
  kept[chain[1]] = entry
  if hesitant and not is_same then return nil end
  entry.witness, entry.plan = witness_of(chain), planned(chain, channels, height, width)
  return entry.plan or nil
end

return plan_cache
