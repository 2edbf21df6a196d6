-- rtrain/data/executor/init.lua: executes a plan: fragments run on the threads of a pool, and blocks come out in order,
-- with bounded memory.
--
-- A plan is cut at its global operators into stages. A stage's fused operators run on the pool. They run in the
-- consuming thread instead if there are no threads, or for rows in memory that no user function changes. In both cases
-- a user function runs on a copy of its upvalues, so that its writes to them are never visible outside.

local Block = require 'rtrain.data.blocks.block'
local Chain = require 'rtrain.data.executor.chain'
local class = require 'base.class'
local context = require 'rtrain.data.executor.context'
local count = require 'rtrain.data.executor.count'
local errors = require 'base.errors'
local fragments = require 'rtrain.data.rows.fragments'
local monotonic = require('base._system').monotonic
local Numbering = require 'rtrain.data.rows.numbering'
local sampler = require 'torch.utils.data.sampler'
local seeds = require 'base.seed'
local Selection = require 'rtrain.data.rows.selection'
local Stats = require 'rtrain.data.executor.stats'

local executor = {}

---@class data.ExecutionOptions
---@field slices? data.Slices only these rows: of the source, or of the result of the last global operator
---@field part? {rank: integer, world_size: integer}|data.StepShare instead, if the number of rows is not known: every
---  world_size-th row, or the rows of each step
---@field epoch? integer default 0
---@field seed? integer seed of shuffles and random transforms; default: drawn from the default generator
---@field threads? integer default DataContext's num_threads; 0: everything runs in the consuming thread
---@field memory_bytes? integer default DataContext's
---@field ingest? data.IngestPool runs the work of the threads, unless `threads` is 0
---@field views? boolean see data.ExecutionContext
---@field max_rows? integer limits the rows of a source's block, if only a few are needed

---An execution: an iterator over blocks. Its threads end when it is closed, exhausted or collected.
---Arguments: plan, data.ExecutionOptions.
---@class data.Execution
---@overload fun(plan: data.Plan, options?: data.ExecutionOptions): data.Execution
local Execution = class('Execution')

local function draw_seed() return sampler.draw_seed():bitwise_and(0xFFFFFFFF):item() end

function Execution:init(plan, options)
  local current = context.get_current()
  self.epoch, self.seed = options.epoch or 0, options.seed or draw_seed()
  self.threads = options.threads or current.num_threads
  self.memory_bytes = options.memory_bytes or current.memory_bytes
  self._max_bytes = math.min(current.target_max_block_size, math.max(2 ^ 10, self.memory_bytes / 8))
  self._max_rows, self._ingest, self._views = options.max_rows, options.ingest, options.views
  self._stats, self._closers = Stats(), {}
  self._next = self:run(plan, options.slices, options.part)
end

local function calls_user(operators)
  for _, operator in ipairs(operators) do
    if operator.calls_user then return true end
  end
  return false
end

-- Returns operators, or a source, with copies of the user functions and their upvalues.
local function isolated(value)
  local closure = require 'base._closure'
  return closure.load((closure.dump(value)))
end

local function named(err, name)
  if name ~= '' then err.message = ('%s: %s'):format(name, err.message) end
  return err
end

-- Runs a stage in this thread.
local function inline_stage(self, chain, requests, entries)
  local next_block, counts, name
  -- Adds the counts of a request, also if it is left early.
  local function merge()
    if counts then self._stats:merge(entries, counts) end
    counts = nil
  end
  self._closers[#self._closers + 1] = merge
  return function()
    while true do
      if next_block then
        local ok, block = xpcall(next_block, errors.wrap)
        if not ok then error(named(block, name), 0) end
        if block then return block end
        merge()
      end
      local request = requests()
      if request == nil then return nil end
      next_block, counts = chain:run(request)
      name = request.name
    end
  end
end

-- Returns a pool of threads, or a stage on the rank's ingest workers.
local function new_pool(self, chain)
  local pool = self._ingest and self._ingest:stage {fn = chain:worker(), capacity_bytes = self.memory_bytes}
  pool = pool or require('torch._C').data.Pool{
    fn = chain:worker(), name = 'rtrain.data', num_workers = self.threads, capacity = 2 * self.threads,
    capacity_bytes = self.memory_bytes}
  self._closers[#self._closers + 1] = function() pool:close() end
  return pool
end

-- Used blocks are garbage, but Lua's collector sees only a few bytes of each. It is started whenever memory_bytes were
-- taken.
local function collected(self, block)
  self._taken_bytes = (self._taken_bytes or 0) + block:size_bytes()
  if self._taken_bytes >= self.memory_bytes then
    self._taken_bytes = 0
    collectgarbage()
  end
  return block
end

local function pooled_stage(self, chain, requests, entries)
  local pool, waiting, is_drained
  local function fill()
    while not is_drained do
      waiting = waiting or requests()
      is_drained = waiting == nil
      if is_drained or not pool:submit(waiting) then return end
      waiting = nil
    end
  end
  return function()
    pool = pool or new_pool(self, chain)
    fill()
    while pool:in_flight() > 0 do
      local result = pool:next()
      fill()
      if result and result.block then return collected(self, Block.unpack(result.block)) end
      if result then self._stats:merge(entries, result.counts) end
    end
  end
end

local function run_stage(self, stage)
  local uses_user = calls_user(stage.operators)
  local threads = (stage.is_in_memory and not uses_user) and 0 or self.threads
  local source, operators = stage.source, stage.operators
  if threads == 0 and uses_user then operators = isolated(operators) end
  if threads == 0 and source and source.calls_user then source = isolated(source) end
  local chain = Chain(source, operators, {
    seed = seeds.of(self.seed, self.epoch), max_bytes = self._max_bytes, max_rows = self._max_rows})
  local entries = self._stats:add_stage(chain:names(), true)
  return (threads == 0 and inline_stage or pooled_stage)(self, chain, stage.requests, entries)
end

-- Yields a request for each fragment of `fragments.each`.
local function of_fragments(source, next_fragment)
  return function()
    local fragment, number = next_fragment()
    return fragment and {fragment = fragment, number = number, name = source:describe(fragment)}
  end
end

-- Returns the blocks of a stream, each with the numbers of its rows among all rows: random numbers do not depend on the
-- slices. The stream returns only the rows in `slices`.
local function numbered(next_block, slices)
  local numbering = Numbering(slices)
  return function()
    local block = next_block()
    while block and block:num_rows() == 0 do block = next_block() end
    if block then return block, numbering:next(block:num_rows()) end
  end
end

-- Yields a request for each block of `numbered`. Rows in memory are copied before a user function may write to them.
local function of_blocks(next_block, options)
  return function()
    local block, first_row, numbers = next_block()
    if block == nil then return nil end
    return {block = (options.copies and block:copy() or block):pack(), first_row = first_row, numbers = numbers,
            number = options.number or 0, name = ''}
  end
end

-- Yields a request for each block of the fragments in memory, which are read in this thread. Where user functions may write to
-- the rows, these are copies, and have their numbers: random numbers must not depend on how the rows were cut.
local function in_memory_requests(self, source, next_fragment, copies)
  local entry = self._stats:add_stage{source.name}[1]
  local options = {max_bytes = self._max_bytes, max_rows = self._max_rows, seed = seeds.of(self.seed, self.epoch)}
  local next_block, numbering, start
  local function read()
    while true do
      local block = next_block and next_block()
      if block then return block end
      local fragment = next_fragment()
      if fragment == nil then return nil end
      next_block, start = Selection.of_fragment(fragment, source:read(fragment, options)), fragment.start or 0
      numbering = Numbering(copies and (fragment.keep or fragment.numbers) or nil)
    end
  end
  local counted = count.stream(entry, read)
  return of_blocks(function()
    local block = counted()
    if block == nil then return nil end
    local first, numbers = numbering:next(block:num_rows())
    return block, start + first, numbers
  end, {copies = copies})
end

local function first_stage(self, plan, last, slices)
  local source, operators = plan.source, {}
  for i = 1, last do operators[i] = plan.operators[i] end
  local list = source:fragments{seed = self.seed, epoch = self.epoch, views = self._views}
  local next_fragment = fragments.each(source, list, slices)
  if not source.in_memory then
    return run_stage(self, {source = source, operators = operators, requests = of_fragments(source, next_fragment)})
  end
  local requests = in_memory_requests(self, source, next_fragment, calls_user(operators))
  return run_stage(self, {operators = operators, requests = requests, is_in_memory = true})
end

-- `of` says which rows of the preceding operator's result the stream holds: {slices, part}.
local function later_stage(self, plan, first, last, next_block, of)
  if first > last then return next_block end
  local operators = {}
  for i = first, last do operators[#operators + 1] = plan.operators[i] end
  local slices = calls_user(operators) and of.slices or nil
  -- The rows of a part without slices have no numbers in the whole: each rank counts its own rows.
  local requests = of_blocks(numbered(next_block, slices), {number = not slices and of.part and of.part.rank or nil})
  return run_stage(self, {operators = operators, requests = requests, is_in_memory = true})
end

-- Returns a global operator's stream; `slices` selects among its rows.
local function global_stage(self, plan, place, next_block, slices)
  local operator = plan.operators[place]
  local options = {num_rows = plan:num_rows(false, place - 1), keep = slices}
  local out = operator:stream(next_block, self, options)
  local is_kept = operator.selects and options.num_rows
  if slices and not is_kept then out = Selection(slices):blocks(out) end
  return count.stream(self._stats:add_stage{operator.name}[1], out)
end

-- Returns the stream of an operator that executes its inputs itself.
local function combined_stage(self, plan, place, options)
  local operator = plan.operators[place]
  local out = operator:stream_of(plan:first(place - 1), self, options)
  return count.stream(self._stats:add_stage{operator.name}[1], out)
end

-- Returns the place of the last operator that executes its inputs itself, 0 if there is none.
local function last_combined(operators)
  for i = #operators, 1, -1 do
    if operators[i].runs_inputs then return i end
  end
  return 0
end

-- Returns a rank's part of a stream, and the numbers of its rows if they are known.
local function of_part(next_block, part)
  if part.batch_size then return Selection.by_steps(next_block, part) end
  return Selection.strided(next_block, part.world_size, part.rank)
end

-- Returns the place of the next global operator, one past the end if there is none.
local function next_global(operators, from)
  for i = from, #operators do
    if operators[i].is_global then return i end
  end
  return #operators + 1
end

---Returns the blocks of a plan, with the seed and the epoch of this execution. Called by operators that combine plans.
---@param plan data.Plan
---@param slices? data.Slices
---@param part? {rank: integer, world_size: integer}|data.StepShare
---@return fun(): data.Block|nil
function Execution:run(plan, slices, part)
  local last, combined = plan:last_global(), last_combined(plan.operators)
  local place = next_global(plan.operators, combined + 1)
  local next_block
  local numbers = slices
  local function of(global) return global == last and {slices = numbers, part = part} or {} end
  if combined > 0 then
    next_block = combined_stage(self, plan, combined, of(combined))
    next_block = later_stage(self, plan, combined + 1, place - 1, next_block, of(combined))
  else
    next_block = first_stage(self, plan, place - 1, of(0).slices)
  end
  while place <= #plan.operators do
    next_block = global_stage(self, plan, place, next_block, place == last and slices or nil)
    if part and place == last then next_block, numbers = of_part(next_block, part) end
    local following = next_global(plan.operators, place + 1)
    next_block = later_stage(self, plan, place + 1, following - 1, next_block, of(place))
    place = following
  end
  return next_block
end

---Returns the next block, nil at the end.
---@return data.Block|nil
function Execution:next()
  if not self._next then return nil end
  local start = monotonic()
  local ok, block = xpcall(self._next, errors.wrap)
  self._stats.wait_s = self._stats.wait_s + monotonic() - start
  if not ok or block == nil then self:close() end
  if not ok then error(block, 0) end
  return block
end

function Execution:__call() return self:next() end

---Ends the threads and removes temporary files; a second call has no effect.
function Execution:close()
  if self._next then self._stats:finish() end
  self._next = nil
  local closers = self._closers
  self._closers = {}
  -- The pool may already be gone while the execution is being collected.
  for _, close in ipairs(closers) do pcall(close) end
end

---Returns the statistics of the operators so far.
---@return data.Stats
function Execution:stats() return self._stats end

---Executes a plan.
---@param plan data.Plan
---@param options? data.ExecutionOptions
---@return data.Execution
function executor.execute(plan, options) return Execution(plan, options or {}) end

return executor
