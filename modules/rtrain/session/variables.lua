-- rtrain/session/variables.lua: who this rank is, in its environment: for scripts of PyTorch, and programs that it starts.

local ffi = require 'ffi'
local master = require 'rtrain.session.master'
local session = require 'rtrain.session'

local variables = {}

ffi.cdef [[
int setenv(const char *name, const char *value, int overwrite);
int unsetenv(const char *name);
]]

-- Name → what was there before, or false: in local mode the process goes on afterwards.
local before = {}

local function put(name, value)
  if value then ffi.C.setenv(name, value, 1) else ffi.C.unsetenv(name) end
end

local function set(name, value)
  if before[name] == nil then before[name] = os.getenv(name) or false end
  put(name, value)
end

---Sets those that this rank knows by itself; again where it goes on in another group (train.elastic).
---@param context table of this rank
function variables.set_rank(context)
  set('RANK', ('%d'):format(context.world_rank))
  set('WORLD_SIZE', ('%d'):format(context.world_size))
  set('LOCAL_RANK', ('%d'):format(context.local_rank))
  set('LOCAL_WORLD_SIZE', ('%d'):format(context.local_world_size))
  set('NODE_RANK', ('%d'):format(context.node_rank))
end

---Sets them all, together with the other ranks. A rank that takes a lost one's place asks for no address: the others are in
---the middle of their work.
---@param host table rtrain._worker
---@param context table of this rank
function variables.set(host, context)
  variables.set_rank(context)
  -- An rtrain that the train function starts is not a rank of this run.
  set('RTRAIN_LAUNCHER', 'local')
  if session.is_joining() then return end
  local address, port = master(host, context)
  set('MASTER_ADDR', address)
  set('MASTER_PORT', port)
end

---Makes the environment what it was before.
function variables.restore()
  for name, value in next, before do put(name, value) end
  before = {}
end

return variables
