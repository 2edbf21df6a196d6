-- rtrain/data/feed.lua: Feed: a plan made ready for loops, which ask it for the rows of an epoch.

local class = require 'rtrain.class'
local errors = require 'rtrain.errors'
local executor = require 'rtrain.data.executor'

---What a DataIterator draws from. Arguments: plan, {seed, counter, options, on_stats}: `seed` of what has no seed of its own;
---`counter`, a table {n}, counts the epochs itself where loops are independent of each other; `options`, {num_threads,
---memory_bytes}; `on_stats` is called with the stats of each epoch, at its beginning.
---@class data.PlanFeed
---@overload fun(plan: data.Plan, options?: table): data.PlanFeed
local PlanFeed = class('PlanFeed')

function PlanFeed:init(plan, options)
  options = options or {}
  self._plan, self._seed, self._counter, self._options = plan, options.seed, options.counter, options.options or {}
  self._on_stats = options.on_stats
end

---The rows of an epoch; nil when only running the plan tells.
---@return integer|nil
function PlanFeed:num_rows() return self._plan:keeps_slices() and self._plan:sliceable_rows() or nil end

-- The rank's part of what goes in where the number of rows that come out is not known.
local function slices_of(part, num_rows)
  local first = math.floor(num_rows * part.rank / part.world_size)
  local last = math.floor(num_rows * (part.rank + 1) / part.world_size)
  return first < last and {{first, last}} or {}
end

local function epoch_of(self, epoch)
  if not self._counter then return epoch end
  self._counter.n = self._counter.n + 1
  return self._counter.n - 1
end

---Begins an epoch.
---@param options data.FeedOptions
---@return data.Execution
function PlanFeed:stream(options)
  local slices, part = options.rows, options.part
  local num_rows = part and self._plan:sliceable_rows()
  if num_rows then slices, part = slices_of(part, num_rows), nil end
  local threads = self._options.num_threads
  if not options.ahead then threads = 0 end
  self._execution = executor.execute(self._plan, {
    epoch = epoch_of(self, options.epoch), seed = self._seed, slices = slices, part = part, threads = threads,
    memory_bytes = self._options.memory_bytes})
  if self._on_stats then self._on_stats(self._execution:stats()) end
  return self._execution
end

---@return {name: string, type: string}[] columns
function PlanFeed:schema() return require 'rtrain.data.schema'(self._plan) end

---What the operators did in the last epoch.
---@return data.Stats
function PlanFeed:stats()
  if not self._execution then errors.raise('argument', 'stats: nothing ran yet') end
  return self._execution:stats()
end

return PlanFeed
