-- oracle_on_device.lua: runs the cases of tests/oracle on a device and compares with the answers of Python's torch on
-- the CPU.
--
--   require('oracle_on_device').run{'pointwise', 'reductions'}

local device = require 'harness.device'
local lu = require 'luaunit'
local oracle = require 'oracle'

local on_device = {}

-- By default convolutions round to TF32; these answers have all of float32's digits.
require('torch').backends.cudnn.allow_tf32 = false

-- Another device than 'cuda' is for trying the cases on a machine without a GPU.
local NAME = os.getenv 'RTRAIN_TEST_DEVICE' or 'cuda'

-- These have several right answers (signs of vectors, orders of equal elements), and each library gives another one.
local AMBIGUOUS = {}
for name in ([[
  geqrf linalg_eig linalg_eigh linalg_ldl_factor linalg_lstsq linalg_qr linalg_svd mode qr svd
]]):gmatch '%S+' do AMBIGUOUS[name] = true end

-- LibTorch's messages for operators that exist only for the CPU, for fewer dtypes, or not in evaluation.
local ONLY_CPU = {"from the 'CUDA' backend", "from the 'SparseCsrCUDA' backend", "not implemented for 'CUDA'",
                  'not implemented on CUDA', 'not supported on CUDA', 'only supported on CPU', 'only supports CPU',
                  'only for tensors on the CPU', '_cuda" not implemented for', 'NYI: CUDA', 'to be on cpu',
                  'cudnn RNN backward can only be called in training mode'}

-- Cases whose answer names the device, or that check more than the operator promises.
local OTHERWISE = {
  attributes = 'its answer names the device', to_cpu = 'there is nothing to copy on the CPU alone',
  median_2 = 'of equal elements it gives the index of any', embedding_bag = 'what its backward keeps is the device\'s own',
}

local function otherwise(case)
  if case.name:find '^type_' then return OTHERWISE.attributes end
  return OTHERWISE[case.name]
end

-- Whether the case's answer is random: with another seed than the golden file's, on the CPU, it changes.
local function is_random(case)
  device.seed = 1
  local problem = case:problem()
  device.seed = 0
  return problem ~= nil
end

local function says(problem, texts)
  for _, text in ipairs(texts) do
    if problem:find(text, 1, true) then return true end
  end
  return false
end

local function check(case)
  if AMBIGUOUS[case.call] then lu.skip 'there are several right answers' end
  if is_random(case) then lu.skip 'random numbers are others on each device' end
  device.name = NAME
  local problem = case:problem()
  device.name = 'cpu'
  if not problem then return end
  if otherwise(case) then lu.skip(otherwise(case)) end
  if says(problem, ONLY_CPU) then lu.skip 'LibTorch has it for the CPU alone' end
  if case.code and says(problem, {'on the same device', 'at least two devices'}) then
    lu.skip 'its text makes tensors on the CPU'
  end
  lu.fail(problem)
end

---Runs the cases of these parts as tests Test_<part>.test_<name of the case> and ends the process.
---@param parts string[] names of golden files
---@param read? fun(line: string): table as oracle.cases
function on_device.run(parts, read)
  for _, part in ipairs(parts) do
    local tests = {}
    _G['Test_' .. part] = tests
    for _, case in ipairs(oracle.cases(part, read)) do
      if not case.says then tests['test_' .. case.name] = function() check(case) end end
    end
  end
  os.exit(lu.LuaUnit.run(), true)
end

return on_device
