-- rtrain/run/time_limit.lua: the time limit of the job that a run is in: before it is reached the run is to save and end.
--
-- The limit is asked for with a command of the scheduler, in the background. It may be changed while the job runs, so it
-- is asked for again: every ten minutes, and before the run is ended.

local class = require 'base.class'
local duration = require 'rtrain.launch.submit.duration'
local errors = require 'base.errors'
local system = require 'base._system'

local PATIENCE_S = 10  -- for one answer
local PAUSE_S = 600
local SLACK_S = 15  -- on top of what the workers get: for the commit, and the end of the processes
local LARGEST_SHARE = 0.25  -- of the time that was left first: a short job would do little else than save

local TimeLimit = class('TimeLimit')

---@class TimeLimitOptions
---@field grace_s number what the workers get to save
---@field on_near fun(left_s: number) is called once
---@field on_problem fun(text: string) is called once, where the limit cannot be found out
---@field clock? fun(): number
---@field start? fun(command: string): table

---@param command string for a shell: prints the time that is left as Slurm writes it; `UNLIMITED` and the like: no limit
---@param options TimeLimitOptions
function TimeLimit:init(command, options)
  self._command = command
  self._grace_s = options.grace_s
  self._on_near, self._on_problem = options.on_near, options.on_problem
  self._clock = options.clock or system.monotonic
  self._start = options.start or system.start_command
  self._next_s = self._clock()
end

function TimeLimit:_ask()
  local ok, answer = pcall(self._start, self._command .. ' 2>&1')
  if not ok then return self:_fail(errors.wrap(answer).message) end
  self._answer, self._asked_s = answer, self._clock()
end

-- A limit that is known counts on.
function TimeLimit:_fail(text)
  self._next_s = self._clock() + PATIENCE_S
  if self._end_s == nil then
    self._is_over = true
    self._on_problem(('the time limit of the job is not known: %s: %s'):format(self._command, text))
  end
end

function TimeLimit:_take(text)
  text = text:match '^%s*(.-)%s*$'
  local now = self._clock()
  local left = duration.parse(text)
  if left == nil and text:find '^[%u_]+$' then
    self._end_s, self._next_s = nil, now + PAUSE_S
  elseif left == nil then
    self:_fail(text == '' and 'no answer' or text)
  else
    self._notice_s = self._notice_s or math.min(self._grace_s + SLACK_S, left * LARGEST_SHARE)
    self._end_s = now + left
    self._next_s = now + math.max(1, math.min(left - self._notice_s, PAUSE_S))
  end
end

function TimeLimit:_poll()
  local is_complete, text = self._answer:finish(0)
  if not is_complete and self._clock() - self._asked_s < PATIENCE_S then return end
  self._answer:release()
  self._answer = nil
  if is_complete then return self:_take(text) end
  self:_fail(('no answer for %d s'):format(PATIENCE_S))
end

---Looks whether it is time; never waits. To be called a few times a second.
function TimeLimit:tick()
  if self._is_over then return end
  if self._answer then
    self:_poll()
  elseif self._clock() >= self._next_s then
    self:_ask()
  end
  if self._answer or self._end_s == nil then return end
  local left = self._end_s - self._clock()
  if left > self._notice_s then return end
  self._is_over = true
  self._on_near(left)
end

---Ends a command that still runs.
function TimeLimit:close()
  self._is_over = true
  if self._answer then self._answer:release() end
  self._answer = nil
end

return TimeLimit
