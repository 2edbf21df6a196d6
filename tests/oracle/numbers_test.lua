-- Operators with a number on one side, every dtype, bit by bit: cases/numbers.py.
local lu = require 'luaunit'

require('oracle').define('TestNumbers', 'numbers')

os.exit(lu.LuaUnit.run(), true)
