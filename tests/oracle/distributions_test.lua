-- torch.distributions against Python's: families, transforms, constraints, divergences, refusals: cases/distributions.py.
local lu = require 'luaunit'

require('oracle').define('TestDistributions', 'distributions', require('harness.distribution').read)

os.exit(lu.LuaUnit.run(), true)
