-- torch/utils/data/loop_watch.lua: calls a function with the progress of this process's loops over batches.

local loop_watch = {}

local watcher

---Watches the loops that begin from now on: the function is called for each batch that one of them takes, and at its end.
---@param fn? fun(progress: LoopProgress) nil: nobody watches
function loop_watch.set(fn) watcher = fn end

---@class LoopProgress
---@field taken integer batches of the epoch, those before the loop's first one too
---@field first integer those before the loop's first one
---@field is_over boolean there is no further batch
---@field batches? integer of the epoch, as are the others; nil where nobody knows
---@field batch_size? integer
---@field samples? integer
---@field dataset_size? integer of which these samples are a part

---Returns the batches of a loop, as whoever watches sees them.
---@param next_batch fun(): ...
---@param describe fun(): LoopProgress of the epoch: first, batches, batch_size, samples, dataset_size
---@return fun(): ... next_batch
---
---```lua
---local loop_watch = require 'torch.utils.data.loop_watch'
---local seen
---loop_watch.set(function(progress) seen = progress.taken .. '/' .. progress.batches end)
---local i = 0
---local next_batch = loop_watch.batches(function() i = i + 1 return i end, function() return {first = 2, batches = 5} end)
---next_batch()
---assert(seen == '3/5')
---loop_watch.set(nil)
---```
function loop_watch.batches(next_batch, describe)
  local watch = watcher
  if not watch then return next_batch end
  local progress = describe()
  progress.taken, progress.is_over = progress.first, false
  local function took(...)
    if (...) == nil then progress.is_over = true else progress.taken = progress.taken + 1 end
    watch(progress)
    return ...
  end
  return function() return took(next_batch()) end
end

return loop_watch
