-- base/random_hex.lua: random bytes from the kernel as hex text: for names and keys, not for a run's random numbers.

---@param num_bytes integer
---@return string hex two digits for each byte
---
---```lua
---local random_hex = require 'base.random_hex'
---assert(#random_hex(4) == 8 and random_hex(16) ~= random_hex(16))
---```
return function(num_bytes)
  local source = assert(io.open('/dev/urandom', 'rb'))
  local bytes = source:read(num_bytes)
  source:close()
  return (bytes:gsub('.', function(byte) return ('%02x'):format(byte:byte()) end))
end
