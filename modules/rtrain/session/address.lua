-- rtrain/session/address.lua: the address by which other ranks reach this rank's node.

---@param context table of this rank
---@return string address loopback if all ranks are on one node
return function(context)
  return context.address ~= nil and context.address ~= '' and context.address or '127.0.0.1'
end
