-- rtrain/session/master.lua: MASTER_ADDR and MASTER_PORT: the address of rank 0's node, and a free port there.

local address_of = require 'rtrain.session.address'

-- Returns a value that rank 0 makes, on all ranks of the attempt.
local function shared(host, context, name, make)
  if context.world_rank == 0 then
    local value = make()
    if context.world_size > 1 then host.store_set('master/' .. name, value) end
    return value
  end
  return host.store_get('master/' .. name, context.timeout_s)
end

---@param host table rtrain._worker
---@param context table of this rank
---@return string address, string port
return function(host, context)
  local free_port = require('rtrain._program').free_port
  local port = shared(host, context, 'port', function() return ('%d'):format(free_port()) end)
  local is_alone = context.address == nil or context.address == ''
  return is_alone and address_of(context) or shared(host, context, 'address', function() return address_of(context) end), port
end
