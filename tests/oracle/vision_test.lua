-- Compares vision.models with Python's models, without stored weights: cases/vision.py.
local lu = require 'luaunit'

require('oracle').define('TestVision', 'vision')

os.exit(lu.LuaUnit.run(), true)
