-- rtrain/backends/worker_group.lua: WorkerGroup: the workers of one attempt, as a Backend uses them.
--
-- A worker asks the script what to do (rtrain.backends.backend_tasks) and waits for the answer: run a function, or
-- continue. Its next question carries the function's result. The group keeps the answer callbacks of the waiting
-- workers.

local class = require 'base.class'
local closure = require 'base._closure'
local errors = require 'base.errors'
local show = require 'base.shown'
local system = require 'base._system'

local MAX_BYTES = 256 * 1024
local TICK_S = 0.2

---The workers of one attempt, for the functions of a Backend. A function is sent as the train function is, with its
---upvalues and arguments (up to 256 KiB), and may use train.get_context(). Ray equivalent: ray.train's WorkerGroup.
---@class WorkerGroup
---@field num_workers integer
local WorkerGroup = class('WorkerGroup')

---@param parts {attempt: integer, num_workers: integer, timeout_s: number, pump: function?} pump(seconds) waits for
---  an event of the run; without it this thread is the worker
function WorkerGroup:init(parts)
  self.attempt, self.num_workers = parts.attempt, parts.num_workers
  self._timeout_s, self._pump = parts.timeout_s, parts.pump
  self._answers = {}  -- rank → callback that answers its question
  self._slots = {}    -- rank → slot that receives the result of its running function
end

-- Takes a worker's question, with the result of the function that it ran.
function WorkerGroup:_take(rank, result, answer)
  local slot = self._slots[rank]
  if slot and result then slot.result, self._slots[rank] = result, nil end
  self._answers[rank] = answer
  if self._failed then self:_answer(rank, false, self._failed) end
end

function WorkerGroup:_answer(rank, ok, value)
  local answer = self._answers[rank]
  self._answers[rank] = nil
  if answer then answer(ok, value) end
end

-- Answers all waiting workers. An error also answers the questions that come later.
function WorkerGroup:_answer_all(ok, value)
  if not ok then self._failed = value end
  for rank = 0, self.num_workers - 1 do self:_answer(rank, ok, value) end
end

function WorkerGroup:_end(why) self._ended = self._ended or why end

local function rank_text(ranks) return (#ranks == 1 and 'rank ' or 'ranks ') .. table.concat(ranks, ', ') end

local function check_live(self, name)
  if self._ended then errors.raise('worker_lost', ('WorkerGroup:%s: %s'):format(name, self._ended)) end
end

-- Handles events of the run until `is_true` holds for each of these ranks.
local function wait_until(self, name, ranks, is_true)
  local deadline = system.monotonic() + self._timeout_s
  while true do
    local late = {}
    for i, rank in ipairs(ranks) do
      if not is_true(rank, i) then late[#late + 1] = rank end
    end
    if #late == 0 then return end
    check_live(self, name)
    if system.monotonic() > deadline then
      errors.raise('timeout', ('WorkerGroup:%s: %s has not returned within %g s (BackendConfig.timeout_s)'):format(name,
        rank_text(late), self._timeout_s))
    end
    self._pump(TICK_S)
  end
end

local function check_function(name, fn)
  if type(fn) ~= 'function' then
    errors.raise('argument', ('WorkerGroup:%s: expected a function, got %s'):format(name, show(fn)))
  end
end

local function packed(name, fn, ...)
  check_function(name, fn)
  local bytes = closure.dump {fn = fn, count = select('#', ...), args = {...}}
  if #bytes > MAX_BYTES then
    errors.raise('argument', ('WorkerGroup:%s: the function with its upvalues and arguments has %d bytes when serialized, the '
      .. 'limit is %d: let it read a file'):format(name, #bytes, MAX_BYTES))
  end
  return bytes
end

-- Raises the errors of the ranks as one error. Equal texts appear once.
local function raise_errors(name, ranks, slots)
  local failed, texts, code = {}, {}, nil
  for i, rank in ipairs(ranks) do
    local result = slots[i].result
    if not result.ok then
      if not failed[result.message] then
        failed[result.message] = {}
        texts[#texts + 1] = result.message
      end
      code = code or result.code
      table.insert(failed[result.message], rank)
    end
  end
  if code == nil then return end
  for i, text in ipairs(texts) do texts[i] = ('%s: %s'):format(rank_text(failed[text]), text) end
  errors.raise(code, ('WorkerGroup:%s: %s'):format(name, table.concat(texts, '\n')))
end

-- Starts the function on these ranks and returns the slots of their results.
local function begin(self, name, ranks, fn, ...)
  local bytes, slots = packed(name, fn, ...), {}
  wait_until(self, name, ranks, function(rank) return self._answers[rank] end)
  for i, rank in ipairs(ranks) do
    slots[i] = {}
    self._slots[rank] = slots[i]
    self:_answer(rank, true, {task = bytes})
  end
  return slots
end

-- Waits for the results of the ranks and returns their values.
local function finish(self, name, ranks, slots)
  local values = {}
  wait_until(self, name, ranks, function(_, i) return slots[i].result end)
  raise_errors(name, ranks, slots)
  for i, slot in ipairs(slots) do values[i] = closure.load(slot.result.value).value end
  return values
end

-- Calls the function in local mode, where this thread is the worker.
local function call_here(self, name, fn, ...)
  check_live(self, name)
  check_function(name, fn)
  return (fn(...))
end

local function execute(self, name, ranks, fn, ...)
  if not self._pump then return {call_here(self, name, fn, ...)} end
  return finish(self, name, ranks, begin(self, name, ranks, fn, ...))
end

local function execute_async(self, name, ranks, fn, ...)
  local futures, list = require 'torch.futures', {}
  if not self._pump then
    list[1] = futures.Future()
    list[1]:set_result(call_here(self, name, fn, ...))
    return list
  end
  for i, slot in ipairs(begin(self, name, ranks, fn, ...)) do
    list[i] = futures._of_function(function() return finish(self, name, {ranks[i]}, {slot})[1] end, function()
      if not slot.result and not self._ended then self._pump(0) end
      return slot.result ~= nil or self._ended ~= nil
    end)
  end
  return list
end

local function all_ranks(self)
  local ranks = {}
  for rank = 0, self.num_workers - 1 do ranks[rank + 1] = rank end
  return ranks
end

local function check_rank(self, name, rank)
  if type(rank) == 'number' and rank >= 0 and rank < self.num_workers and rank % 1 == 0 then return {rank} end
  errors.raise('argument', ('WorkerGroup:%s: rank %s: the group has %d workers (ranks count from 0)'):format(name, show(rank),
    self.num_workers))
end

---Calls the function on every worker, at the same time, and waits until all have returned.
---@param fn fun(...: any): any
---@param ... any its arguments
---@return any[] values by rank: values[1] is rank 0's
---Raises the function's error, with the rank and its line; code 'timeout' after BackendConfig.timeout_s, 'worker_lost'
---when the attempt ends during the call.
function WorkerGroup:execute(fn, ...) return execute(self, 'execute', all_ranks(self), fn, ...) end

---As execute, on a single worker.
---@param rank integer from 0
---@param fn fun(...: any): any
---@param ... any its arguments
---@return any value
function WorkerGroup:execute_single(rank, fn, ...)
  return execute(self, 'execute_single', check_rank(self, 'execute_single', rank), fn, ...)[1]
end

---As execute, without waiting for the values: `future:wait()` returns them, and raises the error of that worker.
---@param fn fun(...: any): any
---@param ... any its arguments
---@return Future[] futures of torch.futures, by rank
function WorkerGroup:execute_async(fn, ...) return execute_async(self, 'execute_async', all_ranks(self), fn, ...) end

---As execute_async, on a single worker.
---@param rank integer from 0
---@param fn fun(...: any): any
---@param ... any its arguments
---@return Future
function WorkerGroup:execute_single_async(rank, fn, ...)
  return execute_async(self, 'execute_single_async', check_rank(self, 'execute_single_async', rank), fn, ...)[1]
end

return WorkerGroup
