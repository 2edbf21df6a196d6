-- torch/utils/data/loop_limit.lua: limits the batches of every loop of this process, for trying a script out.

local loop_limit = {}

local limit, is_repeated, watcher

-- Object of the loop → the batches of its first loop, each a list of values.
local kept = setmetatable({}, {__mode = 'k'})

---Limits each later loop to that many batches.
---@param batches integer|nil nil: no limit
---@param repeated? boolean a second loop gets copies of the first one's batches
function loop_limit.set(batches, repeated)
  limit, is_repeated = batches, repeated or false
  kept = setmetatable({}, {__mode = 'k'})
end

---Sets a function that is called for each batch of a loop that has a limit.
---@param fn? fun() nil: no function
function loop_limit.watch(fn) watcher = fn end

---@param count integer number of batches without the limit
---@return integer
function loop_limit.count(count) return limit and math.min(count, limit) or count end

local function packed(...) return {n = select('#', ...), ...} end

local function copy(batch)
  local deepcopy, out = require('torch').deepcopy, {n = batch.n}
  for i = 1, batch.n do
    local value = batch[i]
    local is_plain = type(value) ~= 'table' and type(value) ~= 'userdata'
    out[i] = is_plain and value or deepcopy(value)
  end
  return out
end

local function repeated(list)
  local i = 0
  return function()
    i = i + 1
    if not list[i] then return nil end
    local batch = copy(list[i])
    return unpack(batch, 1, batch.n)
  end
end

---Iterates over the batches of a loop, within the limit.
---@param owner table|userdata the object of the loop; `batches_of_step`: how many count as one
---@param start fun(): (fun(): ...) begins the loop
---@return fun(): ... next_batch
---
---```lua
---local loop_limit = require 'torch.utils.data.loop_limit'
---loop_limit.set(2)
---local i = 0
---local next_batch = loop_limit.batches({}, function() return function() i = i + 1 return i end end)
---assert(next_batch() == 1 and next_batch() == 2 and next_batch() == nil)
---loop_limit.set(nil)
---```
function loop_limit.batches(owner, start)
  if not limit then return start() end
  if kept[owner] then return repeated(kept[owner]) end
  local next_batch, count, list = start(), 0, {}
  local most = limit * (owner.batches_of_step or 1)
  local function take(...)
    if (...) == nil then
      if is_repeated then kept[owner] = list end
      return nil
    end
    count = count + 1
    if watcher then watcher() end
    if is_repeated then list[count] = copy(packed(...)) end
    return ...
  end
  return function()
    if count == most then return take(nil) end
    return take(next_batch())
  end
end

return loop_limit
