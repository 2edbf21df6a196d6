local lu = require 'luaunit'
local host = require 'rtrain._host'

TestHost = {}

function TestHost:setUp()
  self.dir = os.tmpname()
  os.remove(self.dir)
  assert(os.execute('mkdir ' .. self.dir))
end

function TestHost:tearDown()
  os.execute('rm -r ' .. self.dir)
end

function TestHost:test_describes_itself()
  lu.assertStrMatches(host.version(), '%d+%.%d+%.%d+')
  local env = host.env()
  lu.assertEquals(env.version, host.version())
  lu.assertTrue(env.cores >= 1)
  lu.assertEquals(host.storage_folder():sub(1, 1), '/')
  lu.assertEquals(host.storage_folder '/a/../b', '/b')
end

function TestHost:test_a_folder_without_manifest_does_not_verify()
  local ok, err = pcall(host.verify, self.dir)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'checkpoint')
end

function TestHost:test_an_unknown_run_is_wrong_usage()
  local ok, err = pcall(host.run, self.dir, 'nothing')
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'usage')
end

os.exit(lu.LuaUnit.run(), true)
