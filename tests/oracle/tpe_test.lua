-- Compares train.tune's TPE sampler with Optuna's: cases/tpe.py.
local lu = require 'luaunit'

require('oracle').define('TestTpe', 'tpe')

os.exit(lu.LuaUnit.run(), true)
