-- Compares tensors as text with Python's: cases/printing.py.
local lu = require 'luaunit'

require('oracle').define('TestPrinting', 'printing')

os.exit(lu.LuaUnit.run(), true)
