-- rtrain/worker/loop_progress.lua: sends the progress of rank 0's loops over batches to the controller, for the
-- display.

local loop_watch = require 'torch.utils.data.loop_watch'
local monotonic = require('base._system').monotonic

local loop_progress = {}

local INTERVAL_S = 0.2

---Starts the reports in a rank.
---@param host table rtrain._worker
---@param rank integer
function loop_progress.begin(host, rank)
  if rank ~= 0 then return end
  local loop, began, is_shown, shown_at
  local function show(progress, now)
    -- The rate excludes the first batch, which also starts threads and warms caches.
    local count = progress.taken - progress.first - 1
    host.show_loop {
      batch = progress.taken,
      rate = count > 0 and now > began and count / (now - began) or nil,
      batches = progress.is_over and progress.taken or progress.batches,
      batch_size = progress.batch_size, samples = progress.samples, dataset_size = progress.dataset_size,
    }
    is_shown, shown_at = true, now
  end
  loop_watch.set(function(progress)
    local now = monotonic()
    if progress ~= loop then loop, began, is_shown = progress, now, false end
    local is_due = not shown_at or now >= shown_at + INTERVAL_S
    if progress.is_over and is_shown or not progress.is_over and is_due then show(progress, now) end
  end)
end

---Counts steps instead of the batches of loops.
---@param host table rtrain._worker
---@param rank integer
---@param num_steps integer
---@return fun(step: integer)? show to call after each step; nil where another rank shows them
function loop_progress.of_steps(host, rank, num_steps)
  if rank ~= 0 then return nil end
  local began, shown_at
  return function(step)
    local now = monotonic()
    began = began or now
    if shown_at and now < shown_at + INTERVAL_S and step < num_steps then return end
    host.show_loop {batch = step, batches = num_steps, rate = now > began and (step - 1) / (now - began) or nil}
    shown_at = now
  end
end

---Called when the train function has ended.
function loop_progress.finish() loop_watch.set(nil) end

return loop_progress
