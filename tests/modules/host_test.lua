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

function TestHost:write(name, text)
  local file = assert(io.open(self.dir .. '/' .. name, 'w'))
  file:write(text)
  file:close()
end

function TestHost:test_describes_itself()
  lu.assertStrMatches(host.version(), '%d+%.%d+%.%d+')
  local env = host.env()
  lu.assertEquals(env.version, host.version())
  lu.assertTrue(env.cores >= 1)
  lu.assertEquals(host.storage_default():sub(1, 1), '/')
end

function TestHost:test_metadata_is_kept_in_the_folder()
  lu.assertEquals(host.get_metadata(self.dir), {})
  host.set_metadata(self.dir, {epoch = 3, tags = {'a', 'b'}})
  lu.assertEquals(host.get_metadata(self.dir), {epoch = 3, tags = {'a', 'b'}})
end

function TestHost:test_a_folder_without_manifest_does_not_verify()
  local ok, err = pcall(host.verify, self.dir)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'checkpoint')
end

function TestHost:test_a_lease_is_of_a_folder_that_is_there()
  local lease = host.lease(self.dir)
  lease:release()
  lease:release()
  lu.assertFalse(pcall(host.lease, self.dir .. '/absent'))
end

function TestHost:test_copies_a_folder()
  self:write('data', 'x')
  os.execute('mkdir ' .. self.dir .. '/inner')
  self:write('inner/more', 'y')
  local target = self.dir .. '-copy'
  host.copy_folder(self.dir, target)
  local file = assert(io.open(target .. '/inner/more'))
  lu.assertEquals(file:read('*a'), 'y')
  file:close()
  os.execute('rm -r ' .. target)
end

function TestHost:test_an_unknown_run_is_wrong_usage()
  local ok, err = pcall(host.run, self.dir, 'nothing')
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'usage')
end

os.exit(lu.LuaUnit.run())
