-- Compares vision.transforms with torchvision's: cases/transforms.py.
local lu = require 'luaunit'

require('oracle').define('TestTransforms', 'transforms')

os.exit(lu.LuaUnit.run(), true)
