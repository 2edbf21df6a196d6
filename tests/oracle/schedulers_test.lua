-- Every schedule of the learning rate against Python's: cases/schedulers.py.
local lu = require 'luaunit'

require('oracle').define('TestSchedulers', 'schedulers')

os.exit(lu.LuaUnit.run(), true)
