-- torch/nn/parallel/comm_hook.lua: runs a Lua function as communication hook of DistributedDataParallel's reducer:
-- host/engine/distributed/hooks/lua_hook.h.
--
-- The hook is called for each bucket when its gradients are ready, during the backward pass. Its Futures are awaited
-- after the last bucket, in the order of the buckets, so their collectives have the same order on every rank.

local class = require 'base.class'
local errors = require 'base.errors'
local show = require 'base.shown'

local is_tensor = function(value) return require('torch._C').is_tensor(value) end

-- Describes a result that is not a Future, with an alternative.
local function advice(value)
  local _, get_future = pcall(function() return type(value) == 'userdata' and value.get_future end)
  if type(get_future) == 'function' then return 'a Work: return work:get_future():then_(function(fut) … end)' end
  if type(value) == 'table' and getmetatable(value) == nil and is_tensor(value[1]) then
    return 'a list of tensors: return fut:then_(function(fut) return fut:value()[1] end)'
  end
  return show(value)
end

-- Returns the place of the hook in the script: 'train.lua:12'.
local function place_of(hook)
  local info = debug.getinfo(class.definition(hook), 'S')
  return info.what == 'C' and 'C' or ('%s:%d'):format(info.short_src, info.linedefined)
end

local function refuse(bucket, text)
  errors.raise('user', ('register_comm_hook: the hook at %s, bucket %d: %s'):format(place_of(bucket.hook), bucket.index, text))
end

-- Returns the tensor that a hook returned for a bucket.
local function result_of(bucket)
  local value = bucket.result
  if class.is(value, require('torch.futures').Future) then
    if value:_is_orphan() then
      refuse(bucket, 'nothing completes its Future: return one of a collective, or call set_result')
    end
    value = value:wait()
  end
  if not is_tensor(value) then refuse(bucket, 'expected a Future of a Tensor, or a Tensor, got ' .. advice(value)) end
  if value:dim() ~= 1 or value:numel() ~= bucket.numel or tostring(value.device) ~= bucket.device then
    refuse(bucket, ('expected a Tensor as bucket:buffer() was, [%d] on %s, got [%s] on %s'):format(
      bucket.numel, bucket.device, table.concat(value:size(), ', '), tostring(value.device)))
  end
  return value
end

---@param state any first argument of the hook
---@param hook fun(state: any, bucket: GradBucket): Future
---@return fun(bucket: GradBucket): torch.Tensor[]? function for the reducer
return function(state, hook)
  local begun = {}
  return function(bucket)
    local buffer = bucket:buffer()
    local each = {hook = hook, index = bucket:index(), numel = buffer:numel(), device = tostring(buffer.device)}
    if each.index == 0 then begun = {} end
    each.result = hook(state, bucket)
    begun[#begun + 1] = each
    if not bucket:is_last() then return nil end
    local all, results = begun, {}
    begun = {}
    for i, one in ipairs(all) do results[i] = result_of(one) end
    return results
  end
end
