-- rtrain/session/variables.lua: sets the environment variables of this rank, for PyTorch scripts and child processes.

local ffi = require 'ffi'
local master = require 'rtrain.session.master'
local session = require 'rtrain.session'

local variables = {}

ffi.cdef [[
int setenv(const char *name, const char *value, int overwrite);
int unsetenv(const char *name);
]]

-- Name → previous value, or false: in local mode the process continues afterwards.
local before = {}

local function put(name, value)
  if value then ffi.C.setenv(name, value, 1) else ffi.C.unsetenv(name) end
end

local function set(name, value)
  if before[name] == nil then before[name] = os.getenv(name) or false end
  put(name, value)
end

---Sets the variables that this rank knows by itself; called again when it continues in another group (train.elastic), or
---when a spare has got its rank.
---@param context table of this rank
function variables.set_rank(context)
  if not context.is_spare then
    set('RANK', ('%d'):format(context.world_rank))
    set('LOCAL_RANK', ('%d'):format(context.local_rank))
  end
  set('WORLD_SIZE', ('%d'):format(context.world_size))
  set('LOCAL_WORLD_SIZE', ('%d'):format(context.local_world_size))
  set('NODE_RANK', ('%d'):format(context.node_rank))
end

---Sets all variables, together with the other ranks. A replacement for a lost rank does not ask for an address: the
---other ranks are in the middle of their work.
---@param host table rtrain._worker
---@param context table of this rank
function variables.set(host, context)
  variables.set_rank(context)
  -- An rtrain process started by the train function is not a rank of this run.
  set('RTRAIN_LAUNCHER', 'local')
  if session.is_joining() then return end
  local address, port = master(host, context)
  set('MASTER_ADDR', address)
  set('MASTER_PORT', port)
end

---Restores the previous environment.
function variables.restore()
  for name, value in next, before do put(name, value) end
  before = {}
end

return variables
