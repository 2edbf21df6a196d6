-- Indexing, read and assigned, as Python does it: cases/indexing.py.
local lu = require 'luaunit'

require('oracle').define('TestIndexing', 'indexing')

os.exit(lu.LuaUnit.run(), true)
