-- rtrain/data/ingest/worker.lua: IngestWorker: the rank's handle of an ingest process. A process that dies is restarted
-- and gets its unfinished jobs again, with the same results.
--
-- If the job has nodes without ranks, the process runs on one of them. After two deaths in a row there it is started on
-- the rank's own node.

local class = require 'base.class'
local errors = require 'base.errors'
local ingest = require 'rtrain._ingest'

-- Deaths in a row, without a result in between.
local MOST_DEATHS, MOST_FAR_DEATHS = 3, 2

-- The time to end a process, and the time to send a message.
local END_S, SEND_TIMEOUT_S = 1, 60

---Arguments: number, from 0; {threads, cpus, timeout_s}: cpus, a list of processors, or nil.
---@class data.IngestWorker
---@overload fun(number: integer, options: table): data.IngestWorker
local IngestWorker = class('IngestWorker')

function IngestWorker:init(number, options)
  self.number, self.name, self._options = number, 'ingest worker ' .. number, options
  self._jobs, self._deaths, self.busy_s = {}, 0, 0
end

-- Starts the process on another node, or on this one.
local function start_process(self)
  local process, host
  if self._deaths < MOST_FAR_DEATHS then process, host = ingest.start_far(self.number, self._options.threads) end
  self.name = 'ingest worker ' .. self.number .. (process and ' on node ' .. host or '')
  return process or ingest.start(self.number, {threads = self._options.threads, cpus = self._options.cpus})
end

---Starts the process if it is not running.
function IngestWorker:start()
  if self._channel then return end
  self._process = start_process(self)
  self._channel = require('torch._C').data.Channel(self._process:take_socket())
  self._known, self.busy_s, self.is_new = {}, 0, true
end

-- A lost message is sent again when the end of the process is noticed.
local function tell(self, message)
  if self._channel then self._channel:send(message, SEND_TIMEOUT_S) end
end

local function send_job(self, job)
  local stage = job.stage
  if not self._known[stage.id] then
    self._known[stage.id] = true
    tell(self, {kind = 'stage', stage = stage.id, fn = stage.dumped, limit_bytes = stage.limit_bytes})
  end
  tell(self, {kind = 'request', stage = stage.id, job = job.number, request = job.request, skip = job.received})
end

---Gives it a job.
---@param job data.IngestJob
function IngestWorker:add(job)
  self:start()
  self._jobs[#self._jobs + 1] = job
  send_job(self, job)
end

---Returns the number of its unfinished jobs.
---@return integer
function IngestWorker:num_jobs() return #self._jobs end

---Reports that a result of the stage was used.
---@param stage data.IngestStage
function IngestWorker:taken(stage) tell(self, {kind = 'taken', stage = stage.id}) end

---Discards the remaining results of the stage.
---@param stage data.IngestStage
function IngestWorker:close_stage(stage)
  for i = #self._jobs, 1, -1 do
    if self._jobs[i].stage == stage then table.remove(self._jobs, i) end
  end
  if self._known and self._known[stage.id] then tell(self, {kind = 'close', stage = stage.id}) end
end

-- Describes how the process ended. For a process on another node, only the closed connection is known.
local function end_of(process)
  local how = process:finish(END_S)
  if how == nil then return '', 'has gone, or does not come' end
  return (' (process %d)'):format(process:pid()), how
end

local function restart(self, job)
  local process, how = end_of(self._process)
  self._channel, self._deaths = nil, self._deaths + 1
  if self._deaths >= MOST_DEATHS then
    local where = job.request.name ~= '' and ' while it made ' .. job.request.name or ''
    errors.raise('worker_lost', ('%s%s %s%s, %d times in a row without a result: look for what ends the process '
      .. 'in the functions of the dataset, or for the memory that they need'):format(self.name, process, how, where,
      self._deaths))
  end
  io.stderr:write(('warning: %s%s %s: it is started again\n'):format(self.name, process, how))
  self:start()
  for _, each in ipairs(self._jobs) do send_job(self, each) end
end

local function timed_out(self, job)
  local name = job.request.name ~= '' and job.request.name or 'a request'
  errors.raise('timeout', ('%s: %s took longer than %g s: look for a wait in the functions of the dataset'):format(self.name,
    name, self._options.timeout_s))
end

-- Returns whether a message belongs to a job that still exists, and adds it to that job.
local function accept(self, message)
  for i, job in ipairs(self._jobs) do
    if job.stage.id == message.stage and job.number == message.job then
      job:add(message)
      if message.kind ~= 'result' then table.remove(self._jobs, i) end
      return
    end
  end
end

---Waits for its next message and adds it to its job.
---@param job data.IngestJob the job whose message is awaited
function IngestWorker:receive(job)
  local what, message = self._channel:receive(self._options.timeout_s, 'rows of ' .. self.name)
  if what == 'timeout' then timed_out(self, job) end
  if what == 'closed' then return restart(self, job) end
  self._deaths, self.is_new, self.busy_s = 0, false, message.busy_s
  accept(self, message)
end

---Closes its channel: an idle process ends by itself.
function IngestWorker:hang_up()
  if self._channel then self._channel:release() end
  self._channel, self._jobs = nil, {}
end

---Ends the process.
function IngestWorker:close()
  self:hang_up()
  if self._process then self._process:finish(END_S) end
  self._process = nil
end

return IngestWorker
