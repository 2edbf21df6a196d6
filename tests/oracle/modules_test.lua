-- Compares modules of torch.nn with Python's: print, state_dict, initial values, results and gradients:
-- cases/modules.py.
local lu = require 'luaunit'

require('oracle').define('TestModules', 'modules', require('harness.module').read)

os.exit(lu.LuaUnit.run(), true)
