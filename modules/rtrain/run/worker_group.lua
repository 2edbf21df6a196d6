-- rtrain/run/worker_group.lua: WorkerGroup: the workers of one attempt, as a Backend sees them.
--
-- A worker asks the script what to do (rtrain.worker.backend_tasks) and waits for the answer: a function, or to go on. Its next
-- question brings what the function has returned. The group keeps the answers that workers wait for.

local class = require 'base.class'
local closure = require 'base._closure'
local errors = require 'base.errors'
local show = require 'base.shown'
local system = require 'base._system'

local MAX_BYTES = 256 * 1024
local TICK_S = 0.2

---The workers of one attempt, for the functions of a Backend. A function travels as the train function does, with its upvalues
---and arguments (up to 256 KiB), and may use train.get_context(). Ray equivalent: ray.train's WorkerGroup.
---@class WorkerGroup
---@field num_workers integer
local WorkerGroup = class('WorkerGroup')

---@param parts {attempt: integer, num_workers: integer, timeout_s: number, pump: function?} pump(seconds): takes an event of
---  the run; without it the worker is this thread
function WorkerGroup:init(parts)
  self.attempt, self.num_workers = parts.attempt, parts.num_workers
  self._timeout_s, self._pump = parts.timeout_s, parts.pump
  self._answers = {}  -- rank → function that answers its question
  self._results = {}  -- rank → what its last function gave
end

-- A worker's question.
function WorkerGroup:_take(rank, result, answer)
  self._results[rank] = result
  self._answers[rank] = answer
  if self._failed then self:_answer(rank, false, self._failed) end
end

function WorkerGroup:_answer(rank, ok, value)
  local answer = self._answers[rank]
  self._answers[rank] = nil
  if answer then answer(ok, value) end
end

-- All that wait, and later ones too when it is an error.
function WorkerGroup:_answer_all(ok, value)
  if not ok then self._failed = value end
  for rank = 0, self.num_workers - 1 do self:_answer(rank, ok, value) end
end

function WorkerGroup:_end(why) self._ended = self._ended or why end

local function missing(self, ranks)
  local out = {}
  for _, rank in ipairs(ranks) do
    if not self._answers[rank] then out[#out + 1] = rank end
  end
  return out
end

local function are_here(self, ranks) return #missing(self, ranks) == 0 end

local function rank_text(ranks) return (#ranks == 1 and 'rank ' or 'ranks ') .. table.concat(ranks, ', ') end

-- Takes events until these ranks wait for an answer.
local function wait_for(self, name, ranks)
  local deadline = system.monotonic() + self._timeout_s
  while not are_here(self, ranks) do
    if self._ended then
      errors.raise('worker_lost', ('WorkerGroup:%s: %s'):format(name, self._ended))
    end
    if system.monotonic() > deadline then
      errors.raise('timeout', ('WorkerGroup:%s: %s has not returned within %g s (BackendConfig.timeout_s)'):format(name,
        rank_text(missing(self, ranks)), self._timeout_s))
    end
    self._pump(TICK_S)
  end
end

local function packed(name, fn, ...)
  if type(fn) ~= 'function' then
    errors.raise('argument', ('WorkerGroup:%s: expected a function, got %s'):format(name, show(fn)))
  end
  local bytes = closure.dump {fn = fn, count = select('#', ...), args = {...}}
  if #bytes > MAX_BYTES then
    errors.raise('argument', ('WorkerGroup:%s: the function with its upvalues and arguments has %d bytes when serialized, the '
      .. 'limit is %d: let it read a file'):format(name, #bytes, MAX_BYTES))
  end
  return bytes
end

-- The errors of the ranks as one: the same text once.
local function raise_errors(name, ranks, results)
  local failed, texts, code = {}, {}, nil
  for _, rank in ipairs(ranks) do
    local result = results[rank]
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

local function execute(self, name, ranks, fn, ...)
  if not self._pump then return {(fn(...))} end
  local bytes = packed(name, fn, ...)
  wait_for(self, name, ranks)
  for _, rank in ipairs(ranks) do self:_answer(rank, true, {task = bytes}) end
  wait_for(self, name, ranks)
  raise_errors(name, ranks, self._results)
  local values = {}
  for i, rank in ipairs(ranks) do values[i] = closure.load(self._results[rank].value).value end
  return values
end

---Calls the function on every worker, at the same time, and waits until all have returned.
---@param fn fun(...: any): any
---@param ... any its arguments
---@return any[] values by rank: values[1] is rank 0's
---Raises what the function raised, with the rank and its line; code 'timeout' behind BackendConfig.timeout_s, 'worker_lost'
---when the attempt ends meanwhile.
function WorkerGroup:execute(fn, ...)
  local ranks = {}
  for rank = 0, self.num_workers - 1 do ranks[rank + 1] = rank end
  return execute(self, 'execute', ranks, fn, ...)
end

---The same on one worker.
---@param rank integer from 0
---@param fn fun(...: any): any
---@param ... any its arguments
---@return any value
function WorkerGroup:execute_single(rank, fn, ...)
  if type(rank) ~= 'number' or rank < 0 or rank >= self.num_workers or rank % 1 ~= 0 then
    errors.raise('argument', ('WorkerGroup:execute_single: rank %s: the group has %d workers (ranks count from 0)'):format(
      show(rank), self.num_workers))
  end
  return execute(self, 'execute_single', {rank}, fn, ...)[1]
end

return WorkerGroup
