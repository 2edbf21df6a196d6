-- Serialization of functions: each test passes a value through bytes; the last group reads it in another process.
local lu = require 'luaunit'
local closure = require 'base._closure'
local ordered = require 'base.ordered'

local function travel(value)
  return closure.load((closure.dump(value)))
end

TestFunctions = {}

function TestFunctions.test_parameters_and_results()
  lu.assertEquals(travel(function() return 7 end)(), 7)
  lu.assertEquals(travel(function(config) return config.lr * 2 end)({lr = 4}), 8)
  local count, last = travel(function(...) return select('#', ...), (select(3, ...)) end)(1, nil, 3)
  lu.assertEquals({count, last}, {3, 3})
end

function TestFunctions.test_parameter_count_and_lines_are_kept()
  local function original(a) return a end
  local info, copy = debug.getinfo(original), debug.getinfo(travel(original))
  lu.assertEquals(copy.nparams, 1)
  lu.assertEquals(copy.short_src, info.short_src)
  lu.assertEquals(copy.linedefined, info.linedefined)
end

function TestFunctions.test_shared_upvalue_stays_shared()
  local count = 0
  local function bump() count = count + 1 end
  local function get() return count end
  local copy = travel {bump = bump, get = get}
  copy.bump()
  copy.bump()
  lu.assertEquals(copy.get(), 2)
  lu.assertEquals(get(), 0)
end

function TestFunctions.test_shared_upvalue_after_the_original_was_compiled()
  local total = 0
  local function add() total = total + 1 end
  local function run() for _ = 1, 200 do add() end return total end
  for _ = 1, 100 do run() end
  local copy = travel(run)
  lu.assertEquals(copy(), total + 200)
end

function TestFunctions.test_recursive_and_mutually_recursive()
  local function factorial(n) return n <= 1 and 1 or n * factorial(n - 1) end
  lu.assertEquals(travel(factorial)(10), 3628800)
  local odd
  local function even(n) return n == 0 or odd(n - 1) end
  function odd(n) return n ~= 0 and even(n - 1) end
  lu.assertTrue(travel(even)(100))
end

function TestFunctions.test_modules_of_the_host_travel_by_name()
  for _, name in ipairs{'base.errors', 'base._system', 'rtrain._host'} do
    local module = require(name)
    lu.assertTrue(rawequal(travel(function() return module end)(), module), name)
  end
end

function TestFunctions.test_sizes_stay_sizes()
  local shape = require('torch').ones(2, 3).shape
  local copy = travel(function() return shape end)()
  lu.assertTrue(copy == shape)
  lu.assertEquals(tostring(copy .. {4}), 'torch.Size([2, 3, 4])')
end

function TestFunctions.test_loop_variables_are_separate_cells()
  local made, shared = {}, 0
  for i = 1, 3 do
    made[i] = function() shared = shared + 1 return i * 10 + shared end
  end
  local copy = travel(made)
  lu.assertEquals({copy[1](), copy[2](), copy[3]()}, {11, 22, 33})
end

function TestFunctions.test_nested_functions()
  local factor = 3
  local function outer(n)
    local function inner() return n * factor end
    return inner
  end
  lu.assertEquals(travel(outer)(5)(), 15)
end

function TestFunctions.test_integer_cdata()
  local big = 9007199254740993LL
  local huge = 18446744073709551615ULL
  local a, b = travel(function() return big, huge end)()
  lu.assertTrue(a == big and b == huge)
end

function TestFunctions.test_own_environment_travels()
  local env = setmetatable({answer = 42}, {__index = _G})
  local asks = setfenv(function() return answer, tostring(1) end, env)
  lu.assertEquals({travel(asks)()}, {42, '1'})
end

TestTables = {}

function TestTables.test_identity_and_cycles()
  local shared = {1, 2, x = {y = 'z'}}
  local root = {a = shared, b = shared}
  root.self = root
  local copy = travel(root)
  lu.assertTrue(rawequal(copy.a, copy.b))
  lu.assertTrue(rawequal(copy.self, copy))
  lu.assertEquals(copy.a, shared)
end

function TestTables.test_keys_of_every_kind()
  local key = {}
  local copy = travel {key = key, by = {[key] = 'table', [1.5] = 'number', [true] = 'boolean', [-0.0] = 'zero'}}
  lu.assertEquals(copy.by[copy.key], 'table')
  lu.assertEquals({copy.by[1.5], copy.by[true], copy.by[0]}, {'number', 'boolean', 'zero'})
end

function TestTables.test_numbers_exactly()
  local copy = travel {1 / 0, -1 / 0, 0.1, 2 ^ 53, 5e-324, 0 / 0}
  lu.assertEquals({copy[1], copy[2], copy[3], copy[4], copy[5]}, {1 / 0, -1 / 0, 0.1, 2 ^ 53, 5e-324})
  lu.assertTrue(copy[6] ~= copy[6])
end

function TestTables.test_strings_with_any_bytes()
  local text = 'a\0b\255\n'
  lu.assertEquals(travel(text), text)
end

function TestTables.test_long_list_of_nodes_needs_no_stack()
  local root = {}
  local at = root
  for _ = 1, 100000 do
    at.next = {}
    at = at.next
  end
  local count, copy = 0, travel(root)
  while copy.next do
    count, copy = count + 1, copy.next
  end
  lu.assertEquals(count, 100000)
end

function TestTables.test_metatables_and_user_classes()
  local Point = {}
  Point.__index = Point
  Point.__add = function(a, b) return setmetatable({x = a.x + b.x}, Point) end
  function Point:double() return self.x * 2 end
  local p = setmetatable({x = 4}, Point)
  local a, b = travel(function() return p:double(), (p + p).x end)()
  lu.assertEquals({a, b}, {8, 8})
  local pair = travel {p, setmetatable({x = 1}, Point)}
  lu.assertTrue(rawequal(getmetatable(pair[1]), getmetatable(pair[2])))
end

function TestTables.test_same_value_gives_the_same_bytes()
  local value = {z = 1, a = {3, 2, 1}, [5] = 'x', f = function() return 1 end}
  lu.assertEquals((closure.dump(value)), (closure.dump(value)))
end

TestPacked = {}

function TestPacked.test_ordered_map_keeps_its_order()
  local map = ordered.new {{'zebra', 1}, {'ape', 2}, {'mule', {3}}}
  local copy = travel {map = map, inner = map.mule}
  lu.assertTrue(ordered.is(copy.map))
  lu.assertEquals(ordered.keys(copy.map), {'zebra', 'ape', 'mule'})
  lu.assertTrue(rawequal(copy.inner, copy.map.mule))
end

function TestPacked.test_cycle_through_a_packed_object()
  local map = ordered.new()
  map.get = function() return map end
  local copy = travel(map)
  lu.assertTrue(rawequal(copy.get(), copy))
end

TestModules = {}

function TestModules.test_library_objects_travel_by_name()
  local errors = require 'base.errors'
  local insert, suggestion = table.insert, errors.suggestion
  local copy = travel {insert = insert, suggestion = suggestion, string = string, G = _G, out = io.stdout}
  lu.assertTrue(rawequal(copy.insert, table.insert))
  lu.assertTrue(rawequal(copy.suggestion, errors.suggestion))
  lu.assertTrue(rawequal(copy.string, string))
  lu.assertTrue(rawequal(copy.G, _G))
  lu.assertTrue(rawequal(copy.out, io.stdout))
end

function TestModules.test_an_object_in_a_list_of_a_library_travels_by_its_place()
  ordered._listed = {{'first'}, {'second'}}
  local copy = travel(ordered._listed[2])
  lu.assertTrue(rawequal(copy, ordered._listed[2]))
  ordered._listed = nil
end

function TestModules.test_module_without_a_file_travels_by_value()
  package.loaded.made_up = {value = {1, 2}}
  local module = package.loaded.made_up
  local copy = travel(function() return module.value[2] end)
  package.loaded.made_up = nil
  lu.assertEquals(copy(), 2)
end

TestGlobals = {}

function TestGlobals.tearDown()
  script_value, script_helper, script_table, print_twice = nil, nil, nil, nil
end

function TestGlobals.test_globals_travel_with_what_they_reach()
  script_value = 10
  script_helper = function(n) return n + script_value end
  local bytes = closure.dump(function() return script_helper(5) end)
  script_value, script_helper = nil, nil
  lu.assertEquals(closure.load(bytes)(), 15)
end

function TestGlobals.test_global_of_a_nested_function()
  script_table = {deep = {1, 2, 3}}
  local bytes = closure.dump(function() return (function() return #script_table.deep end)() end)
  script_table = nil
  lu.assertEquals(closure.load(bytes)(), 3)
end

function TestGlobals.test_global_reached_through_G()
  script_value = 'through'
  local bytes = closure.dump(function() return _G.script_value end)
  script_value = nil
  lu.assertEquals(closure.load(bytes)(), 'through')
end

function TestGlobals.test_unreached_global_stays_behind()
  script_value = string.rep('x', 10000)
  lu.assertNil(closure.dump(function() return 1 end):find('xxxxxxxx', 1, true))
end

TestUntransportable = {}

local refusal = require('refusal').message_of

function TestUntransportable.test_open_file_raises_at_first_use()
  local log = assert(io.open('/dev/null', 'w'))
  local copy = travel(function(use) if use then log:write('x') end return 'not used' end)
  lu.assertEquals(copy(false), 'not used')
  local text, err = refusal(copy, true)
  lu.assertStrContains(text, "'log' is an open file")
  lu.assertStrMatches(text, ".*captured at .*closure_test%.lua:%d+.*")
  lu.assertEquals(err.code, 'argument')
end

function TestUntransportable.test_path_within_a_table_is_named()
  local config = {workers = {{task = coroutine.create(function() end)}}}
  local copy = travel(function() return config.workers[1].task.x end)
  lu.assertStrContains((refusal(copy)), "'config.workers[1].task' is a coroutine")
end

function TestUntransportable.test_native_iterator_and_global()
  script_value = string.gmatch('a b', '%a')
  local bytes = closure.dump(function() return script_value() end)
  script_value = nil
  local text = refusal(closure.load(bytes))
  lu.assertStrContains(text, "'script_value' is a native function")
  script_value = nil
end

function TestUntransportable.test_it_stays_untransportable_when_sent_on()
  local log = assert(io.open('/dev/null', 'w'))
  local once = travel(function() return log end)
  lu.assertStrContains((refusal(function() return travel(once)() .. '' end)), "'log' is an open file")
end

TestProcesses = {}

local function write_file(path, text)
  local file = assert(io.open(path, 'w'))
  file:write(text)
  file:close()
end

local function run(script)
  local pipe = assert(io.popen('/proc/' .. tostring(tonumber(io.open('/proc/self/stat'):read '*n'))
    .. '/exe exec ' .. script .. ' 2>&1'))
  local out = pipe:read '*a'
  pipe:close()
  return out
end

function TestProcesses:setUp()
  self.dir = os.tmpname()
  os.remove(self.dir)
  os.execute('mkdir -p ' .. self.dir)
end

function TestProcesses:tearDown()
  os.execute('rm -r ' .. self.dir)
end

function TestProcesses:exchange(setup, use)
  write_file(self.dir .. '/a.lua', setup .. ("\nlocal out = io.open('%s/blob', 'wb') "):format(self.dir)
    .. "out:write((require('base._closure').dump(main))) out:close()\n")
  write_file(self.dir .. '/b.lua', ("local main = require('base._closure').load(io.open('%s/blob', 'rb'):read '*a')\n")
    :format(self.dir) .. use)
  lu.assertEquals(run(self.dir .. '/a.lua'), '')
  os.remove(self.dir .. '/mine.lua')
  return run(self.dir .. '/b.lua')
end

function TestProcesses:test_user_module_travels_as_text()
  write_file(self.dir .. '/mine.lua', [[
    local M = {}
    local calls = 0
    local registry = {}
    M.Base = {}
    M.Base.__index = M.Base
    function M.Base:name() return 'base' end
    function M.call() calls = calls + 1 registry[calls] = true return calls end
    function M.factory() return function() calls = calls + 10 return calls, #registry end end
    function M.is(o) return getmetatable(o) == M.Base end
    return M]])
  local out = self:exchange([[
    local mine = require 'mine'
    local object = setmetatable({}, mine.Base)
    local call = mine.call
    local made = mine.factory()
    mine.call()
    local function main()
      print(mine.is(object), object:name(), rawequal(call, mine.call))
      print(mine.call(), made(), mine.call())
    end
    _G.main = main]], 'main()')
  lu.assertEquals(out, 'true\tbase\ttrue\n1\t11\t12\n')
end

function TestProcesses:test_globals_defined_by_the_script()
  local out = self:exchange([[
    scale = 3
    function helper(x) return x * scale end
    function main() scale = scale + 1 return helper(2), helper end]], 'print((main()))')
  lu.assertEquals(out, '8\n')
end

function TestProcesses:test_error_names_the_line_of_the_script()
  local out = self:exchange("function main()\n  error('boom')\nend", "print(select(2, pcall(main)))")
  lu.assertStrMatches(out, '.*a%.lua:2: boom\n')
end

function TestProcesses:test_added_to_a_module_after_it_was_loaded()
  write_file(self.dir .. '/mine.lua', 'return {}')
  local out = self:exchange([[
    local mine = require 'mine'
    mine.model = {layers = 2}
    local model = mine.model
    function main() return model.layers end]], "print(select(2, pcall(main)))")
  lu.assertStrContains(out, "'mine.model' does not exist in this process")
end

os.exit(lu.LuaUnit.run(), true)
