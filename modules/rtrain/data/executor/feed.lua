-- rtrain/data/executor/feed.lua: PlanFeed: prepares a plan for loops, which request the rows of an epoch.

local class = require 'base.class'
local errors = require 'base.errors'
local executor = require 'rtrain.data.executor'
local parts = require 'rtrain.data.rows.parts'

---The source of a DataIterator's rows. Arguments: plan, {seed, counter, options, on_stats}: `seed` for operators
---without a seed; `counter`, a table {n} that counts the epochs if loops are independent of each other; `options`,
---{num_threads, memory_bytes, ingest}; `on_stats` is called with the stats of each epoch when it begins; `may_count`:
---files may be read once to count their rows.
---@class data.PlanFeed
---@overload fun(plan: data.Plan, options?: table): data.PlanFeed
local PlanFeed = class('PlanFeed')

function PlanFeed:init(plan, options)
  options = options or {}
  self._plan, self._seed, self._counter, self._options = plan, options.seed, options.counter, options.options or {}
  self._on_stats, self._may_count = options.on_stats, options.may_count
end

---Returns the number of rows of an epoch; nil if that requires executing the plan, or reading files without permission.
---@return integer|nil
function PlanFeed:num_rows()
  if self._num_rows == nil then
    local plan = self._plan
    self._num_rows = plan:keeps_slices() and plan:num_rows(self._may_count, plan:last_global()) or false
  end
  return self._num_rows or nil
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
  local epoch, seed = epoch_of(self, options.epoch), options.seed or self._seed
  if part then slices = parts.slices(self._plan, part, {seed = seed, epoch = epoch}) end
  if slices then part = nil end
  local threads = self._options.ingest and 1 or self._options.num_threads
  if not options.ahead then threads = 0 end
  self._execution = executor.execute(self._plan, {
    epoch = epoch, seed = seed, slices = slices, part = part, threads = threads,
    memory_bytes = self._options.memory_bytes, ingest = self._options.ingest})
  if self._on_stats then self._on_stats(self._execution:stats()) end
  return self._execution
end

---@return {name: string, type: string}[] columns
function PlanFeed:schema() return require 'rtrain.data.executor.schema'(self._plan) end

---Returns the statistics of the operators in the last epoch.
---@return data.Stats
function PlanFeed:stats()
  if not self._execution then errors.raise('argument', 'stats: nothing ran yet') end
  return self._execution:stats()
end

return PlanFeed
