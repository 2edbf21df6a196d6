-- torch.backends: switches that exist without a GPU; their defaults are Python's.
local lu = require 'luaunit'
local torch = require 'torch'
local cuda, cudnn = torch.backends.cuda, torch.backends.cudnn

local message_of = require('refusal').message_of

TestBackends = {}

function TestBackends:test_cudnn()
  for name, default in pairs{enabled = true, benchmark = false, deterministic = false, allow_tf32 = true} do
    lu.assertEquals(cudnn[name], default, name)
    cudnn[name] = not default
    lu.assertEquals(cudnn[name], not default, name)
    cudnn[name] = default
  end
  lu.assertEquals(cudnn.benchmark_limit, 10)
  cudnn.benchmark_limit = 0
  lu.assertEquals(cudnn.benchmark_limit, 0)
  cudnn.benchmark_limit = 10
  lu.assertEquals(cudnn.is_available(), cudnn.version() ~= nil)
end

function TestBackends:test_cudnn_flags_end_with_the_function()
  local ok = pcall(cudnn.flags, {deterministic = true, enabled = false}, function()
    lu.assertTrue(cudnn.deterministic)
    lu.assertFalse(cudnn.enabled)
    error 'out'
  end)
  lu.assertFalse(ok)
  lu.assertEquals({cudnn.deterministic, cudnn.enabled}, {false, true})
end

function TestBackends:test_matrix_products()
  for name, default in pairs{allow_tf32 = false, allow_fp16_reduced_precision_reduction = true,
                             allow_bf16_reduced_precision_reduction = true, allow_fp16_accumulation = false} do
    lu.assertEquals(cuda.matmul[name], default, name)
    cuda.matmul[name] = not default
    lu.assertEquals(cuda.matmul[name], not default, name)
    cuda.matmul[name] = default
  end
  torch.set_float32_matmul_precision 'high'
  lu.assertTrue(cuda.matmul.allow_tf32)
  torch.set_float32_matmul_precision 'highest'
  lu.assertFalse(cuda.matmul.allow_tf32)
end

function TestBackends:test_kernels_of_attention()
  for _, name in ipairs{'flash', 'mem_efficient', 'math', 'cudnn'} do
    local enable, is_enabled = cuda['enable_' .. name .. '_sdp'], cuda[name .. '_sdp_enabled']
    lu.assertTrue(is_enabled(), name)
    enable(false)
    lu.assertFalse(is_enabled(), name)
    enable(true)
  end
  lu.assertFalse(cuda.fp16_bf16_reduction_math_sdp_allowed())
end

function TestBackends:test_refusals()
  lu.assertStrContains(message_of(function() cudnn.benchmark = 1 end), 'torch.backends.cudnn.benchmark')
  lu.assertStrContains(message_of(function() cudnn.benchmak = true end), "did you mean 'benchmark'?")
  lu.assertStrContains(message_of(function() return cuda.matmul.allow_tf23 end), "did you mean 'allow_tf32'?")
  lu.assertStrContains(message_of(function() cudnn.benchmark_limit = -1 end), 'expected an integer from 0 on')
  lu.assertStrContains(message_of(function() return torch.backends.mkl end), "torch.backends has no 'mkl'")
end

os.exit(lu.LuaUnit.run(), true)
