-- rtrain/session/spare.lua: the context of a spare: a process that runs the train function before a rank is lost, and then
-- takes that rank's place.
--
-- It runs ahead to the first place that depends on the rank: there it waits until it has one (Attempt::keep_spares in
-- host/train/attempt.h). So it never computes with a rank that is not its own.

local spare = {}

-- What differs between the ranks of a node, or between attempts.
local UNKNOWN = {world_rank = true, local_rank = true, attempt = true, nonce = true, first_index = true,
                 starting_checkpoint = true, place = true}
local VARIABLES = {RANK = true, LOCAL_RANK = true}

-- Makes functions that give the rank to the script, or to a process that it starts, wait for it. Returns a function that
-- puts the old ones back.
local function watch(wait)
  local getenv, execute, popen = os.getenv, os.execute, io.popen
  rawset(os, 'getenv', function(name)
    if VARIABLES[name] then wait() end
    return getenv(name)
  end)
  rawset(os, 'execute', function(...)
    wait()
    return execute(...)
  end)
  rawset(io, 'popen', function(...)
    wait()
    return popen(...)
  end)
  return function()
    rawset(os, 'getenv', getenv)
    rawset(os, 'execute', execute)
    rawset(io, 'popen', popen)
  end
end

---Makes the context of the session one that waits for the rank where it is read, and `session.take_place` wait for it.
---@param host table rtrain._worker
---@param state table state of the session
---@param on_wait function called once, before it waits
---@param on_place function called once, with the context
function spare.begin(host, state, on_wait, on_place)
  local context, unwatch = state.context, nil
  local function place()
    if state.place == nil then return end
    on_wait()
    host.take_place()
    state.place = nil
    setmetatable(context, nil)
    for name in next, context do context[name] = nil end
    for name, value in next, host.context() do context[name] = value end
    unwatch()
    on_place(context)
  end
  for name in next, UNKNOWN do context[name] = nil end
  setmetatable(context, {__index = function(_, name)
    if not UNKNOWN[name] then return nil end
    place()
    return rawget(context, name)
  end})
  state.place = place
  unwatch = watch(place)
end

return spare
