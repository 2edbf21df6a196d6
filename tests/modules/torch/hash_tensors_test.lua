-- torch._C._hash_tensors, by which ranks compare their states: every single bit counts.
local lu = require 'luaunit'
local torch = require 'torch'
local hash_tensors = require('torch._C')._hash_tensors

TestHashTensors = {}

local function hash(tensor) return (hash_tensors{tensor}) end

function TestHashTensors:test_ten_thousand_flipped_bits()
  torch.manual_seed(1)
  local tensors = {torch.randn(7), torch.randn(31, 17), torch.randn(400, 1000), torch.randn(5, {dtype = 'float64'})}
  local found = 0
  math.randomseed(2)
  for i = 1, 10000 do
    local words = tensors[i % #tensors + 1]:view(-1):view('int32')
    local before = hash(words)
    words:narrow(0, math.random(0, words:numel() - 1), 1):bitwise_xor_(2 ^ math.random(0, 30))
    if hash(words) ~= before then found = found + 1 end
  end
  lu.assertEquals(found, 10000)
end

function TestHashTensors:test_equal_tensors_have_equal_hashes()
  local x = torch.arange(3000000, {dtype = 'float32'}):view(1000, 3000)
  local before = hash(x)
  lu.assertEquals(hash(x:clone()), before)
  lu.assertEquals(hash(x:t():contiguous():t()), before)
  torch.set_num_threads(1)
  lu.assertEquals(hash(x), before)
  torch.set_num_threads(2)
  lu.assertNotEquals(hash(x:t()), before)
end

function TestHashTensors:test_a_hash_of_all_and_one_of_each()
  local a, b = torch.zeros(3), torch.ones(3)
  local all, each = hash_tensors{a, b, torch.zeros(0)}
  lu.assertEquals(each, {hash(a) and select(2, hash_tensors{a})[1], select(2, hash_tensors{b})[1], 0})
  lu.assertNotEquals(all, (hash_tensors{b, a, torch.zeros(0)}))
end

os.exit(lu.LuaUnit.run(), true)
