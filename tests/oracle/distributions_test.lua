-- Compares torch.distributions with Python's: families, transforms, constraints, divergences, errors:
-- cases/distributions.py.
local lu = require 'luaunit'

require('oracle').define('TestDistributions', 'distributions', require('harness.distribution').read)

os.exit(lu.LuaUnit.run(), true)
