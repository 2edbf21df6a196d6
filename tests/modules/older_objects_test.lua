-- What an older version has written still loads: names of modules in it are those of that time.
local lu = require 'luaunit'
local closure = require 'base._closure'
local torch = require 'torch'
local older = require 'older_objects'

TestOlderObjects = {}

function TestOlderObjects:test_public_names_are_the_same_modules()
  lu.assertTrue(rawequal(require 'rtrain.class', require 'base.class'))
  lu.assertTrue(rawequal(require 'rtrain.ordered', require 'base.ordered'))
end

function TestOlderObjects:test_classes_and_ordered_maps()
  local class, ordered = require 'rtrain.class', require 'rtrain.ordered'
  local loaded = closure.load(older.closure)
  lu.assertTrue(ordered.is(loaded.map))
  lu.assertEquals(ordered.keys(loaded.map), {'b', 'a'})
  lu.assertEquals(ordered.keys(loaded.map.a), {'z'})
  lu.assertEquals(type(loaded.animal), 'userdata')
  lu.assertEquals({loaded.animal.name, tostring(loaded.animal)}, {'Rex', 'Animal'})
  lu.assertTrue(class.is(loaded.Dog(), class.of(loaded.animal)))
  lu.assertTrue(rawequal(loaded.is, class.is))
  lu.assertTrue(rawequal(loaded.new, ordered.new))
end

-- What is written now names the modules as they are now.
function TestOlderObjects:test_they_travel_on()
  local bytes = closure.dump(closure.load(older.closure))
  lu.assertStrContains(bytes, 'base.class')
  lu.assertNil(bytes:find('rtrain.class', 1, true))
  lu.assertEquals(closure.load(bytes).animal.name, 'Rex')
end

function TestOlderObjects:test_a_checkpoint()
  local ordered, path = require 'rtrain.ordered', os.tmpname()
  local file = assert(io.open(path, 'wb'))
  file:write(older.checkpoint)
  file:close()
  local saved = torch.load(path)
  os.remove(path)
  lu.assertEquals(ordered.keys(saved), {'weight', 'history', 'epochs'})
  lu.assertEquals(saved.weight:tolist(), {1.5, -2})
  lu.assertEquals(saved.history, {0.5, 0.25})
  lu.assertEquals(getmetatable(saved.epochs), getmetatable(torch.list {}))
end

os.exit(lu.LuaUnit.run(), true)
