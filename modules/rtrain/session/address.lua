-- rtrain/session/address.lua: where other ranks reach this one's host.

---@param context table of this rank
---@return string address loopback where all ranks are on one host
return function(context)
  return context.address ~= nil and context.address ~= '' and context.address or '127.0.0.1'
end
