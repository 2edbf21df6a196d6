-- Returns the errors of calls that must fail.
local lu = require 'luaunit'

local refusal = {}

-- Calls the function, which must fail; returns the text of the error, and the error itself.
function refusal.message_of(fn, ...)
  local ok, err = pcall(fn, ...)
  lu.assertFalse(ok)
  return tostring(err), err
end

-- The same for an error that an argument is the cause of; returns its text.
function refusal.of_argument(fn, ...)
  local text, err = refusal.message_of(fn, ...)
  lu.assertEquals(err.code, 'argument')
  return text
end

return refusal
