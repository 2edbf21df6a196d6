-- require 'json'.
local json = require 'json'
local lu = require 'luaunit'
local ordered = require 'base.ordered'
local torch = require 'torch'

TestJson = {}

function TestJson:test_values_come_back_as_they_are()
  local text = '{"a": [1, 2.5, -300, true, null, "x\\u00e9\\ud83d\\ude00\\n"], "b": {}, "c": [], "d": 9007199254740993, '
    .. '"e": 18446744073709551615, "f": -9223372036854775808, "g": NaN, "h": -Infinity}'
  local value = json.decode(text)
  lu.assertIs(value.a[5], json.null)
  lu.assertEquals(value.a[6], 'xé😀\n')
  lu.assertTrue(value.d == 9007199254740993LL and value.e == 18446744073709551615ULL and value.f < 0 and value.g ~= value.g)
  lu.assertEquals(json.encode(value), (text:gsub('\\u00e9\\ud83d\\ude00', 'é😀')))
end

function TestJson:test_numbers_keep_their_last_digit()
  for _, number in ipairs{0.1 + 0.2, 1e300, 5e-324, 1 / 3, 2 ^ 53 - 1, -1e15} do
    lu.assertEquals(json.decode(json.encode(number)), number)
  end
  lu.assertEquals(json.encode{-0.0, 1e20, 12, 0.5}, '[-0.0, 1e+20, 12, 0.5]')
end

function TestJson:test_order_and_form()
  lu.assertEquals(json.encode{b = {1, {x = 'é"\\\1'}}, a = json.null}, '{"a": null, "b": [1, {"x": "é\\"\\\\\\u0001"}]}')
  lu.assertEquals(json.encode(ordered.new{{'z', 1}, {'a', 2}}), '{"z": 1, "a": 2}')
  lu.assertEquals(json.encode({a = {1}, b = torch.list{}}, {indent = 2}), '{\n  "a": [\n    1\n  ],\n  "b": []\n}')
end

function TestJson:test_what_is_not_json_is_told_with_its_place()
  for _, text in ipairs{'', '{', '[1,]', '{"a" 1}', '01', '1.', 'tru', '"a', '"\\x"', '[1] 2', '-', '{a: 1}', '"\\ud800"',
                        '[1 2]', '+1', '.5', '1e', '"a\nb"', ('['):rep(5000)} do
    local ok, err = pcall(json.decode, text)
    lu.assertFalse(ok, text)
    lu.assertStrMatches(err.message, 'json.decode: .* at line %d+, column %d+', nil, nil, text)
  end
  lu.assertErrorMsgContains("expected ',' or ']' at line 2, column 4", json.decode, '[1,\n 2 3]')
end

function TestJson:test_what_is_not_plain_data_is_told_with_its_path()
  lu.assertErrorMsgContains('value is neither a list nor a map', json.encode, {1, x = 2})
  lu.assertErrorMsgContains('value is neither a list nor a map', json.encode, {[3] = 1})
  -- The table has # keys, but they are not 1 … #.
  lu.assertErrorMsgContains('value is neither a list nor a map', json.encode, {[0] = 1, [2] = 3})
  lu.assertErrorMsgContains('value is neither a list nor a map', json.encode, {[0] = 1})
  lu.assertErrorMsgContains('value.a is neither a list nor a map', json.encode, {a = {1, nil, 3, [1.5] = 2}})
  lu.assertErrorMsgContains('value.f[1] is a function', json.encode, {f = {print}})
  lu.assertErrorMsgContains('value.t is a', json.encode, {t = torch.ones(1)})
  lu.assertErrorMsgContains('nil is not in JSON', json.encode, nil)
  local loop = {}
  loop.c = loop
  lu.assertErrorMsgContains('value.c contains itself', json.encode, loop)
end

os.exit(lu.LuaUnit.run(), true)
