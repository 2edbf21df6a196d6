-- Compares torch.nn.functional, torch.nn.init and torch.nn.utils with Python's: cases/nn_functional.py.
local lu = require 'luaunit'

require('oracle').define('TestNnFunctional', 'nn_functional')

os.exit(lu.LuaUnit.run(), true)
