-- Seeds that are derived from other numbers.
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

-- Seeds range from -2^63 to 2^64 - 1, as PyTorch's; negative seeds count down from 2^64. The numbers are PyTorch's.
function TestSeed.test_seeds_of_64_bits()
  for _, case in ipairs{{2 ^ 63, 9223372036854775808ULL, 0.49625658988952637}, {9223372036854775808ULL, 9223372036854775808ULL},
                        {-2 ^ 63, 9223372036854775808ULL}, {-1, 18446744073709551615ULL, 0.9937993884086609}, {5LL, 5}} do
    torch.manual_seed(case[1])
    lu.assertTrue(torch.initial_seed() == case[2])
    local first = torch.rand(1):item()
    if case[3] then lu.assertAlmostEquals(first, case[3], 1e-7) end
    local generator = torch.Generator():manual_seed(torch.initial_seed())
    lu.assertTrue(generator:initial_seed() == case[2])
    lu.assertEquals(torch.rand(1, {generator = generator}):item(), first)
  end
  for _, wrong in ipairs{2 ^ 64, 0.5, -2 ^ 63 - 4096, 0 / 0, 'x', 2i} do
    lu.assertErrorMsgContains('seed: expected an integer', torch.manual_seed, wrong)
  end
end

os.exit(lu.LuaUnit.run(), true)
