-- What of torch.* is more than one operator, as Python does it: cases/functional.py.
local lu = require 'luaunit'

require('oracle').define('TestFunctional', 'functional')

os.exit(lu.LuaUnit.run(), true)
