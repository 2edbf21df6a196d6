-- rtrain/run/watch.lua: Watch: handles the events of a run in the script's thread: display, callbacks, predicates and
-- answers to the controller.

local class = require 'base.class'
local errors = require 'base.errors'
local ScriptCalls = require 'rtrain.run.script_calls'

local TICK_S = 0.2

local Watch = class('Watch')

---@param run table of rtrain._controller
---@param parts {display: Display, callbacks: table, stop: table?, time_limit: TimeLimit?, evictions: table?, serve: function}
---  first_loop: FirstLoop?
---  `stop` is a rtrain.callbacks.stop_condition, `serve(fd, pump)` runs the train function in local mode
function Watch:init(run, parts)
  self._serve_attempt = parts.serve
  self._run, self._display, self._callbacks, self._stop = run, parts.display, parts.callbacks, parts.stop
  self._time_limit, self._evictions, self._first_loop = parts.time_limit, parts.evictions, parts.first_loop
  self.attempt = 0
  ---@type table? a rtrain.backends.backend_hooks, for a trainer with a Backend
  self.backend = nil
  ---The functions that the controller may call by name.
  self.calls = ScriptCalls()
  -- The controller asks before another attempt begins: by then the callbacks have seen why the last one failed.
  self.calls:on('before_retry', function() return true end)
end

function Watch:_check_stop(metrics)
  local ok, enough = self._callbacks:guard('RunConfig.stop', self._stop.comes_true, self._stop, metrics)
  if not ok or not enough then return end
  self._display:notice('RunConfig.stop: enough, the run is asked to end', 'info')
  self._run:request_stop('predicate')
end

function Watch:_take_all()
  for event in function() return self._run:next_event(0) end do self:take(event) end
  self._display:tick()
  if self._time_limit then self._time_limit:tick() end
end

-- Runs the train function in local mode. It pumps events while it waits.
function Watch:_serve(fd)
  local is_taking = false
  local function pump()
    if is_taking then return end  -- called from within the handling of an event
    is_taking = true
    local ok, problem = xpcall(self._take_all, errors.wrap, self)
    is_taking = false
    if not ok then error(problem, 0) end
  end
  self._serve_attempt(fd, pump)
end

---Handles one event.
---@param event table
function Watch:take(event)
  if event.type == 'call' then return self.calls:answer(self._run, event) end
  if event.type == 'local_worker' then return self:_serve(event.fd) end
  self.attempt = event.attempt or self.attempt
  self._display:show(event)
  self._callbacks:add(event)
  if self._first_loop then self._first_loop:add(event) end
  if event.type == 'report' and self._stop then self:_check_stop(event.metrics) end
  if event.type == 'evicted' and self._evictions then self._evictions:add(event) end
  if event.type == 'finished' then self.finished = event end
  if self.backend and (event.type == 'finished' or event.type == 'attempt_failed') then
    self.backend:end_attempt('the attempt has ended')
  end
end

---Handles an event, if one arrives within that time.
---@param seconds number
function Watch:pump(seconds)
  local event = self._run:next_event(seconds)
  if event then self:take(event) else self._display:tick() end
  if self._time_limit then self._time_limit:tick() end
end

---Handles events until the run has ended.
---@return table event the last one
function Watch:wait()
  while not self.finished do self:pump(TICK_S) end
  if self._evictions then self._evictions:finish() end
  return self.finished
end

return Watch
