-- Compares the functions of torch.* that consist of several operators with Python's: cases/functional.py.
local lu = require 'luaunit'

require('oracle').define('TestFunctional', 'functional')

os.exit(lu.LuaUnit.run(), true)
