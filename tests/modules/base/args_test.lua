-- Positional and keyword arguments.
local lu = require 'luaunit'
local args = require 'base.args'

local message_of = require('refusal').message_of

TestOptions = {}

function TestOptions:test_nil_is_an_empty_table()
  lu.assertEquals(args.options(nil, {'a'}, 'f'), {})
end

function TestOptions:test_unknown_key_gets_a_hint_and_the_code()
  local text, err = message_of(args.options, {strid = 2}, {'stride', 'padding'}, 'conv2d')
  lu.assertStrContains(text, "conv2d: unknown option 'strid': did you mean 'stride'?")
  lu.assertEquals(err.code, 'argument')
  text, err = message_of(args.options, {zzzzzz = 2}, {'stride', 'padding'}, 'ScalingConfig', 'config')
  lu.assertStrContains(text, 'valid names: stride, padding')
  lu.assertEquals(err.code, 'config')
end

function TestOptions:test_list_and_non_tables_are_refused()
  lu.assertStrContains(message_of(args.options, {1}, {'a'}, 'f'), 'got a list')
  lu.assertStrContains(message_of(args.options, 3, {'a'}, 'f'), 'got number')
end

TestSplit = {}

function TestSplit:test_trailing_table_beyond_the_positional_ones()
  local keywords, a, b = args.split(2, 'x', {1}, {deep = true})
  lu.assertEquals({a, b}, {'x', {1}})
  lu.assertTrue(keywords.deep)
end

function TestSplit:test_table_in_a_positional_place_is_positional()
  local keywords, a = args.split(1, {loss = 1})
  lu.assertEquals(a, {loss = 1})
  lu.assertEquals(keywords, {})
end

function TestSplit:test_too_many()
  lu.assertStrContains(message_of(args.split, 1, 1, 2), 'at most 1')
end

TestSignature = {}

local conv = args.signature('Conv', {'channels', 'kernel', {'stride', 1}, {'bias', true}})

function TestSignature:test_positional_keywords_and_defaults()
  lu.assertEquals(conv:bind(1, 3), {channels = 1, kernel = 3, stride = 1, bias = true})
  lu.assertEquals(conv:bind(1, {3, 3}, 2), {channels = 1, kernel = {3, 3}, stride = 2, bias = true})
  lu.assertEquals(conv:bind(1, {kernel = 5, bias = false}), {channels = 1, kernel = 5, stride = 1, bias = false})
  lu.assertEquals(conv:bind(1, 3, {stride = nil}), {channels = 1, kernel = 3, stride = 1, bias = true})
  lu.assertEquals(conv:bind(1, {}), {channels = 1, kernel = {}, stride = 1, bias = true})
end

function TestSignature:test_errors_name_the_argument()
  lu.assertStrContains(message_of(conv.bind, conv, 1), "Conv: missing argument 'kernel'")
  lu.assertStrContains(message_of(conv.bind, conv, 1, 3, {strides = 1}), "did you mean 'stride'?")
  lu.assertStrContains(message_of(conv.bind, conv, 1, 3, {channels = 1}), "'channels' is given twice")
  lu.assertStrContains(message_of(conv.bind, conv, 1, 3, 1, true, 9), 'at most 4')
end

os.exit(lu.LuaUnit.run(), true)
