-- rtrain/session/init.lua: what a worker process knows about its run; nothing in other processes.
--
-- Set once by rtrain.worker before the train function runs.

local errors = require 'base.errors'

local session = {}

-- session → the session's state. Weak, so that nothing in it counts as a part of this module when functions travel on to
-- threads and ingest workers; its one key lives as long as the module.
local held = setmetatable({}, {__mode = 'k'})
local is_validation = false

---Begins the session of this worker.
---@param state table {context = …, checkpoint = Checkpoint?, tempdirs = set of paths}
function session.begin(state) held[session] = state end

---Makes this process one that validates a checkpoint: no train function, and no place for a fit().
function session.begin_validation() is_validation = true end

---@return boolean
function session.is_validation() return is_validation end

---Ends the session: the train function has returned.
function session.finish() held[session] = nil end

---The session, or nil outside a worker.
---@return table? state
function session.peek() return held[session] end

---Whether this process has taken a lost rank's place and has not got the others' state yet.
---@return boolean
function session.is_joining()
  local current = held[session]
  return current ~= nil and current.is_joining == true
end

---The session; raises when the caller is not in a train function.
---@param what string the function's name, for the message
---@return table state
function session.get(what)
  local current = held[session]
  if current == nil then
    errors.raise('user',
      ('%s works in the train function only: it runs in the workers, the script in the controller'):format(what))
  end
  return current
end

return session
