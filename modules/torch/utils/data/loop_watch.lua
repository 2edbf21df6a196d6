-- torch/utils/data/loop_watch.lua: calls a function with the progress of this process's loops over batches.

local loop_watch = {}

local watcher

---Sets a function that is called for each batch that a later loop takes, and at its end.
---@param fn? fun(progress: LoopProgress) nil: no function
function loop_watch.set(fn) watcher = fn end

---@class LoopProgress
---@field taken integer batches of the epoch so far, including those before the loop's first one
---@field first integer batches before the loop's first one
---@field is_over boolean whether there is no further batch
---@field batches? integer number of batches of the epoch, as are the others; nil if unknown
---@field batch_size? integer
---@field samples? integer
---@field dataset_size? integer size of the whole dataset, if these samples are a part of it

---Iterates over the batches of a loop, and calls the function that watches them.
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
