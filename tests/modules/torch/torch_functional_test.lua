-- torch.*: functions that combine several operators, namespaces, dtypes, generators.
local lu = require 'luaunit'
local torch = require 'torch'

local function shapes(list)
  local out = {}
  for i, x in ipairs(list) do out[i] = tostring(x.shape) end
  return table.concat(out, ' ')
end

TestShapes = {}

function TestShapes:test_tensors_come_one_by_one_or_as_a_list()
  local a, b = torch.ones(2, 1), torch.ones(3)
  lu.assertEquals(shapes(torch.broadcast_tensors(a, b)), 'torch.Size([2, 3]) torch.Size([2, 3])')
  lu.assertEquals(shapes(torch.broadcast_tensors{a, b}), 'torch.Size([2, 3]) torch.Size([2, 3])')
  lu.assertEquals(torch.atleast_2d(b).shape, {1, 3})
  lu.assertEquals(shapes(torch.atleast_3d(a, b)), 'torch.Size([2, 1, 1]) torch.Size([1, 3, 1])')
  lu.assertEquals(torch.cartesian_prod(torch.arange(2), torch.arange(2)):tolist(), {{0, 0}, {0, 1}, {1, 0}, {1, 1}})
  lu.assertEquals(torch.block_diag(torch.ones(1, 2), torch.tensor(3)):tolist(), {{1, 1, 0}, {0, 0, 3}})
  lu.assertErrorMsgContains('block_diag: argument 2: expected a Tensor, got number', torch.block_diag, a, 1)
end

function TestShapes:test_broadcast_shapes()
  lu.assertEquals(torch.broadcast_shapes({2}, {3, 1}, {1, 1, 1}), {1, 3, 2})
  lu.assertEquals(torch.broadcast_shapes(5, {2, 1}), {2, 5})
  lu.assertErrorMsgContains('shape 2 has size 3 where the ones before have 2, 1 from the end', torch.broadcast_shapes,
    {2}, {3})
end

function TestShapes:test_meshgrid()
  local x, y = torch.arange(2), torch.arange(3)
  lu.assertEquals(shapes(torch.meshgrid(x, y)), 'torch.Size([2, 3]) torch.Size([2, 3])')
  lu.assertEquals(torch.meshgrid({x, y}, {indexing = 'xy'})[1]:tolist(), {{0, 1}, {0, 1}, {0, 1}})
  lu.assertErrorMsgContains("meshgrid: indexing cannot be 'yx'", torch.meshgrid, x, {indexing = 'yx'})
end

function TestShapes:test_sizes()
  local shape = torch.ones(2, 3).shape
  lu.assertEquals(shape:numel(), 6)
  lu.assertIsTrue(shape == torch.Size{2, 3})
  lu.assertEquals(tostring(shape .. {4}), 'torch.Size([2, 3, 4])')
  lu.assertErrorMsgContains('Size: expected a list of integers', torch.Size, {1.5})
end

TestProducts = {}

function TestProducts:test_einsum_takes_every_form()
  local x, y = torch.arange(6):view(2, 3), torch.arange(3)
  local expected = x:mv(y):tolist()
  lu.assertEquals(torch.einsum('ij,j->i', x, y):tolist(), expected)
  lu.assertEquals(torch.einsum('ij,j->i', {x, y}):tolist(), expected)
  lu.assertEquals(torch.einsum(x, {0, 1}, y, {1}, {0}):tolist(), expected)
  lu.assertEquals(torch.einsum(x, {'...', 1}, y, {1}, {'...'}):tolist(), expected)
  lu.assertErrorMsgContains('subscripts are integers from 0 to 51', torch.einsum, x, {0, 60})
end

function TestProducts:test_tensordot()
  local a, b = torch.arange(6):view(2, 3), torch.arange(6):view(3, 2)
  lu.assertEquals(torch.tensordot(a, b, 1):tolist(), a:mm(b):tolist())
  lu.assertEquals(torch.tensordot(a, b, {dims = {{0}, {1}}}):tolist(), a.T:mm(b.T):tolist())
  lu.assertEquals(torch.tensordot(a, a):item(), 55)
  lu.assertErrorMsgContains('dims must lie between 0 and the dimensions of both tensors (2 and 2), got 3', torch.tensordot,
    a, b, 3)
end

function TestProducts:test_norm()
  local x = torch.tensor{{3, -4}, {0, 5}}
  lu.assertAlmostEquals(x:norm():item(), 50 ^ 0.5, 1e-6)
  lu.assertEquals(x:norm(1):item(), 12)
  lu.assertEquals(x:norm{p = math.huge, dim = 0}:tolist(), {3, 5})
  lu.assertEquals(x:norm(2, 1, true).shape, {2, 1})
  lu.assertAlmostEquals(torch.norm(torch.eye(3), 'nuc'):item(), 3, 1e-6)
  lu.assertErrorMsgContains("norm: p cannot be 'fr': did you mean 'fro'?", torch.norm, x, 'fr')
end

TestUnique = {}

function TestUnique:test_results_are_those_asked_for()
  local x = torch.tensor({3, 1, 3, 3}, {dtype = torch.int64})
  lu.assertEquals(select('#', torch.unique(x)), 1)
  local values, inverse, counts = x:unique{return_inverse = true, return_counts = true}
  lu.assertEquals({values:tolist(), inverse:tolist(), counts:tolist()}, {{1, 3}, {1, 0, 1, 1}, {1, 3}})
  lu.assertEquals(select(2, torch.unique_consecutive(x, {return_counts = true})):tolist(), {1, 1, 2})
  lu.assertEquals(torch.unique(torch.tensor{{1, 2}, {1, 2}}, {dim = 0}):tolist(), {{1, 2}})
end

function TestUnique:test_nonzero_and_unravel_index()
  local x = torch.tensor{{0, 1}, {2, 0}}
  lu.assertEquals(x:nonzero():tolist(), {{0, 1}, {1, 0}})
  lu.assertEquals(x[x:nonzero{as_tuple = true}]:tolist(), {1, 2})
  local rows, columns = unpack(torch.unravel_index(torch.tensor({1, 5}, {dtype = torch.int64}), {2, 3}))
  lu.assertEquals({rows:tolist(), columns:tolist()}, {{0, 1}, {1, 2}})
end

TestNamespaces = {}

function TestNamespaces:test_prefixes_are_namespaces()
  lu.assertEquals(torch.linalg.det(torch.eye(3) * 2):item(), 8)
  lu.assertEquals(torch.fft.fft(torch.ones(4)).real:tolist(), {4, 0, 0, 0})
  lu.assertEquals(torch.special.expit(torch.zeros(1)):item(), 0.5)
end

function TestNamespaces:test_unknown_names_are_refused()
  local function message(fn) return select(2, pcall(fn)).message end
  lu.assertStrContains(message(function() return torch.linalg.invv end), "torch.linalg has no 'invv': did you mean 'inv'?")
  lu.assertStrContains(message(function() return torch.fft.rftt end), "torch.fft has no 'rftt': did you mean 'rfft'?")
  lu.assertStrContains(message(function() return torch.random.fork end), "torch.random has no 'fork'")
  lu.assertStrContains(message(function() return torch.nn.utils.clip_grad_nrm_ end), "did you mean 'clip_grad_norm_'?")
  lu.assertStrContains(message(function() return require('rtrain').collective.barier end), "did you mean 'barrier'?")
end

function TestNamespaces:test_absent_names_give_the_reason()
  local ok, err = pcall(function() return torch.from_numpy end)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'unsupported')
  lu.assertStrContains(err.message, 'x:tolist()')
  ok, err = pcall(function() return torch.ones(1).numpy end)
  lu.assertFalse(ok)
  lu.assertStrContains(err.message, "a Tensor has no 'numpy'")
end

TestTensor = {}

function TestTensor:test_methods_are_functions_too()
  lu.assertEquals(torch.Tensor.add(torch.ones(1), 2):item(), 3)
  lu.assertEquals(torch.Tensor.size(torch.ones(3), 0), 3)
  lu.assertErrorMsgContains("torch.Tensor has no 'ad': did you mean 'add'?", function() return torch.Tensor.ad end)
  lu.assertErrorMsgContains('use torch.tensor(data)', torch.Tensor, 2, 3)
end

function TestTensor:test_a_method_can_be_added()
  function torch.Tensor:twice_of_test() return self * 2 end
  lu.assertEquals(torch.ones(1):twice_of_test():item(), 2)
  lu.assertErrorMsgContains("a method 'add' already", function() torch.Tensor.add = print end)
  lu.assertErrorMsgContains('a method is a function, got number', function() torch.Tensor.seven_of_test = 7 end)
end

function TestTensor:test_named_dimensions_are_refused()
  lu.assertErrorMsgContains("torch has no 'align_tensors' (Named dimensions)", function() return torch.align_tensors end)
  lu.assertErrorMsgContains("a Tensor has no 'rename'", function() return torch.ones(1).rename end)
end

TestDtypes = {}

function TestDtypes:test_limits()
  lu.assertEquals(torch.finfo(torch.float32).max, torch.tensor(3.4028234663852886e38):item())
  lu.assertEquals(torch.finfo('bfloat16').eps, 0.0078125)
  lu.assertEquals(torch.finfo(torch.complex128).dtype, 'float64')
  lu.assertEquals(torch.iinfo(torch.uint8).max, 255)
  lu.assertEquals(torch.iinfo('int64').min, -0x7fffffffffffffffLL - 1)
  lu.assertEquals(tostring(torch.iinfo('int8')), 'iinfo(min=-128, max=127, dtype=int8)')
  lu.assertErrorMsgContains('use torch.iinfo', torch.finfo, 'int8')
  lu.assertErrorMsgContains("unknown dtype 'flaot32': did you mean 'float32'?", torch.finfo, 'flaot32')
end

function TestDtypes:test_type_names()
  lu.assertEquals(torch.ones(1, {dtype = 'bool'}):type(), 'torch.BoolTensor')
  lu.assertEquals(torch.ones(1):type('torch.HalfTensor').dtype, 'float16')
  lu.assertEquals(torch.ones(1):type(torch.int32).dtype, 'int32')
  lu.assertEquals(torch.typename(torch.ones(1)), 'torch.FloatTensor')
  lu.assertEquals(torch.typename(3), 'number')
end

function TestDtypes:test_every_dtype_converts_both_ways()
  for _, name in ipairs(require('torch.tensor.dtypes').NAMES) do
    local x = torch.ones(2):to(name)
    lu.assertEquals(x.dtype, name)
    lu.assertEquals((x:is_complex() and x.real or x):to(torch.float64):tolist(), {1, 1})
  end
end

TestAttributes = {}

function TestAttributes:test_views_of_complex_and_matrices()
  local z = torch.complex(torch.tensor{{1, 2}}, torch.tensor{{3, 4}})
  lu.assertEquals(z.real:tolist(), {{1, 2}})
  lu.assertEquals(z.imag:tolist(), {{3, 4}})
  lu.assertEquals(z.H.shape, {2, 1})
  lu.assertEquals(z.mH.imag:tolist(), {{-3}, {-4}})
  z.real = 0
  z.imag = torch.tensor{{7, 8}}
  lu.assertEquals(torch.view_as_real(z):tolist(), {{{0, 7}, {0, 8}}})
end

function TestAttributes:test_places()
  local x = torch.ones(2, 3, 4, 5)
  lu.assertTrue(x.is_cpu)
  lu.assertFalse(x.is_meta)
  lu.assertEquals(x:get_device(), -1)
  lu.assertEquals(torch.numel(x), 120)
  lu.assertEquals(torch.eye(2):to_sparse().layout, torch.sparse_coo)
  local last = x:to{memory_format = torch.channels_last}
  lu.assertEquals(last:dim_order(), {0, 2, 3, 1})
  lu.assertTrue(last:is_contiguous{memory_format = torch.channels_last})
  lu.assertFalse(last:is_contiguous())
  lu.assertErrorMsgContains("did you mean 'channels_last'?", last.is_contiguous, last, {memory_format = 'channel_last'})
end

function TestAttributes:test_sparse_tensors_of_lists()
  local x = torch.sparse_coo_tensor({{0, 1, 1}, {2, 0, 2}}, {3, 4, 5}, {2, 3})
  lu.assertEquals(x:to_dense():tolist(), {{0, 0, 3}, {4, 0, 5}})
  lu.assertEquals(x:_indices().dtype, 'int64')
  lu.assertEquals(torch.sparse_coo_tensor({{0, 1}, {2, 0}}, {1LL, 2LL}).shape, {2, 3})
  lu.assertEquals(torch.sparse_coo_tensor({{0, 1}, {2, 0}}, {1LL, 2LL}).dtype, 'int64')
  lu.assertEquals(torch.sparse_coo_tensor(torch.tensor({{1, 0}}, {dtype = 'int32'}), {1, 2}):to_dense():tolist(), {2, 1})
  local options = {dtype = 'float64', requires_grad = true, is_coalesced = true}
  local with = torch.sparse_coo_tensor({{0, 1}}, {1, 2}, {2}, options)
  lu.assertEquals({with.dtype, with.requires_grad, with:is_coalesced()}, {'float64', true, true})
  local values = torch.ones(2, {requires_grad = true})
  torch.sparse.sum(torch.sparse_coo_tensor({{0, 1}}, values)):backward()
  lu.assertEquals(values.grad:tolist(), {1, 1})
  for _, empty in ipairs{torch.sparse_coo_tensor{2, 3}, torch.sparse_coo_tensor{size = {2, 3}}} do
    lu.assertEquals(empty:to_dense():tolist(), {{0, 0, 0}, {0, 0, 0}})
  end
  local rows, columns = torch.sparse_csr_tensor({0, 1, 3}, {2, 0, 2}, {3, 4, 5}, {2, 3}),
    torch.sparse_csc_tensor({0, 1, 1, 3}, {1, 0, 1}, {4, 3, 5}, {2, 3})
  lu.assertEquals(rows:to_dense():tolist(), {{0, 0, 3}, {4, 0, 5}})
  lu.assertEquals(columns:to_dense():tolist(), {{0, 0, 3}, {4, 0, 5}})
  local blocks = {{{1, 2}}, {{3, 4}}}
  lu.assertEquals(torch.sparse_bsr_tensor({0, 1, 2}, {1, 0}, blocks):to_dense():tolist(), {{0, 0, 1, 2}, {3, 4, 0, 0}})
  lu.assertEquals(torch.sparse_bsc_tensor({0, 1, 2}, {1, 0}, blocks):to_dense():tolist(), {{0, 0, 3, 4}, {1, 2, 0, 0}})
  local any = torch.sparse_compressed_tensor({0, 1, 2}, {1, 0}, {1, 2}, {layout = torch.sparse_csc})
  lu.assertEquals({any.layout, any:to_dense():tolist()}, {'sparse_csc', {{0, 2}, {1, 0}}})
end

function TestAttributes:test_sparse_tensors_refuse()
  lu.assertErrorMsgContains('data[1][2]: expected numbers or booleans, got nil', torch.sparse_coo_tensor, {{0, nil, 1}}, {1, 2})
  lu.assertErrorMsgContains("missing argument 'values'", torch.sparse_coo_tensor, {{0, 1}})
  lu.assertErrorMsgContains("missing argument 'indices'", torch.sparse_coo_tensor)
  lu.assertErrorMsgContains("did you mean 'dtype'?", torch.sparse_coo_tensor, {{0}}, {1}, {1}, {dtyp = 'float32'})
  lu.assertErrorMsgContains("missing argument 'values'", torch.sparse_csr_tensor, {0, 1}, {0})
  local checked = {check_invariants = true}
  lu.assertErrorMsgContains('found index 5', torch.sparse_coo_tensor, {{0, 5}}, {1, 2}, {2}, checked)
  lu.assertErrorMsgContains('0 <= col_indices < ncols', torch.sparse_csr_tensor, {0, 1, 2}, {0, 5}, {1, 2}, {2, 2}, checked)
end

function TestAttributes:test_to()
  local x = torch.ones(2)
  lu.assertIsTrue(x:to('cpu', torch.float32) == x)
  lu.assertIsFalse(x:to('cpu', torch.float32, false, true) == x)
  lu.assertEquals(x:to(torch.ones(1):long()).dtype, 'int64')
  lu.assertErrorMsgContains("did you mean 'non_blocking'?", x.to, x, {nonblocking = true})
end

TestElements = {}

function TestElements:test_functions_for_each_element()
  local x = torch.tensor{{1, 2}, {3, 4}}
  lu.assertIsTrue(x:apply_(function(v) return v * v end) == x)
  lu.assertEquals(x:tolist(), {{1, 4}, {9, 16}})
  x:map2_(torch.tensor{1, 0}, torch.tensor(2), function(a, b, c) return a * b + c end)
  lu.assertEquals(x:tolist(), {{3, 2}, {11, 2}})
  lu.assertErrorMsgContains('requires a gradient', function()
    torch.ones(1, {requires_grad = true}):apply_(math.abs)
  end)
end

function TestElements:test_rows()
  local sums = {}
  for row in torch.arange(6):view(3, 2):iter() do sums[#sums + 1] = row:sum():item() end
  lu.assertEquals(sums, {1, 5, 9})
  lu.assertErrorMsgContains('0-dim', torch.Tensor.iter, torch.tensor(1))
end

function TestElements:test_data()
  local x = torch.ones(2)
  lu.assertIsTrue(torch.as_tensor(x) == x)
  lu.assertEquals(torch.as_tensor(x, {dtype = 'int64'}).dtype, 'int64')
  lu.assertErrorMsgContains('must be copied', torch.asarray, {1}, {copy = false})
  lu.assertIsFalse(torch.asarray(x, {copy = true}) == x)
  lu.assertEquals(torch.ones(1):long():new_tensor{1, 2}.dtype, 'int64')
  lu.assertEquals(torch.frombuffer('abc', {dtype = 'uint8', offset = 1}):tolist(), {98, 99})
  lu.assertErrorMsgContains('do not hold 2 items of int16', torch.frombuffer, 'abc', {dtype = 'int16', count = 2})
end

TestPrintOptions = {}

function TestPrintOptions:tearDown() torch.set_printoptions{profile = 'default'} end

function TestPrintOptions:test_what_is_not_given_stays()
  torch.set_printoptions{precision = 2, linewidth = 30, sci_mode = true}
  torch.set_printoptions{edgeitems = 1}
  lu.assertEquals(torch.get_printoptions(), {precision = 2, threshold = 1000, edgeitems = 1, linewidth = 30})
  lu.assertEquals(tostring(torch.tensor(1.234)), 'tensor(1.23)')
end

function TestPrintOptions:test_errors()
  lu.assertErrorMsgContains("did you mean 'edgeitems'?", torch.set_printoptions, {edgeitem = 2})
  lu.assertErrorMsgContains('precision must be an integer from 0 to 1000, got -1', torch.set_printoptions, {precision = -1})
  lu.assertErrorMsgContains('edgeitems must be an integer', torch.set_printoptions, {edgeitems = math.huge})
  lu.assertErrorMsgContains("profile cannot be 'long'", torch.set_printoptions, {profile = 'long'})
end

TestSettings = {}

function TestSettings:tearDown()
  torch.set_deterministic_debug_mode 'default'
  torch.set_warn_always(false)
end

function TestSettings:test_what_is_set_is_answered()
  torch.set_deterministic_debug_mode 'warn'
  lu.assertEquals(torch.get_deterministic_debug_mode(), 1)
  lu.assertTrue(torch.is_deterministic_algorithms_warn_only_enabled())
  torch.use_deterministic_algorithms(true, {warn_only = false})
  lu.assertEquals(torch.get_deterministic_debug_mode(), 2)
  torch.set_warn_always(true)
  lu.assertTrue(torch.is_warn_always_enabled())
  lu.assertEquals(torch.get_float32_matmul_precision(), 'highest')
  lu.assertTrue(torch.get_num_interop_threads() >= 1)
end

function TestSettings:test_default_device()
  torch.set_default_device 'meta'
  local made = {torch.ones(2), torch.tensor{1, 2}, torch.arange(3), torch.rand{2}, torch.full({2}, 1), torch.as_tensor{1},
                torch.eye(2), torch.linspace(0, 1, 3), torch.randint(0, 4, {2}), torch.nn.Linear(2, 2).weight,
                torch.nn.BatchNorm1d(2).num_batches_tracked}
  local like = torch.ones({2}, {device = 'cpu'})
  local stay = {like, torch.zeros_like(like), like:new_zeros{2}, like + 1, torch.tensor({1}, {device = 'cpu'})}
  lu.assertEquals(torch.get_default_device(), 'meta')
  torch.set_default_device(nil)
  for i, tensor in ipairs(made) do lu.assertEquals(tensor.device, 'meta', i) end
  for i, tensor in ipairs(stay) do lu.assertEquals(tensor.device, 'cpu', i) end
  lu.assertEquals({torch.get_default_device(), torch.ones(2).device}, {'cpu', 'cpu'})
end

function TestSettings:test_a_device_for_one_function()
  local a, b = torch.device('meta', function(x, y) return torch.zeros(2).device .. x, y end, 1, 2)
  lu.assertEquals({a, b, torch.zeros(2).device}, {'meta1', 2, 'cpu'})
  lu.assertErrorMsgContains('wrong', torch.device, 'meta', function() error 'wrong' end)
  lu.assertEquals({torch.zeros(2).device, torch.device('cuda', 1)}, {'cpu', 'cuda:1'})
  lu.assertEquals(torch.device('meta', torch.device, 'cpu', function() return torch.ones(1).device end), 'cpu')
  lu.assertErrorMsgContains("unknown device 'mta'", torch.device, 'mta', print)
  lu.assertErrorMsgContains('device: fn', torch.device, 'cpu', {})
end

function TestSettings:test_errors()
  lu.assertErrorMsgContains("unknown device 'gpu'", torch.set_default_device, 'gpu')
  lu.assertErrorMsgContains("did you mean 'warn'?", torch.set_deterministic_debug_mode, 'wran')
  lu.assertErrorMsgContains("expected 'highest', 'high' or 'medium', got 'low'", torch.set_float32_matmul_precision, 'low')
  lu.assertErrorMsgContains('expected true or false, got 1', torch.set_flush_denormal, 1)
  lu.assertErrorMsgContains("did you mean 'warn_only'?", torch.use_deterministic_algorithms, true, {warnonly = true})
end

TestArguments = {}

function TestArguments:test_wrong_kinds_are_named()
  local x = torch.ones(2, 2)
  local function message(fn, ...)
    local ok, err = pcall(fn, ...)
    lu.assertFalse(ok)
    lu.assertEquals(err.code, 'argument')
    return err.message
  end
  lu.assertStrContains(message(x.to, x, 3), 'to: expected a dtype, a device or a Tensor, got 3')
  lu.assertStrContains(message(x.to, x, {dtype = 3}), "to: option 'dtype' must be a string, not a number")
  lu.assertStrContains(message(x.float, x, 3), 'float32: memory_format: expected a memory format, got 3')
  lu.assertStrContains(message(torch.tensor, {1}, 3), 'tensor: expected a table of options, got number')
  lu.assertStrContains(message(torch.svd_lowrank, 3), 'svd_lowrank: A: expected a Tensor, got number')
  lu.assertStrContains(message(torch.pca_lowrank, x, 3), 'q must lie between 0 and min(m, n) = 2, got 3')
  lu.assertStrContains(message(torch.unravel_index, torch.ones(1), 2), 'an integer dtype, got float32')
  lu.assertStrContains(message(torch.broadcast_shapes, {1.5}), 'shape 1: expected sizes of at least 0 and below 2^63, got 1.5')
  lu.assertStrContains(message(torch.einsum, x, 3), 'einsum: expected a list of subscripts, got number')
  lu.assertStrContains(message(x.apply_, x, 3), 'apply_: expected a function, got number')
end

TestRandom = {}

function TestRandom:test_generators()
  local g = torch.Generator{device = 'cpu'}
  lu.assertEquals(g.device, 'cpu')
  lu.assertEquals(g:initial_seed(), 67280421310721)
  g:manual_seed(5)
  local copy = g:clone_state()
  lu.assertEquals(torch.rand(2, {generator = g}):tolist(), torch.rand(2, {generator = copy}):tolist())
  lu.assertEquals(g:seed(), g:initial_seed())
  lu.assertEquals(tostring(g), 'torch.Generator(cpu)')
  lu.assertEquals(torch.manual_seed(3):initial_seed(), 3)
  lu.assertEquals(torch.default_generator:initial_seed(), 3)
end

function TestRandom:test_fork_rng_restores_after_an_error()
  torch.manual_seed(1)
  local state = torch.get_rng_state()
  lu.assertError(torch.random.fork_rng, function()
    torch.rand(3)
    error 'stop'
  end)
  lu.assertTrue(torch.equal(torch.get_rng_state(), state))
end

TestComparison = {}

local function failure(...)
  local ok, err = pcall(torch.testing.assert_close, ...)
  lu.assertFalse(ok)
  return err.message
end

function TestComparison:test_messages_are_pytorchs()
  lu.assertStrContains(failure(torch.tensor{{1, 2}, {3, 4}}, torch.tensor{{1, 2}, {3, 5}}), [[
Tensor-likes are not close!

Mismatched elements: 1 / 4 (25.0%)
Greatest absolute difference: 1 at index (1, 1) (up to 1e-05 allowed)]])
  lu.assertStrContains(failure(torch.ones(2), torch.ones(2):double()),
    "The values for attribute 'dtype' do not match: torch.float32 != torch.float64.")
  lu.assertStrContains(failure(torch.ones(2), torch.ones(3)), 'torch.Size([2]) != torch.Size([3])')
  lu.assertStrContains(failure({a = {torch.ones(1)}}, {a = {torch.zeros(1)}}), "The failure occurred for item ['a'][1]")
  lu.assertStrContains(failure({1}, {1, 2}), 'It is missing.')
  lu.assertStrContains(failure(1, 2, {rtol = 0, atol = 0}), 'Expected 2 but got 1.')
  lu.assertStrContains(failure(torch.ones(1), torch.zeros(1), {msg = 'mine'}), 'mine')
end

function TestComparison:test_close_values_pass()
  torch.testing.assert_close(torch.ones(2) + 1e-7, torch.ones(2))
  torch.testing.assert_close(torch.ones(2), torch.ones(2):double(), {check_dtype = false})
  torch.testing.assert_close(torch.tensor(0 / 0), torch.tensor(0 / 0), {equal_nan = true})
  torch.testing.assert_close({1, 'a', {true}}, {1, 'a', {true}})
  failure(torch.tensor(0 / 0), torch.tensor(0 / 0))
end

os.exit(lu.LuaUnit.run(), true)
