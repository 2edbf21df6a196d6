-- rtrain/session/init.lua: the state of a worker process in its run; empty in other processes.
--
-- rtrain.worker sets it once, before the train function runs.

local errors = require 'base.errors'

local session = {}

-- session → the session's state. Weak, so that the state is not serialized as a part of this module when functions are
-- sent to threads and ingest workers. The only key lives as long as the module.
local held = setmetatable({}, {__mode = 'k'})
local is_validation = false

---Begins the session of this worker.
---@param state table {context = …, checkpoint = Checkpoint?, tempdirs = set of paths}
function session.begin(state) held[session] = state end

---Marks this process as one that validates a checkpoint: it has no train function and may not call fit().
function session.begin_validation() is_validation = true end

---@return boolean
function session.is_validation() return is_validation end

---Ends the session: the train function has returned.
function session.finish() held[session] = nil end

---Returns the session, or nil outside a worker.
---@return table? state
function session.peek() return held[session] end

---Returns whether this process replaces a lost rank and has not received the others' state yet.
---@return boolean
function session.is_joining()
  local current = held[session]
  return current ~= nil and current.is_joining == true
end

---Waits until this process has a rank. A spare, which is to replace the next lost rank, has none before; where it needs
---one it waits here.
function session.take_place()
  local current = held[session]
  local place = current and current.place
  if place then place() end
end

---Returns the session; raises an error outside a train function.
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
