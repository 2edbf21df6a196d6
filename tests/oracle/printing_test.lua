-- Tensors as text, as Python prints them: cases/printing.py.
local lu = require 'luaunit'

require('oracle').define('TestPrinting', 'printing')

os.exit(lu.LuaUnit.run(), true)
