-- ATen's operators as the binding calls them, against Python's torch: cases/operators.py.
local lu = require 'luaunit'

require('oracle').define('TestOperators', 'operators')

os.exit(lu.LuaUnit.run(), true)
