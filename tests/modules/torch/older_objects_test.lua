-- Files that an older version has written can still be loaded.
local lu = require 'luaunit'
local torch = require 'torch'
local older = require 'older_objects'

TestOlderObjects = {}

function TestOlderObjects:test_a_checkpoint()
  local ordered, path = require 'base.ordered', os.tmpname()
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
