-- Compares reading and assigning by index with Python's: cases/indexing.py.
local lu = require 'luaunit'

require('oracle').define('TestIndexing', 'indexing')

os.exit(lu.LuaUnit.run(), true)
