-- Compares every optimizer and its options with Python's: cases/optimizers.py.
local lu = require 'luaunit'

require('oracle').define('TestOptimizers', 'optimizers')

os.exit(lu.LuaUnit.run(), true)
