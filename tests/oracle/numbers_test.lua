-- Compares operators with a number as one operand, in every dtype, bit by bit: cases/numbers.py.
local lu = require 'luaunit'

require('oracle').define('TestNumbers', 'numbers')

os.exit(lu.LuaUnit.run(), true)
