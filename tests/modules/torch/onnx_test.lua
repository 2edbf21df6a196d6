-- torch.onnx: bytes of Protocol Buffers, numbers that depend on axes, and the records of a trace.
-- tests/e2e/training/test_onnx.py runs files with onnxruntime.

local lu = require 'luaunit'
local Message = require 'torch.onnx.protobuf'
local Size = require 'torch.onnx.sizes'
local torch = require 'torch'

local nn = torch.nn

TestProtobuf = {}

local function hex(message)
  return (table.concat(message.pieces):gsub('.', function(c) return ('%02x '):format(c:byte()) end):gsub(' $', ''))
end

-- The examples of https://protobuf.dev/programming-guides/encoding
function TestProtobuf.test_the_examples_of_the_format()
  lu.assertEquals(hex(Message():integer(1, 150)), '08 96 01')
  lu.assertEquals(hex(Message():text(2, 'testing')), '12 07 74 65 73 74 69 6e 67')
  lu.assertEquals(hex(Message():message(3, Message():integer(1, 150))), '1a 03 08 96 01')
  lu.assertEquals(hex(Message():integer(1, -2)), '08 fe ff ff ff ff ff ff ff ff 01')
  lu.assertEquals(hex(Message():float(2, 1.5)), '15 00 00 c0 3f')
  lu.assertEquals(hex(Message():integer(1, 2 ^ 40)), '08 80 80 80 80 80 20')
end

function TestProtobuf.test_a_tensor_is_a_piece_of_its_own()
  local inner = Message():tensor(9, torch.ones(3, {dtype = 'int64'}))
  local outer = Message():message(5, inner)
  lu.assertEquals(inner.size, 2 + 24)
  lu.assertEquals(outer.size, 2 + 26)
  lu.assertTrue(torch.is_tensor(outer.pieces[#outer.pieces]))
end

TestSizes = {}

local BATCH = {name = 'batch', values = {2, 3, 2, 5}}
local LENGTH = {name = 'length', values = {7, 7, 6, 4}}

local function text_of(values) return Size(values, {BATCH, LENGTH}):text() end

function TestSizes.test_a_number_follows_the_axes()
  lu.assertEquals(text_of{2, 3, 2, 5}, 'batch')
  lu.assertEquals(text_of{24, 36, 24, 60}, '12*batch')
  lu.assertEquals(text_of{8, 8, 7, 5}, 'length + 1')
  lu.assertEquals(text_of{13, 13, 11, 7}, '2*length - 1')
  lu.assertEquals(text_of{14, 21, 12, 20}, 'batch*length')
  lu.assertEquals(text_of{-2, -3, -2, -5}, '-1*batch')
end

function TestSizes.test_what_is_of_no_such_form()
  lu.assertNil(text_of{4, 9, 4, 25})  -- the square of an axis
  lu.assertNil(text_of{1, 1, 1, 2})  -- half of an axis
  lu.assertNil(text_of{5, 5, 5, 6})  -- depends on more than one axis
  lu.assertNil(text_of{9, 10, 8, 9})  -- the sum of both axes
end

TestTrace = {}

local function trace(fn, ...)
  return require('torch._C').profiler.trace_calls(require 'torch.nn.module.running', fn, ...)
end

function TestTrace.test_calls_have_arguments_results_and_the_module()
  local model = nn.Sequential(nn.Linear(4, 3), nn.ReLU{inplace = true})
  local x = torch.randn(2, 4)
  local calls, y = trace(function() return torch.no_grad(function() return model(x) end) end)
  lu.assertEquals({calls[1].name, calls[2].name, #calls}, {'aten::linear', 'aten::relu_', 2})
  lu.assertEquals(calls[1].module, 'in Sequential.0 (Linear)')
  lu.assertStrContains(calls[1].line, 'onnx_test.lua:')
  -- The same tensor is the same table everywhere.
  lu.assertIs(calls[1].results[1], calls[2].arguments.self)
  lu.assertIs(calls[2].results[1], calls[2].arguments.self)
  lu.assertEquals(calls[2].writes, {'self'})
  local identity = require('torch._C').profiler.identity
  lu.assertEquals(calls[1].arguments.input.id, (identity(x)))
  lu.assertEquals(calls[2].results[1].id, (identity(y)))
  lu.assertTrue(#calls[1].calls > 0)  -- linear consists of other operators
end

function TestTrace.test_an_error_ends_it_and_one_at_a_time()
  lu.assertErrorMsgContains('stop here', function() trace(function() error 'stop here' end) end)
  local calls = trace(function() return torch.ones(1) end)
  lu.assertEquals(calls[1].name, 'aten::ones')
  local ok, err = pcall(trace, function() trace(function() end) end)
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(err), 'being traced already')
end

function TestTrace.test_numbers_that_lua_reads_are_seen()
  local x = torch.tensor{2.5}
  local calls, value = trace(function() return x:item() end)
  lu.assertEquals(value, 2.5)
  lu.assertEquals(calls[#calls].name, 'aten::item')
end

os.exit(lu.LuaUnit.run())
