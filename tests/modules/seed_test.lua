-- Seeds made of other numbers.
local lu = require 'luaunit'
local seed = require 'base.seed'
local torch = require 'torch'

TestSeed = {}

function TestSeed.test_many_at_once_are_the_same()
  local indices = {0, 1, 2, 63, 59999, 2 ^ 31, 2 ^ 40 + 7}
  for _, base in ipairs{0, 1, 2 ^ 32 - 1, 2 ^ 52 - 1} do
    local many = seed.mixed_all(base, torch.tensor(indices, {dtype = 'int64'})):tolist()
    for i, index in ipairs(indices) do lu.assertEquals(many[i], seed.mixed(base, index)) end
  end
end

function TestSeed.test_neighbours_differ()
  local seen = {}
  for _, number in ipairs(seed.mixed_all(3, torch.arange(10000)):tolist()) do
    lu.assertTrue(number >= 0 and number < 2 ^ 52)
    lu.assertNil(seen[number])
    seen[number] = true
  end
end

os.exit(lu.LuaUnit.run(), true)
