-- Compares autocast, GradScaler and weight averaging with Python's: cases/amp.py.
local lu = require 'luaunit'

require('oracle').define('TestAmp', 'amp')

os.exit(lu.LuaUnit.run(), true)
