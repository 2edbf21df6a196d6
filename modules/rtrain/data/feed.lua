-- rtrain/data/feed.lua: Feed: a plan made ready for loops, which ask it for the rows of an epoch.

local class = require 'base.class'
local errors = require 'base.errors'
local executor = require 'rtrain.data.executor'
local fragments = require 'rtrain.data.fragments'
local intervals = require 'rtrain.data.intervals'
local Permutation = require 'rtrain.data.permutation'
local torch = require 'torch'

-- How many fragments a rank must get at least for them to be dealt out whole, else how many pieces of them.
local FRAGMENTS, PIECES = 4, 64

---What a DataIterator draws from. Arguments: plan, {seed, counter, options, on_stats}: `seed` of what has no seed of its own;
---`counter`, a table {n}, counts the epochs itself where loops are independent of each other; `options`, {num_threads,
---memory_bytes}; `on_stats` is called with the stats of each epoch, at its beginning; `may_count`: files may be read once to
---count their rows.
---@class data.PlanFeed
---@overload fun(plan: data.Plan, options?: table): data.PlanFeed
local PlanFeed = class('PlanFeed')

function PlanFeed:init(plan, options)
  options = options or {}
  self._plan, self._seed, self._counter, self._options = plan, options.seed, options.counter, options.options or {}
  self._on_stats, self._may_count = options.on_stats, options.may_count
end

---The rows of an epoch; nil when only running the plan tells, or when files would have to be read for it and must not.
---@return integer|nil
function PlanFeed:num_rows()
  if self._num_rows == nil then
    local plan = self._plan
    self._num_rows = plan:keeps_slices() and plan:num_rows(self._may_count, plan:last_global()) or false
  end
  return self._num_rows or nil
end

-- The rows in pieces: fragments, where there are many, else equally many rows.
local function pieces_of(plan, world_size, num_rows, context)
  local out, first = {}, 0
  local list = plan:last_global() == 0 and plan.source:fragments(context) or {}
  if #list >= FRAGMENTS * world_size then
    for i, fragment in ipairs(fragments.counted(plan.source, list)) do
      out[i] = {first, first + fragment.rows}
      first = first + fragment.rows
    end
    return out
  end
  local size = math.max(1, math.ceil(num_rows / (PIECES * world_size)))
  for start = 0, num_rows - 1, size do out[#out + 1] = {start, math.min(start + size, num_rows)} end
  return out
end

-- The rank's part of what goes in where the number of rows that come out is not known: of the pieces in a fixed random order,
-- so that all ranks have about as many rows left, whatever a filter goes by.
local function slices_of(plan, part, num_rows, context)
  local pieces, shuffled = pieces_of(plan, part.world_size, num_rows, context), {}
  for i, place in ipairs(Permutation(#pieces, 0):row_at(torch.arange(#pieces)):tolist()) do
    local piece = pieces[place + 1]
    shuffled[i] = {piece[1], piece[2]}
  end
  local first = math.floor(num_rows * part.rank / part.world_size)
  local last = math.floor(num_rows * (part.rank + 1) / part.world_size)
  return intervals.union{intervals.slice(shuffled, first, last - first)}
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
  local epoch, seed = epoch_of(self, options.epoch), options.seed or self._seed
  if num_rows then slices, part = slices_of(self._plan, part, num_rows, {seed = seed, epoch = epoch}), nil end
  local threads = self._options.num_threads
  if not options.ahead then threads = 0 end
  self._execution = executor.execute(self._plan, {
    epoch = epoch, seed = seed, slices = slices, part = part, threads = threads,
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
