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

-- Returns the bytes, compressed by gzip.
local function gzip_of(bytes)
  local path = compressed(bytes)
  local file = assert(io.open(path, 'rb'))
  local out = file:read('*a')
  file:close()
  os.remove(path)
  return out
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

-- The type byte, the bytes of two numbers, the dtype and the values.
local TYPES = {
  {'\8', '\1\255', 'uint8', {1, 255}}, {'\9', '\1\255', 'int8', {1, -1}},
  {'\11', '\0\1\255\254', 'int16', {1, -2}}, {'\12', '\0\0\1\2\255\255\255\255', 'int32', {258, -1}},
  {'\13', '\63\128\0\0\192\0\0\0', 'float32', {1, -2}},
  {'\14', '\63\240\0\0\0\0\0\0\192\0\0\0\0\0\0\0', 'float64', {1, -2}},
}

function TestIdx:test_all_types_of_numbers()
  for _, row in ipairs(TYPES) do
    local path = write('\0\0' .. row[1] .. '\1\0\0\0\2' .. row[2])
    local x = C.read_idx(path)
    os.remove(path)
    lu.assertEquals(x.dtype, row[3])
    lu.assertEquals(x:tolist(), row[4])
  end
end

function TestIdx:test_many_numbers_are_turned_around()
  local path = write('\0\0\11\1\0\0\3\233' .. ('\1\2'):rep(1001))
  local x = C.read_idx(path)
  os.remove(path)
  lu.assertEquals({x:size(0), x:min():item(), x:max():item()}, {1001, 258, 258})
end

function TestIdx:test_damaged_files_are_named()
  assert_refused(CUBE:sub(1, -2), 'truncated')
  assert_refused(CUBE:sub(1, 9), 'truncated')
  assert_refused('\0\0\8\1\255\255\255\255x', 'truncated')
  assert_refused('\0\0\8\5\0\0\0\0' .. ('\255'):rep(16), 'truncated')
  assert_refused('', 'truncated')
  assert_refused(CUBE .. 'x', 'longer than its header')
  assert_refused('PNG!' .. CUBE, 'not an idx file')
  assert_refused('\0\0\13\1\0\0\0\1abc', 'truncated')
  assert_refused('\0\0\13\1\0\0\0\1abcde', 'longer than its header')
  assert_refused('\0\0\10\1\0\0\0\1abcd', 'idx type 10')
  assert_refused('\0\0\8\65' .. ('\0\0\0\1'):rep(65) .. 'a', '65 dimensions')
end

function TestIdx:test_a_truncated_compressed_file_is_named()
  assert_refused(gzip_of(CUBE):sub(1, -12), 'truncated')
end

function TestIdx:test_a_compressed_file_of_several_members()
  local path = write(gzip_of(CUBE:sub(1, 7)) .. gzip_of(CUBE:sub(8, 20)) .. gzip_of(CUBE:sub(21)))
  local x = C.read_idx(path)
  os.remove(path)
  lu.assertEquals(x:tolist(), {{{97, 98, 99}}, {{100, 101, 102}}})
end

function TestIdx:test_a_tensor_from_a_compressed_file_is_one_like_any_other()
  local path = write(gzip_of(CUBE))
  local x = C.read_idx(path)
  os.remove(path)
  lu.assertEquals(x:storage_offset(), 0)
  x:resize_({3, 4}):fill_(7)
  lu.assertEquals(x:sum():item(), 84)
end

function TestIdx:test_damaged_compressed_files_are_named()
  assert_refused(gzip_of(CUBE .. 'x'), 'longer than its header')
  assert_refused(gzip_of(CUBE:sub(1, -2)), 'truncated')
  local bytes = gzip_of(CUBE)
  local checksum = #bytes - 7
  local wrong = string.char((bytes:byte(checksum) + 1) % 256)
  assert_refused(bytes:sub(1, checksum - 1) .. wrong .. bytes:sub(checksum + 1), 'damaged')
end

function TestIdx:test_changed_bytes_are_an_error_or_a_tensor()
  for _, whole in ipairs{CUBE, '\0\0\12\2\0\0\0\2\0\0\0\1' .. ('x'):rep(8)} do
    for i = 1, #whole do
      for change = 1, 255, 31 do
        local path = write(whole:sub(1, i - 1) .. string.char((whole:byte(i) + change) % 256) .. whole:sub(i + 1))
        local ok, out = pcall(C.read_idx, path)
        os.remove(path)
        if ok then
          lu.assertEquals(out:numel() * out:element_size(), whole == CUBE and 6 or 8)
        else
          lu.assertEquals(out.code, 'argument')
          lu.assertStrContains(tostring(out), path)
        end
      end
    end
  end
end

function TestIdx:test_a_missing_file_is_named()
  local ok, err = pcall(C.read_idx, '/no/such/file')
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'not_found')
end

os.exit(lu.LuaUnit.run(), true)
