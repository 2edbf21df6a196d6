-- What torch.nn.attention.sdpa_kernel allows and what F.grouped_mm refuses; tests/oracle has their numbers.
local lu = require 'luaunit'
local torch = require 'torch'
local attention, F = torch.nn.attention, torch.nn.functional
local cuda = torch.backends.cuda

local message_of = require('refusal').message_of

TestSdpaKernel = {}

local NAMES = {'math', 'flash', 'mem_efficient', 'cudnn'}

-- Returns the names of the kernels that are allowed now.
local function allowed()
  local names = {}
  for _, name in ipairs(NAMES) do
    if cuda[name .. '_sdp_enabled']() then names[#names + 1] = name end
  end
  return table.concat(names, ' ')
end

function TestSdpaKernel:test_only_the_given_kernels_are_allowed_within()
  local kernel = attention.SDPBackend
  local before = allowed()
  lu.assertEquals(attention.sdpa_kernel(kernel.MATH, allowed), 'math')
  lu.assertEquals(attention.sdpa_kernel({kernel.FLASH_ATTENTION, kernel.CUDNN_ATTENTION}, allowed), 'flash cudnn')
  local outer, inner, after = attention.sdpa_kernel(kernel.MATH, function()
    local within = attention.sdpa_kernel(kernel.EFFICIENT_ATTENTION, allowed)
    return 'outer', within, allowed()
  end)
  lu.assertEquals({outer, inner, after}, {'outer', 'mem_efficient', 'math'})
  local count, none, three = attention.sdpa_kernel('math', function(...) return select('#', ...), nil, 3 end, nil, nil)
  lu.assertEquals({count, none, three}, {2, nil, 3})
  lu.assertErrorMsgContains('broken', attention.sdpa_kernel, kernel.MATH, error, 'broken')
  lu.assertEquals(allowed(), before)
end

function TestSdpaKernel:test_kernels_that_cannot_take_the_tensors()
  local q = torch.randn(1, 2, 4, 8)
  local function attend(kernel) attention.sdpa_kernel(kernel, F.scaled_dot_product_attention, q, q, q) end
  for _, kernel in ipairs {'EFFICIENT_ATTENTION', 'CUDNN_ATTENTION'} do  -- kernels of CUDA
    lu.assertStrContains(message_of(attend, attention.SDPBackend[kernel]), 'No viable backend')
  end
  lu.assertStrContains(message_of(attention.sdpa_kernel, 'flash', print), "backends cannot be 'flash': valid names: math")
  lu.assertStrContains(message_of(attention.sdpa_kernel, {}, print), 'an SDPBackend, or a list of them')
  lu.assertStrContains(message_of(attention.sdpa_kernel, 'math', 3), 'a function to call, not a number')
  lu.assertStrContains(message_of(function() return attention.flex_attention end), 'attention with a mask')
end

TestGroupedMm = {}

function TestGroupedMm:test_what_is_refused()
  local rows, matrices = torch.randn(6, 8), torch.randn(2, 8, 4)
  local ends = torch.tensor({2, 6}, {dtype = 'int32'})
  for says, call in pairs {
    ['mat_a has stride 15 in dimension 0: strides are multiples of 16 bytes, which is 4 elements of float32'] =
      {torch.randn(2, 3, 5), torch.randn(2, 5, 8)},
    ['mat_b has stride 3 in dimension 1'] = {rows, torch.randn(2, 8, 3), {offs = ends}},
    ['Have to provide offsets if there is a 2d matrix'] = {rows, matrices},
    ['no offset if both matrices are 3d'] = {torch.randn(2, 3, 8), matrices, {offs = ends}},
    ['contraction dimension of mat_a and mat_b must match'] = {rows, torch.randn(2, 4, 4), {offs = ends}},
    ['Offsets have to be int32'] = {rows, matrices, {offs = torch.tensor {2, 6}}},
    ['mat_a: expected a Tensor, got number'] = {3, matrices},
  } do
    lu.assertStrContains(message_of(F.grouped_mm, unpack(call)), says)
  end
end

os.exit(lu.LuaUnit.run(), true)
