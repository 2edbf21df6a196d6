-- Returns the errors of calls that must fail.
local lu = require 'luaunit'

local refusal = {}

-- Calls the function, which must fail; returns the text of the error, and the error itself.
function refusal.message_of(fn, ...)
  local ok, err = pcall(fn, ...)
  lu.assertFalse(ok)
  return tostring(err), err
end

return refusal
