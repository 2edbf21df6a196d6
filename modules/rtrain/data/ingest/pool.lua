-- rtrain/data/ingest/pool.lua: IngestPool: the ingest workers of a rank, shared by all its executions.
--
-- A stage of an execution gives each request to the least busy worker and takes the results in the order of the
-- requests. The results do not depend on the number of workers, on which worker made them, or on deaths of workers.

local class = require 'base.class'
local errors = require 'base.errors'
local IngestWorker = require 'rtrain.data.ingest.worker'
local Scaling = require 'rtrain.data.ingest.scaling'
local system = require 'base._system'

-- A request and its results so far: `received` counts the results, used or not.
---@class data.IngestJob
---@field stage data.IngestStage
---@field number integer number in its stage
---@field request data.Request
---@field worker data.IngestWorker
---@field received integer
local IngestJob = class('IngestJob')

function IngestJob:init(fields)
  for name, value in pairs(fields) do self[name] = value end
  self.received, self.is_done, self._results = 0, false, {}
end

---Takes a message about the job.
---@param message table
function IngestJob:add(message)
  self.is_done = message.kind ~= 'result'
  if message.kind == 'end' then return end
  if not self.is_done then self.received = self.received + 1 end
  self._results[#self._results + 1] = message
end

---Removes and returns the oldest message with a result or an error; nil if there is none.
---@return table|nil
function IngestJob:next() return table.remove(self._results, 1) end

---A stage of an execution on the ingest workers, with the interface of a torch._C.data.Pool.
---@class data.IngestStage
local IngestStage = class('IngestStage')

function IngestStage:init(pool, id, options)
  self._pool, self.id, self._jobs, self._count = pool, id, {}, 0
  self.dumped = (require('base._closure').dump(options.fn))
  self.limit_bytes = options.limit_bytes
end

---Gives a request to a worker; returns false and does nothing if the limit of requests in flight is reached.
---@param request data.Request
---@return boolean
function IngestStage:submit(request)
  if #self._jobs >= self._pool:capacity() then return false end
  local worker = self._pool:choose()
  local job = IngestJob {stage = self, number = self._count, request = request, worker = worker}
  self._count, self._jobs[#self._jobs + 1] = self._count + 1, job
  worker:add(job)
  return true
end

---@return integer
function IngestStage:in_flight() return #self._jobs end

local function raise(worker, request, err)
  local where = request.name ~= '' and ', ' .. request.name or ''
  require('torch._C').data.raise(err.code, ('rtrain.data %s%s: %s'):format(worker.name, where, err.message), err.traceback)
end

---Returns the next result; nil at the end of a request's results.
---@return table|nil
function IngestStage:next()
  local job = self._jobs[1]
  if job == nil then return nil end
  local result = job:next()
  while result == nil do
    if job.is_done then
      table.remove(self._jobs, 1)
      return nil
    end
    self._pool:wait(job)
    result = job:next()
  end
  if result.kind == 'error' then raise(job.worker, job.request, result) end
  job.worker:taken(self)
  return result.value
end

---Discards the remaining results.
function IngestStage:close()
  self._jobs = {}
  self._pool:close_stage(self)
end

---Arguments: {workers, threads, cpus, timeout_s}: workers, the largest number at a time; cpus, a list of processors for
---each worker, or nil.
---@class data.IngestPool
---@overload fun(options: table): data.IngestPool
local IngestPool = class('IngestPool')

function IngestPool:init(options)
  self._workers, self._num_stages, self._scaling = {}, 0, Scaling(options.workers)
  for i = 1, options.workers do
    self._workers[i] = IngestWorker(i - 1, {
      threads = options.threads, cpus = options.cpus and options.cpus[i],
      timeout_s = options.timeout_s or system.default_timeout_s})
  end
end

---Starts the first process, so that it is ready when rows are needed.
function IngestPool:start()
  self._workers[1]:start()
end

---Returns how many of the workers get requests.
---@return integer
function IngestPool:num_active() return self._scaling.active end

---Returns a stage that runs a function on the workers.
---@param options {fn: function, capacity_bytes: number} as for torch._C.data.Pool; the workers share the bytes
---  equally
---@return data.IngestStage
function IngestPool:stage(options)
  if self._is_closed then errors.raise('argument', 'the train function has ended, and its ingest workers with it') end
  self._num_stages = self._num_stages + 1
  return IngestStage(self, self._num_stages, {
    fn = options.fn, limit_bytes = options.capacity_bytes / #self._workers})
end

---Returns how many requests of a stage may be in flight.
---@return integer
function IngestPool:capacity() return 2 * self:num_active() end

---Returns the worker with the fewest jobs.
---@return data.IngestWorker
function IngestPool:choose()
  local best = self._workers[1]
  for i = 2, self:num_active() do
    if self._workers[i]:num_jobs() < best:num_jobs() then best = self._workers[i] end
  end
  return best
end

local function begin_window(self, now) self._window = {since = now, waited_s = 0, busy_s = self:busy_s()} end

-- Returns whether a process is starting. The loop then waits for it, and its wait must not count for the scaling.
local function is_starting(self)
  for _, worker in ipairs(self._workers) do
    if worker.is_new and worker:num_jobs() > 0 then return true end
  end
  return false
end

-- Ends surplus workers that have nothing to do.
local function end_idle(self)
  for i = self:num_active() + 1, #self._workers do
    if self._workers[i]:num_jobs() == 0 then self._workers[i]:close() end
  end
end

local function scale(self, now)
  local window = self._window
  if window == nil or is_starting(self) then return begin_window(self, now) end
  local elapsed_s = now - window.since
  if elapsed_s < Scaling.WINDOW_S then return end
  self._scaling:decide {
    elapsed_s = elapsed_s, waited_s = window.waited_s, busy_s = math.max(0, self:busy_s() - window.busy_s)}
  end_idle(self)
  begin_window(self, now)
end

---Returns the working time of all workers so far, in seconds. It decreases when a worker is restarted.
---@return number
function IngestPool:busy_s()
  local sum = 0
  for _, worker in ipairs(self._workers) do sum = sum + worker.busy_s end
  return sum
end

---Waits for the next message of a job's worker.
---@param job data.IngestJob
function IngestPool:wait(job)
  local start = system.monotonic()
  job.worker:receive(job)
  local now = system.monotonic()
  if self._window then self._window.waited_s = self._window.waited_s + now - start end
  scale(self, now)
end

---@param stage data.IngestStage
function IngestPool:close_stage(stage)
  for _, worker in ipairs(self._workers) do worker:close_stage(stage) end
end

---Ends the processes.
function IngestPool:close()
  self._is_closed = true
  for _, worker in ipairs(self._workers) do worker:hang_up() end
  for _, worker in ipairs(self._workers) do worker:close() end
end

return IngestPool
