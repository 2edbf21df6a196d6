-- Compares ATen's operators, called through the binding, with Python's torch. The last line counts the operators
-- covered.
local lu = require 'luaunit'
local coverage = require 'harness.coverage'
local oracle = require 'oracle'

local cases = {}
for _, part in ipairs{'pointwise', 'reductions', 'shapes', 'linear_algebra', 'network', 'creation', 'errors'} do
  for _, case in ipairs(oracle.define('Test_' .. part, part)) do cases[#cases + 1] = case end
end

local status = lu.LuaUnit.run()
print(coverage.summary(cases))
os.exit(status, true)
