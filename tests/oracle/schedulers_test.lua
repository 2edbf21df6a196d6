-- Compares every scheduler of the learning rate with Python's: cases/schedulers.py.
local lu = require 'luaunit'

require('oracle').define('TestSchedulers', 'schedulers')

os.exit(lu.LuaUnit.run(), true)
