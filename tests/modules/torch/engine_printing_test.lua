-- Tensors as text, as PyTorch prints them.
local lu = require 'luaunit'
local C = require 'torch._C'

local function text(data, options) return tostring(C.tensor(data, options)) end

TestPrinting = {}

function TestPrinting:test_numbers_of_one_tensor_have_one_notation()
  lu.assertEquals(text{1, 2, 3}, 'tensor([1., 2., 3.])')
  lu.assertEquals(text{1, 2.5}, 'tensor([1.0000, 2.5000])')
  lu.assertEquals(text{{1, -2.5}, {10, 0.25}}, 'tensor([[ 1.0000, -2.5000],\n        [10.0000,  0.2500]])')
  lu.assertEquals(text{1e-5, 1}, 'tensor([1.0000e-05, 1.0000e+00])')
  lu.assertEquals(text{1, 0 / 0, 1 / 0, -1 / 0}, 'tensor([1., nan, inf, -inf])')
  lu.assertEquals(text(2.5), 'tensor(2.5000)')
  lu.assertEquals(text(3), 'tensor(3.)')
end

function TestPrinting:test_integers_booleans_and_other_dtypes()
  lu.assertEquals(text({1, 20}, {dtype = 'int64'}), 'tensor([ 1, 20])')
  lu.assertEquals(text{true, false}, 'tensor([ True, False])')
  lu.assertEquals(text({1, 2}, {dtype = 'int32'}), 'tensor([1, 2], dtype=torch.int32)')
  lu.assertEquals(text({0.1}, {dtype = 'float64'}), 'tensor([0.1000], dtype=torch.float64)')
end

function TestPrinting:test_empty_tensors()
  lu.assertEquals(text{}, 'tensor([])')
  lu.assertEquals(tostring(C.op 'zeros'(2, 0)), 'tensor([], size=(2, 0))')
end

function TestPrinting:test_dimensions_are_separated_by_blank_lines()
  lu.assertEquals(tostring(C.op 'ones'(2, 1, 2)), 'tensor([[[1., 1.]],\n\n        [[1., 1.]]])')
end

function TestPrinting:test_large_tensors_are_summarised()
  lu.assertEquals(tostring(C.op 'arange'(2000)), 'tensor([   0,    1,    2,  ..., 1997, 1998, 1999])')
  lu.assertEquals(tostring(C.op 'zeros'(100, 100)), [=[
tensor([[0., 0., 0.,  ..., 0., 0., 0.],
        [0., 0., 0.,  ..., 0., 0., 0.],
        [0., 0., 0.,  ..., 0., 0., 0.],
        ...,
        [0., 0., 0.,  ..., 0., 0., 0.],
        [0., 0., 0.,  ..., 0., 0., 0.],
        [0., 0., 0.,  ..., 0., 0., 0.]])]=])
end

function TestPrinting:test_long_rows_are_wrapped()
  lu.assertEquals(tostring(C.op 'arange'(30)), [=[
tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])]=])
end

function TestPrinting:test_gradients_show()
  local x = C.tensor({1}, {requires_grad = true})
  lu.assertEquals(tostring(x), 'tensor([1.], requires_grad=True)')
  lu.assertEquals(tostring(x * 2), 'tensor([2.], grad_fn=<MulBackward0>)')
end

os.exit(lu.LuaUnit.run(), true)
