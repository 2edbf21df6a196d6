-- Calling ATen operators: overloads, keywords, defaults, results, error texts.
local lu = require 'luaunit'
local ordered = require 'base.ordered'
local torch = require 'torch'
local C = require 'torch._C'
local zeros, ones, arange, full = C.op 'zeros', C.op 'ones', C.op 'arange', C.op 'full'

TestCall = {}

function TestCall:test_a_misspelt_dtype_gets_the_right_one()
  lu.assertErrorMsgContains("unknown dtype 'flaot32': did you mean 'float32'?", zeros, 2, {dtype = 'flaot32'})
end

function TestCall:test_sizes_as_arguments_or_as_a_list()
  lu.assertEquals(zeros(2, 3).shape, {2, 3})
  lu.assertEquals(zeros{2, 3}.shape, {2, 3})
  lu.assertEquals(zeros({2, 3}, {dtype = 'int64'}).dtype, 'int64')
  lu.assertEquals(zeros(2, {dtype = 'torch.float64'}).dtype, 'float64')
  lu.assertEquals(zeros({}).shape, {})
  lu.assertEquals(ones(2, 3):view(3, 2).shape, {3, 2})
  lu.assertEquals(ones(2, 3):view{-1}.shape, {6})
  lu.assertEquals(ones(2, 3):permute(1, 0).shape, {3, 2})
  lu.assertEquals(ones(2, 3):repeat_(2, 1).shape, {4, 3})
  lu.assertEquals(ones(2, 3):flip(0).shape, {2, 3})
end

function TestCall:test_an_item_that_does_not_fit_is_named()
  local x = ones(2)
  local with_nil = {x}
  with_nil[3] = x
  for _, name in ipairs{'stack', 'cat'} do
    local join = C.op(name)
    for text, item in torch.items(ordered.new{{'3', 3}, {"'a'", 'a'}, {'{1, 2}', {1, 2}}}) do
      local message = ('got {float32 [2], %s, float32 [2]}: item 2 is %s'):format(text, text)
      lu.assertErrorMsgContains(message, join, {x, item, x})
      lu.assertErrorMsgContains(message, join, {x, item, x}, 0)
    end
    lu.assertErrorMsgContains('got {float32 [2], nil, float32 [2]}: item 2 is nil', join, with_nil)
    lu.assertErrorMsgContains('got {float32 [2], nil, float32 [2]}: item 2 is nil', join, {x, nil, x})
    lu.assertErrorMsgContains('got {float32 [2], nil, float32 [2]}: item 2 is nil', join, with_nil, {dim = 0})
    lu.assertErrorMsgContains('got {nil, float32 [2]}: item 1 is nil', join, {nil, x})
  end
  lu.assertErrorMsgContains("{2, 'a'}: item 2 is 'a'", zeros, {2, 'a'})
  lu.assertErrorMsgContains('{0, 1.5}: item 2 is 1.5', C.op 'sum', ones(2, 2), {0, 1.5})
  lu.assertErrorMsgContains('item 9 is true', C.op 'stack', {x, x, x, x, x, x, x, x, true, x})
end

function TestCall:test_keywords_stand_in_one_trailing_table()
  local x = ones(2, 3)
  lu.assertEquals(x:sum{dim = 0}:tolist(), {2, 2, 2})
  lu.assertEquals(x:sum(0, {keepdim = true}).shape, {1, 3})
  lu.assertEquals(x:sum({0, 1}):item(), 6)
  lu.assertEquals(C.op 'sum'{self = x, axis = 1}:tolist(), {3, 3})
  lu.assertEquals(x:add(x, {alpha = 3}):tolist()[1][1], 4)
  lu.assertEquals(x:relu({}):tolist(), x:tolist())
end

function TestCall:test_the_overload_follows_the_kinds_of_the_arguments()
  local x = C.tensor{{1, 5}, {7, 2}}
  lu.assertEquals(x:max():item(), 7)
  local values, indices = x:max(1)
  lu.assertEquals(values:tolist(), {5, 7})
  lu.assertEquals(indices:tolist(), {1, 0})
  lu.assertEquals(x:max(ones(2, 2) * 3):tolist(), {{3, 5}, {7, 3}})
  lu.assertEquals(x:max():item(), 7)
  lu.assertEquals(x:clamp(2, 6):tolist(), {{2, 5}, {6, 2}})
  lu.assertEquals(x:clamp{max = 3}:tolist(), {{1, 3}, {3, 2}})
  lu.assertEquals(x:clamp(ones(2, 2) * 4):tolist(), {{4, 5}, {7, 4}})
  lu.assertEquals(x:div(2, {rounding_mode = 'floor'}):tolist(), {{0, 2}, {3, 1}})
  lu.assertEquals(C.op 'pow'(2, x):tolist(), {{2, 32}, {128, 4}})
  lu.assertEquals(#{x:split(1)}, 1)
  lu.assertEquals(#x:split(1), 2)
  lu.assertEquals(#x:split({1, 1}, 1), 2)
end

function TestCall:test_lists_of_tensors()
  local cat, stack = C.op 'cat', C.op 'stack'
  lu.assertEquals(cat({ones(1, 2), zeros(1, 2)}):tolist(), {{1, 1}, {0, 0}})
  lu.assertEquals(cat({ones(1, 2), zeros(1, 2)}, 1).shape, {1, 4})
  lu.assertEquals(stack({ones(2), zeros(2)}, {dim = 1}):tolist(), {{1, 0}, {1, 0}})
  lu.assertErrorMsgContains('tensors', function() cat({ones(2), 3}) end)
end

function TestCall:test_one_number_stands_for_all_entries_of_a_fixed_list()
  local x = ones(1, 1, 4, 4)
  lu.assertEquals(C.op 'max_pool2d'(x, 2).shape, {1, 1, 2, 2})
  lu.assertEquals(C.op 'max_pool2d'(x, {2, 1}).shape, {1, 1, 2, 4})
  lu.assertEquals(C.op 'conv2d'(x, ones(1, 1, 3, 3), nil, {padding = 1}).shape, {1, 1, 4, 4})
  lu.assertEquals(C.op 'conv2d'(x, ones(1, 1, 3, 3), nil, {padding = 'same'}).shape, {1, 1, 4, 4})
end

function TestCall:test_none_and_nil_leave_an_optional_argument_out()
  local x = ones(2, 3)
  lu.assertEquals(x:sum(nil, true).shape, {1, 1})
  lu.assertEquals(x:sum(C.none, true).shape, {1, 1})
end

function TestCall:test_creation_functions_make_the_default_dtype_of_lua_numbers()
  lu.assertEquals(full({2}, 1).dtype, 'float32')
  lu.assertEquals(full({2}, 1, {dtype = 'int64'}).dtype, 'int64')
  lu.assertEquals(full({2}, 1LL).dtype, 'int64')
  lu.assertEquals(full({2}, true).dtype, 'bool')
  lu.assertEquals(full{size = {2}, fill_value = 3}.dtype, 'float32')
  lu.assertEquals(arange(5).dtype, 'int64')
  lu.assertEquals(arange(0, 1, 0.25):tolist(), {0, 0.25, 0.5, 0.75})
  lu.assertEquals(C.op 'randint'(0, 10, {4}).dtype, 'int64')
  lu.assertEquals(C.op 'randperm'(4).dtype, 'int64')
  lu.assertEquals(C.op 'linspace'(0, 1, 3):tolist(), {0, 0.5, 1})
  lu.assertEquals(C.op 'full_like'(arange(2), 1).dtype, 'int64')
  lu.assertTrue(zeros(2, {requires_grad = true}).requires_grad)
end

function TestCall:test_results_of_every_kind()
  lu.assertEquals(C.op 'result_type'(arange(2), 1.5), 'float32')
  lu.assertEquals(C.op 'is_same_size'(ones(2), ones(2)), true)
  lu.assertEquals(C.op 'equal'(ones(2), ones(2)), true)
  lu.assertEquals(C.op 'no_such_operator', nil)
  lu.assertTrue(#C.op_names() > 900)
end

function TestCall:test_dtype_and_device_texts()
  local x = ones(2)
  lu.assertEquals(x:to('float64').dtype, 'float64')
  lu.assertEquals(x:to{dtype = 'int64'}.dtype, 'int64')
  lu.assertEquals(x:to('cpu', 'float16').dtype, 'float16')
  lu.assertEquals(x:to(arange(1)).dtype, 'int64')
  lu.assertTrue(rawequal(x:to('cpu'), x))
  lu.assertEquals(x:long().dtype, 'int64')
  lu.assertEquals(x:bool():tolist(), {true, true})
  lu.assertEquals(x.device, 'cpu')
  lu.assertErrorMsgContains("neither a dtype nor a device", function() x:to('flaot32') end)
  lu.assertErrorMsgContains("did you mean 'dtype'", function() x:to{dtyp = 'float32'} end)
end

function TestCall:test_keywords_that_are_all_nil()
  lu.assertEquals(zeros(2, {dtype = nil}):tolist(), {0, 0})
  lu.assertEquals(ones(2, 2):sum(1, {keepdim = nil}):tolist(), {2, 2})
  lu.assertEquals(ones(1):view({}):dim(), 0)
end

function TestCall:test_a_method_belongs_to_the_parameter_self()
  local x, mask = C.tensor{1, 2}, C.tensor{true, false}
  lu.assertEquals(x:where(mask, 0):tolist(), {1, 0})
  lu.assertEquals(x:where(mask, {other = 7}):tolist(), {1, 7})
  lu.assertEquals(x:where{condition = mask, other = 7}:tolist(), {1, 7})
  lu.assertEquals(C.op 'where'(mask, x, 0):tolist(), {1, 0})
  lu.assertAlmostEquals(ones(1):polygamma(1):item(), math.pi ^ 2 / 6, 1e-6)
end

function TestCall:test_an_operator_with_nothing_to_do_gives_its_argument_back()
  local x = ones(2, 2)
  lu.assertTrue(rawequal(x:contiguous(), x))
  lu.assertTrue(rawequal(C.op 'resolve_conj'(x), x))
  lu.assertFalse(rawequal(x:t():contiguous(), x))
end

function TestCall:test_a_tensor_without_dims_will_do_for_a_number()
  local five = C.tensor(5):long()
  lu.assertEquals(arange(five):tolist(), {0, 1, 2, 3, 4})
  lu.assertEquals(ones(10):view({five, 2}).shape, {5, 2})
  lu.assertEquals(ones(2):add(ones(2), {alpha = five}):tolist(), {6, 6})
  lu.assertErrorMsgContains('expected int', function() ones(2):unsqueeze(C.tensor(1)) end)
  lu.assertErrorMsgContains('expected int', function() ones(2):unsqueeze(C.tensor{1LL}) end)
  lu.assertErrorMsgContains('expected number', C.op 'arange', C.tensor(5):requires_grad_())
end

function TestCall:test_every_listed_operator_can_be_found()
  for _, name in ipairs(C.op_names()) do
    lu.assertTrue(#C.op_signatures(name) > 0, name)
    lu.assertIsFunction(C.op(name), name)
  end
end

function TestCall:test_the_overload_that_a_call_takes()
  lu.assertEquals(C.op_overload('add', ones(2), 1), 'add.Scalar')
  lu.assertEquals(C.op_overload('max', ones(2), 0), 'max.dim')
  lu.assertEquals(C.op_overload('zeros', {2}, {requires_grad = true}), 'zeros.')
  lu.assertNil(C.op_overload 'no_such_operator')
end

TestCallErrors = {}

local message = require('refusal').message_of

function TestCallErrors:test_an_unknown_keyword_names_the_nearest()
  local text, err = message(function() C.op 'softmax'(ones(2), {dmi = 0}) end)
  lu.assertStrContains(text, "unknown keyword 'dmi'")
  lu.assertStrContains(text, "'dmi': did you mean 'dim'?")
  lu.assertEquals(err.code, 'argument')
  lu.assertStrContains(err.where, 'engine_call_test.lua')
end

function TestCallErrors:test_a_wrong_argument_is_named_with_what_was_expected()
  local text = message(function() C.op 'relu'(3) end)
  lu.assertStrContains(text, "relu: argument 'input' (1st): expected Tensor, got 3; it is relu(Tensor input)")
  text = message(function() ones(2, 3):transpose(0, 1.5) end)
  lu.assertStrContains(text, "argument 'dim1' (3rd): expected int, got 1.5")
  text = message(function() ones(2):index_select(0) end)
  lu.assertStrContains(text, "argument 'index' (3rd, Tensor) is missing")
  text = message(function() ones(2):relu(1, 2) end)
  lu.assertStrContains(text, 'takes at most 1 positional arguments, got 3')
  text = message(function() C.op 'embedding'(ones(2, 2), arange(1), {weight = ones(1)}) end)
  lu.assertStrContains(text, "'weight' is given by position and by keyword")
end

function TestCallErrors:test_arguments_that_fit_nothing_are_shown()
  local text = message(function() ones(2, 3):add('one', {alpha = 2}) end)
  lu.assertStrContains(text, "add: no form of it takes (float32 [2, 3], 'one', alpha = 2):")
  text = message(function() C.op 'mv'(ones(2, 3), 2) end)
  lu.assertStrContains(text, 'called with (float32 [2, 3], 2)')
end

function TestCallErrors:test_what_kernels_do_not_check_is_checked_before()
  local image, kernel = ones(1, 1, 4, 4, 4), ones(1, 1, 2, 2, 2)
  lu.assertEquals(C.op 'slow_conv3d'(image, kernel, {2, 2, 2}).shape, {1, 1, 3, 3, 3})
  local text = message(function() C.op 'slow_conv3d'(image, kernel, {2, 2}) end)
  lu.assertStrContains(text, "'kernel_size' (3rd): expected int[3], got {2, 2}")
  lu.assertEquals(C.op 'max_pool2d'(ones(1, 1, 4, 4), {2}, {}).shape, {1, 1, 2, 2})
  text = message(function() C.op 'mse_loss'(ones(2), ones(2), 3) end)
  lu.assertStrContains(text, "'reduction' (3rd): expected 0 (none), 1 (mean) or 2 (sum), got 3")
  text = message(function() C.op 'unsafe_chunk'(zeros(0), 2 ^ 62) end)
  lu.assertStrContains(text, 'unsafe_chunk: a number of items is out of range (input: float32 [0]')
  lu.assertStrContains(message(function() ones(2):view('x', 7LL) end), "'x', 7LL")
  text = message(function() C.op 'lu_unpack'(zeros(0, 2, 1), ones({1}, {dtype = 'int32'})) end)
  lu.assertStrContains(text, 'lu_unpack: LU_pivots must be of shape')
  lu.assertStrContains(text, 'float32 [0, 2, 1]')
end

function TestCallErrors:test_sizes_that_kernels_trust_are_checked()
  local gru = C.op 'gru'
  local input, hx, params = ones(5, 2, 3), ones(1, 2, 4), {ones(12, 3), ones(12, 4)}
  lu.assertEquals(gru(input, hx, params, false, 1, 0, false, false, false).shape, {5, 2, 4})
  local text = message(gru, input, hx, params, false, 2, 0, false, false, false)
  lu.assertStrContains(text, 'gru: hx must be [num_layers * directions, batch, hidden_size], it is float32 [1, 2, 4]')
  text = message(gru, input, hx, params, true, 1, 0, false, false, false)
  lu.assertStrContains(text, 'params: 4 tensors for each layer and direction are needed, got 2')
  local data, sizes = ones(5, 3), C.tensor{2LL, 2LL, 1LL}
  lu.assertEquals(gru(data, sizes, hx, params, false, 1, 0, false, false).shape, {5, 4})
  text = message(gru, data, C.tensor{2LL, 2LL}, hx, params, false, 1, 0, false, false)
  lu.assertStrContains(text, 'batch_sizes add up to 4, the data has 5 rows')
  text = message(gru, data, C.tensor{1LL, 4LL}, hx, params, false, 1, 0, false, false)
  lu.assertStrContains(text, 'never grow')
  text = message(C.op 'embedding_bag', ones(3, 3), C.tensor{0LL}, C.tensor{{0LL}})
  lu.assertStrContains(text, 'embedding_bag: offsets must have 1 dim, it is int64 [1, 1]')
  text = message(C.op 'max_pool1d', ones(1, 3, 4), {9223372036854775807LL})
  lu.assertStrContains(text, "'kernel_size' (2nd): expected int[1], got {9223372036854775807LL}")
  local far = 9223372036854775807LL
  for _, size in ipairs{{{2}, {far}, 1}, {{far}, {2}}, {{2}, {1}, far}, {{2, 2}, {far, 1}, 0}} do
    for _, name in ipairs{'as_strided', 'as_strided_', 'as_strided_copy'} do
      lu.assertStrContains(message(function() C.op(name)(ones(4), unpack(size)) end), 'beyond any storage')
    end
  end
  lu.assertStrContains(message(function() ones(4):set_(ones(2), far, {2}, {1}) end), 'beyond any storage')
  lu.assertStrContains(message(function() C.op 'rrelu'(ones(4), -1 / 0, 1, true) end), 'must be finite')
  lu.assertStrContains(message(function() ones(2):random_(9223372036854775807LL, nil) end), 'from is out of range')
  text = message(C.op 'batch_norm_update_stats', ones(3, 4), nil, ones(0), 0.1)
  lu.assertStrContains(text, 'one element for each of the 4 channels of the input')
  local x, none = ones(3, 4), ones(0)
  text = message(C.op '_native_batch_norm_legit', x, nil, nil, none, none, true, 0.1, 1e-5)
  lu.assertStrContains(text, 'one element for each of the 4 channels of the input')
  text = message(C.op '_batch_norm_with_update', x, nil, nil, none, none, 0.1, 1e-5)
  lu.assertStrContains(text, 'one element for each of the 4 channels of the input')
  text = message(C.op '_batch_norm_no_update', x, nil, nil, nil, nil, 0.1, 1e-5)
  lu.assertStrContains(text, 'running_mean and running_var are needed')
  text = message(C.op 'range', 0, 5, 0.5, {dtype = 'int8'})
  lu.assertStrContains(text, 'range: a step of 0.5 is 0 in int8')
end

function TestCallErrors:test_operators_that_do_not_survive_wrong_arguments_are_left_out()
  local text, err = message(C.op, 'copy_sparse_to_sparse')
  lu.assertStrContains(text, "operator 'copy_sparse_to_sparse' is left out: it is internal: use copy_")
  lu.assertEquals(err.code, 'unsupported')
  lu.assertStrContains(message(function() ones(2):gelu_backward(ones(2)) end), 'call the operator itself')
end

function TestCallErrors:test_a_check_inside_libtorch_asks_nobody_to_report_it()
  local text, err = message(C.op 'batch_norm', ones(3, 1, 3, 0):to 'uint16', nil, nil, nil, nil, true, 0.1, 0.1, false)
  lu.assertStrContains(text, 'batch_norm: a check inside LibTorch failed: Unrecognized ScalarType')
  lu.assertNotStrContains(text, 'report')
  lu.assertEquals(err.code, 'argument')
end

function TestCallErrors:test_an_error_of_the_operator_names_shapes_and_dtypes()
  local text = message(function() ones(2, 3):matmul(ones(2, 3)) end)
  lu.assertStrContains(text, 'matmul: ')
  lu.assertStrContains(text, 'float32 [2, 3], float32 [2, 3]')
  text = message(function() C.op 'cross_entropy_loss'(ones(2, 3), ones(5):long()) end)
  lu.assertStrContains(text, 'input: float32 [2, 3], target: int64 [5]')
  lu.assertNotStrContains(text, 'Exception raised from')
end

function TestCallErrors:test_a_device_that_is_not_there_is_an_environment_error()
  if C.cuda_is_available() then lu.skip('this machine has a GPU') end
  for _, fn in ipairs{function() zeros(2, {device = 'cuda'}) end, function() ones(2):cuda() end,
                      function() ones(2):to('cuda:0') end} do
    local text, err = message(fn)
    lu.assertStrContains(text, "device 'cuda' is not available")
    lu.assertEquals(err.code, 'environment')
  end
end

function TestCallErrors:test_items_and_names_in_one_table_are_refused()
  lu.assertStrContains(message(function() ones(2, 3):sum{0, keepdim = true} end), 'list items as well as keywords')
end

function TestCallErrors:test_an_unknown_method_names_the_nearest()
  lu.assertStrContains(message(function() return ones(2):matmull() end), "did you mean 'matmul'")
  lu.assertStrContains(message(function() return ones(2).shap end), "did you mean 'shape'")
end

function TestCallErrors:test_index_zero_of_a_shape_explains_itself()
  lu.assertStrContains(message(function() return ones(2).shape[0] end), 'counted from 1')
  lu.assertEquals(tostring(ones(2, 3).shape), 'torch.Size([2, 3])')
  lu.assertTrue(ones(2).shape == ones(2).shape)
end

function TestCallErrors:test_a_released_tensor_is_refused()
  local x = ones(2)
  x:release()
  x:release()
  lu.assertStrContains(message(function() return x + 1 end), 'released')
  lu.assertStrContains(message(function() return C.op 'softmax'(x, 0) end), 'released')
  lu.assertStrContains(message(function() return x.shape end), 'released')
  lu.assertEquals(tostring(x), 'tensor(released)')
end

function TestCallErrors:test_errors_leave_the_operator_usable()
  local add = C.op 'add'
  for _ = 1, 200 do
    pcall(add, ones(2), 'x')
    lu.assertEquals(add(ones(2), 1):tolist(), {2, 2})
  end
end

TestNamedResults = {}

function TestNamedResults:test_the_first_of_several_results_knows_all_by_name()
  local x = torch.tensor {{3., 1.}, {2., 4.}}
  for _, result in ipairs {(torch.topk(x, 1)), (x:max(1)), (torch.sort(x)), (x:kthvalue(1)), (torch.cummax(x, 0))} do
    lu.assertTrue(torch.is_tensor(result.values) and torch.is_tensor(result.indices))
    lu.assertEquals(result.indices.dtype, 'int64')
  end
  local values, indices = torch.topk(x, 1)
  lu.assertTrue(values.values == values and values.indices == indices)
  lu.assertTrue(torch.equal(torch.linalg.svd(x).S, (select(2, torch.linalg.svd(x)))))
  lu.assertEquals(torch.slogdet(torch.eye(2)).sign:item(), 1)
  lu.assertEquals(torch.linalg.eigh(torch.eye(2)).eigenvectors.shape[1], 2)
end

function TestNamedResults:test_other_tensors_have_no_results()
  lu.assertErrorMsgContains("no method or attribute 'S'", function() return torch.ones(2).S end)
  lu.assertEquals(torch.ones(2):sign():tolist(), {1, 1})
  lu.assertEquals(torch.eye(2):to_sparse():coalesce():values():tolist(), {1, 1})
end

os.exit(lu.LuaUnit.run(), true)
