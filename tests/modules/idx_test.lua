local C = require 'torch._C'
local lu = require 'luaunit'

local function write(bytes)
  local path = os.tmpname()
  local file = assert(io.open(path, 'wb'))
  file:write(bytes)
  file:close()
  return path
end

local function compressed(bytes)
  local path = write(bytes)
  assert(os.execute('gzip -kf ' .. path) == 0)
  os.remove(path)
  return path .. '.gz'
end

local CUBE = '\0\0\8\3' .. '\0\0\0\2' .. '\0\0\0\1' .. '\0\0\0\3' .. 'abcdef'

local function assert_refused(bytes, text)
  local path = write(bytes)
  local ok, err = pcall(C.read_idx, path)
  os.remove(path)
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(err), path)
  lu.assertStrContains(tostring(err), text)
end

TestIdx = {}

function TestIdx:test_plain_and_compressed_files()
  for _, make in ipairs{write, compressed} do
    local path = make(CUBE)
    local x = C.read_idx(path)
    os.remove(path)
    lu.assertEquals(x.dtype, 'uint8')
    lu.assertEquals(x:tolist(), {{{97, 98, 99}}, {{100, 101, 102}}})
  end
end

function TestIdx:test_damaged_files_are_named()
  assert_refused(CUBE:sub(1, -2), 'truncated')
  assert_refused(CUBE:sub(1, 9), 'truncated')
  assert_refused('\0\0\8\1\255\255\255\255x', 'truncated')
  assert_refused('', 'truncated')
  assert_refused(CUBE .. 'x', 'longer than its header')
  assert_refused('PNG!' .. CUBE, 'no idx file')
  assert_refused('\0\0\13\1\0\0\0\1abcd', 'idx type 13')
end

function TestIdx:test_a_truncated_compressed_file_is_named()
  local whole = compressed(CUBE:rep(1) .. '')
  local file = assert(io.open(whole, 'rb'))
  local bytes = file:read('*a')
  file:close()
  os.remove(whole)
  assert_refused(bytes:sub(1, -12), 'truncated')
end

function TestIdx:test_a_missing_file_is_named()
  local ok, err = pcall(C.read_idx, '/no/such/file')
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'not_found')
end

os.exit(lu.LuaUnit.run(), true)
