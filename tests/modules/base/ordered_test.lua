-- The insertion-ordered map.
local lu = require 'luaunit'
local ordered = require 'base.ordered'

TestOrdered = {}

function TestOrdered:test_keeps_the_order_of_addition()
  local m = ordered.new{{'zeta', 1}, {'alpha', 2}}
  m.mid = 3
  m.zeta = 10
  lu.assertEquals(ordered.keys(m), {'zeta', 'alpha', 'mid'})
  lu.assertEquals(m.zeta, 10)
  lu.assertEquals(ordered.len(m), 3)
end

function TestOrdered:test_deleted_key_moves_to_the_end_when_added_again()
  local m = ordered.new{{'a', 1}, {'b', 2}, {'c', 3}}
  m.a = nil
  lu.assertEquals(ordered.len(m), 2)
  m.a = 4
  lu.assertEquals(ordered.keys(m), {'b', 'c', 'a'})
  m.b = nil
  m.b = 5
  lu.assertEquals(ordered.keys(m), {'c', 'a', 'b'})
end

function TestOrdered:test_the_names_of_any_table_are_its_keys_that_are_strings()
  lu.assertEquals(ordered.names_of{b = 1, a = 2, [3] = 4}, {'a', 'b'})
  lu.assertEquals(ordered.names_of(ordered.new{{'b', 1}, {7, 2}, {'a', 3}}), {'b', 'a'})
  lu.assertEquals(ordered.names_of{}, {})
end

function TestOrdered:test_items_walks_in_order_and_allows_deletion()
  local m = ordered.new{{'a', 1}, {'b', 2}, {'c', 3}}
  local seen = {}
  for key, value in ordered.items(m) do
    seen[#seen + 1] = key .. value
    if key == 'a' then m.b = nil end
  end
  lu.assertEquals(seen, {'a1', 'c3'})
end

function TestOrdered:test_false_is_a_value_and_keys_may_be_numbers()
  local m = ordered.new{{3, false}, {1, 'x'}}
  lu.assertEquals(ordered.keys(m), {3, 1})
  lu.assertEquals(m[3], false)
end

function TestOrdered:test_metatable_tells_the_order()
  local m = ordered.new{{'b', 1}, {'a', 2}}
  lu.assertEquals(getmetatable(m).__order(m), {'b', 'a'})
  lu.assertTrue(ordered.is(m))
  lu.assertFalse(ordered.is{})
end

function TestOrdered:test_keys_of_any_table()
  lu.assertEquals(ordered.keys_of(ordered.new{{'b', 1}, {'a', 2}}), {'b', 'a'})
  lu.assertEquals(ordered.keys_of{b = 1, a = 2, [3] = 0}, {3, 'a', 'b'})
end

function TestOrdered:test_travels_through_pack()
  local m = ordered.new{{'b', {1}}, {'a', 2}}
  local module, name, state = getmetatable(m).__pack(m)
  local copy = require(module)[name](state)
  lu.assertEquals(ordered.keys(copy), {'b', 'a'})
  lu.assertIs(copy.b, m.b)
end

os.exit(lu.LuaUnit.run(), true)
