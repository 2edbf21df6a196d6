-- The error of a call that must not succeed.
local lu = require 'luaunit'

local refusal = {}

-- Its text, and the error itself.
function refusal.message_of(fn, ...)
  local ok, err = pcall(fn, ...)
  lu.assertFalse(ok)
  return tostring(err), err
end

return refusal
