-- torch.load_numpy: .npy and .npz files, byte by byte. tests/e2e/data/test_numpy_files.py compares with NumPy itself.
local lu = require 'luaunit'
local torch = require 'torch'

local path

local function write(bytes)
  local file = assert(io.open(path, 'wb'))
  file:write(bytes)
  file:close()
end

local function number16(n) return string.char(n % 256, math.floor(n / 256)) end

-- Returns the bytes of a .npy file with this header text and these bytes of values.
local function npy(header, values, version)
  local size = number16(#header)
  if version and version > 1 then size = size .. '\0\0' end
  return '\147NUMPY' .. string.char(version or 1, 0) .. size .. header .. values
end

local function header(descr, shape, fortran)
  return ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"):format(descr, fortran and 'True' or 'False', shape)
end

local function load(bytes, options)
  write(bytes)
  return torch.load_numpy(path, options)
end

local function assert_refused(bytes, text)
  write(bytes)
  local ok, err = pcall(torch.load_numpy, path)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'argument')
  lu.assertStrContains(tostring(err), path)
  lu.assertStrContains(tostring(err), text)
end

TestNumpy = {}

function TestNumpy.setUp() path = os.tmpname() end
function TestNumpy.tearDown() os.remove(path) end

function TestNumpy.test_all_versions()
  for version = 1, 3 do
    local x = load(npy(header('<i2', '(2, 2)'), '\1\0\2\0\255\255\0\1', version))
    lu.assertEquals(x.dtype, 'int16')
    lu.assertEquals(x:tolist(), {{1, 2}, {-1, 256}})
  end
end

function TestNumpy.test_big_endian_numbers_are_turned_around()
  lu.assertEquals(load(npy(header('>i2', '(2,)'), '\0\1\1\0')):tolist(), {1, 256})
  lu.assertEquals(load(npy(header('>f4', '(1,)'), '\63\128\0\0')):tolist(), {1})
  lu.assertEquals(load(npy(header('>u4', '()'), '\0\0\1\2')):item(), 258)
  lu.assertEquals(load(npy(header('>f8', '(1,)'), '\192\0\0\0\0\0\0\0')):tolist(), {-2})
  local z = load(npy(header('>c8', '(1,)'), '\63\128\0\0\192\0\0\0'))
  lu.assertEquals({z.real:item(), z.imag:item()}, {1, -2})
end

function TestNumpy.test_fortran_order_keeps_the_memory()
  local x = load(npy(header('|u1', '(2, 3)', true), '\0\1\2\3\4\5'))
  lu.assertEquals(x:tolist(), {{0, 2, 4}, {1, 3, 5}})
  lu.assertEquals({x:stride(0), x:stride(1)}, {1, 2})
end

function TestNumpy.test_bools_scalars_and_empty_arrays()
  lu.assertEquals(load(npy(header('|b1', '(3,)'), '\0\1\7')):tolist(), {false, true, true})
  lu.assertEquals(load(npy(header('<i8', '()'), '\5\0\0\0\0\0\0\0')):dim(), 0)
  local empty = load(npy(header('<f4', '(0, 3)'), ''))
  lu.assertEquals({empty:size(0), empty:size(1)}, {0, 3})
end

function TestNumpy.test_mmap_changes_stay_private()
  local text = header('<f4', '(2,)')
  text = text .. (' '):rep(64 - 10 - #text % 64 + 64)
  text = text:sub(1, #text - (#text + 10) % 64)
  local x = load(npy(text, '\0\0\128\63\0\0\128\63'), {mmap = true})
  x:add_(1)
  lu.assertEquals(x:tolist(), {2, 2})
  lu.assertEquals(torch.load_numpy(path):tolist(), {1, 1})
end

function TestNumpy.test_what_is_no_plain_array_is_refused_with_the_reason()
  assert_refused(npy(header('|O', '(1,)'), 'pickle'), 'pickles and could run any code')
  assert_refused(npy(header('<U4', '(1,)'), ('x'):rep(16)), 'texts')
  assert_refused(npy(header('|S4', '(1,)'), 'abcd'), 'texts')
  assert_refused(npy(header('<M8[ns]', '(1,)'), ('x'):rep(8)), "x.astype('int64')")
  assert_refused(npy(header('<f16', '(1,)'), ('x'):rep(16)), "x.astype('float64')")
  assert_refused(npy(header('|V8', '(1,)'), ('x'):rep(8)), 'raw records')
  assert_refused(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 'abcd'), 'structured')
  assert_refused(npy(header('<q7', '(1,)'), 'x'), 'no dtype')
end

function TestNumpy.test_damaged_files_are_named()
  local whole = npy(header('<f4', '(2, 2)'), ('x'):rep(16))
  for size = 0, #whole - 1 do
    write(whole:sub(1, size))
    local ok, err = pcall(torch.load_numpy, path)
    lu.assertFalse(ok)
    lu.assertStrContains(tostring(err), path)
  end
  assert_refused(whole:sub(1, -2), 'promises 16 bytes of values where 15 are')
  assert_refused(whole .. 'x', 'longer than its header says')
  assert_refused(npy(header('<f4', '(99999999999, 99999999999)'), 'x'), 'far more')
  assert_refused(npy(header('<f4', '(0, 9223372036854775807, 9223372036854775807)'), ''), 'far more')
  assert_refused(npy(header('<f4', '(99999999999999999999,)'), 'x'), 'too large')
  assert_refused(npy(header('<f4', '(-1,)'), 'x'), 'not a number')
  assert_refused(npy(header('<f4', '(' .. ('1,'):rep(65) .. ')'), 'abcd'), '64 dimensions')
  assert_refused(npy("{'descr': '<f4', 'descr': '<f4', }", ''), 'twice')
  assert_refused(npy("{'descr': '<f4'}", ''), 'not all of')
  assert_refused(npy("{'evil': __import__('os')}", ''), "unknown key 'evil'")
  assert_refused(npy('{', ''), 'malformed')
  assert_refused('\147NUMPY\9\0' .. '\0\0', 'version 9')
  assert_refused('\147NUMPY\2\0' .. '\255\255\255\255', 'its header would have')
  assert_refused('GIF89a and more', 'not a .npy file')
end

function TestNumpy.test_changed_bytes_are_an_error_or_an_array()
  local whole = npy(header('>i2', '(2, 3)', true), ('x'):rep(12))
  for i = 1, #whole do
    for change = 1, 255, 31 do
      write(whole:sub(1, i - 1) .. string.char((whole:byte(i) + change) % 256) .. whole:sub(i + 1))
      local ok, out = pcall(torch.load_numpy, path)
      if ok then
        lu.assertEquals(out:numel() * out:element_size(), 12)
      else
        lu.assertEquals(out.code, 'argument')
        lu.assertStrContains(tostring(out), path)
      end
    end
  end
end

function TestNumpy.test_missing_files_and_wrong_arguments()
  local ok, err = pcall(torch.load_numpy, path .. '.none')
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'not_found')
  lu.assertErrorMsgContains('expected a path, got number', torch.load_numpy, 3)
  lu.assertErrorMsgContains('mmap', torch.load_numpy, path, {mmap = 1})
end

function TestNumpy.test_other_zip_archives_are_refused()
  torch.save({1}, path)
  local ok, err = pcall(torch.load_numpy, path)
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(err), 'not a .npy file')
end

os.exit(lu.LuaUnit.run(), true)
