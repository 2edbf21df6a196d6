-- rtrain/data/executor/feed.lua: PlanFeed: prepares a plan for loops, which request the rows of an epoch.

local class = require 'base.class'
local errors = require 'base.errors'
local executor = require 'rtrain.data.executor'
local parts = require 'rtrain.data.rows.parts'
local Selection = require 'rtrain.data.rows.selection'

---The source of a DataIterator's rows. Arguments: plan, {seed, counter, options, on_stats}: `seed` for operators
---without a seed; `counter`, a table {n} that counts the epochs if loops are independent of each other; `options`,
---{num_threads, memory_bytes, ingest}; `on_stats` is called with the stats of each epoch when it begins; `may_count`:
---files may be read once to count their rows; `by_steps`: rows are dealt by steps in any case.
---@class data.PlanFeed
---@overload fun(plan: data.Plan, options?: table): data.PlanFeed
local PlanFeed = class('PlanFeed')

function PlanFeed:init(plan, options)
  options = options or {}
  self._plan, self._seed, self._counter, self._options = plan, options.seed, options.counter, options.options or {}
  self._on_stats, self._may_count, self._by_steps = options.on_stats, options.may_count, options.by_steps
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

---Returns whether ranks take the rows by steps: where that costs nothing, or in any case.
---@return boolean
function PlanFeed:deals_by_steps()
  if self._by_steps then return true end
  if self:num_rows() then return self._plan:gives_any_rows() end
  return self._plan:selects_steps()
end

---Returns whether the blocks of a stream are views of memory, so that rows of other ranks cost nothing.
---@return boolean
function PlanFeed:gives_views() return #self._plan.operators == 0 and self._plan.source.gives_views end

local function epoch_of(self, epoch)
  if not self._counter then return epoch end
  self._counter.n = self._counter.n + 1
  return self._counter.n - 1
end

-- Returns the rows of some steps of a stream that has all rows.
local function steps_of(execution, steps)
  local next_block = Selection.by_steps(function() return execution:next() end, steps)
  return {next = function() return next_block() end, close = function() execution:close() end}
end

---Begins an epoch.
---@param options data.FeedOptions
---@return data.Stream
function PlanFeed:stream(options)
  local steps = options.steps
  if not steps then return self:_execute(options, options.part) end
  if self._plan:selects_steps() then return self:_execute(options, nil, steps) end
  return steps_of(self:_execute(options), steps)
end

-- Begins an execution of all rows, of a rank's part, or of the rows of some steps.
function PlanFeed:_execute(options, part, steps)
  local slices = options.rows
  local epoch, seed = epoch_of(self, options.epoch), options.seed or self._seed
  if part then slices = parts.slices(self._plan, part, {seed = seed, epoch = epoch}) end
  if slices then part = nil end
  part = part or steps
  local threads = self._options.ingest and 1 or self._options.num_threads
  if not options.ahead then threads = 0 end
  self._execution = executor.execute(self._plan, {
    epoch = epoch, seed = seed, slices = slices, part = part, threads = threads,
    memory_bytes = self._options.memory_bytes, ingest = self._options.ingest, views = options.views})
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
