-- Classes: instances, inheritance, userdata instances.
local lu = require 'luaunit'
local class = require 'base.class'

TestClass = {}

function TestClass:test_call_makes_an_instance_and_runs_init()
  local Point = class('Point')
  function Point:init(x, y) self.x, self.y = x, y end
  function Point:sum() return self.x + self.y end
  lu.assertEquals(Point(1, 2):sum(), 3)
  lu.assertEquals(tostring(Point(1, 2)), 'Point')
end

function TestClass:test_subclass_inherits_init_and_overrides()
  local Base = class('Base')
  function Base:init(v) self.v = v end
  function Base:get() return self.v end
  local Middle = Base:extend('Middle')
  local Leaf = Middle:extend('Leaf')
  function Leaf:init(v) Middle.init(self, v + 1) end
  lu.assertEquals(Middle(5):get(), 5)
  lu.assertEquals(Leaf(5):get(), 6)
  lu.assertTrue(class.is(Leaf(1), Base))
  lu.assertFalse(class.is(Base(1), Leaf))
  lu.assertFalse(class.is('text', Base))
  lu.assertIs(class.of(Leaf(1)), Leaf)
end

function TestClass:test_the_class_of_an_object_and_its_name()
  local nn = require 'torch'.nn
  local Net = nn.Module:extend('Net')
  local List = class('List', nil, {userdata = true})
  local config = require 'rtrain'.ScalingConfig{num_workers = 2}
  for _, object in ipairs{nn.Conv2d(1, 2, 3), Net(), List(), nn.Sequential(), config} do
    lu.assertIs(object.__class__, class.of(object))
    lu.assertIs(object.__class__.__name__, class.of(object).__name)
  end
  lu.assertEquals(Net().__class__.__name__, 'Net')
  lu.assertEquals({nn.BatchNorm2d(1).__class__.__name__:find 'BatchNorm'}, {1, 9})
  lu.assertIs(Net.__name__, 'Net')
  lu.assertTrue(class.is(Net(), nn.Module))
  lu.assertFalse(class.is(Net(), nn.Linear))
end

function TestClass:test_is_wants_a_class()
  for _, wrong in ipairs{'Linear', {}, 3} do
    local ok, err = pcall(class.is, 1, wrong)
    lu.assertFalse(ok)
    lu.assertEquals(err.code, 'argument')
    lu.assertStrContains(err.message, 'class.is: expected a class')
  end
end

function TestClass:test_absent_field_is_nil()
  local Empty = class('Empty')
  lu.assertNil(Empty().nothing)
end

function TestClass:test_metamethods_are_inherited()
  local Base = class('Base')
  function Base:__call(x) return self:forward(x) end
  local Leaf = Base:extend('Leaf')
  function Leaf:forward(x) return x * 2 end
  lu.assertEquals(Leaf()(4), 8)
end

function TestClass:test_userdata_instances_have_a_length()
  local List = class('List', nil, {userdata = true})
  function List:len() return self.n end
  function List:__len() return self:len() end
  local Own = List:extend('Own')
  function Own:init(n) self.n = n end
  local own = Own(7)
  lu.assertEquals(#own, 7)
  own.n = 8
  lu.assertEquals(own:len(), 8)
  lu.assertTrue(class.is(own, List))
  lu.assertEquals(tostring(own), 'Own')
end

function TestClass:test_userdata_instances_travel()
  local List = class('List', nil, {userdata = true})
  function List:init(items) self.items = items end
  local list = List{1, 2}
  local module, name, state = getmetatable(list).__pack(list)
  local copy = require(module)[name](state)
  lu.assertTrue(class.is(copy, List))
  lu.assertIs(copy.items, list.items)
end

function TestClass:test_what_a_finaliser_raises_reaches_nobody()
  local Fragile = class('Fragile', nil, {userdata = true})
  local finalised = 0
  function Fragile.__gc()
    finalised = finalised + 1
    error 'too late'
  end
  for _ = 1, 3 do Fragile() end
  collectgarbage()
  collectgarbage()
  lu.assertEquals(finalised, 3)
end

function TestClass:test_extend_without_a_name_raises()
  lu.assertErrorMsgContains('needs a name', function() class('A'):extend() end)
end

os.exit(lu.LuaUnit.run(), true)
