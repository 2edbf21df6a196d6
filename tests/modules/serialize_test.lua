local lu = require 'luaunit'
local ordered = require 'rtrain.ordered'
local torch = require 'torch'

local function temporary() return os.tmpname() end

local function round_trip(value)
  local path = temporary()
  torch.save(value, path)
  local out = torch.load(path)
  os.remove(path)
  return out
end

local function write(path, bytes)
  local file = assert(io.open(path, 'wb'))
  file:write(bytes)
  file:close()
end

local function read(path)
  local file = assert(io.open(path, 'rb'))
  local bytes = file:read('*a')
  file:close()
  return bytes
end

TestSerialize = {}

function TestSerialize:test_plain_values_come_back()
  local value = {name = 'x', count = 3, big = 2 ^ 40, rate = 0.25, on = true, off = false,
                 list = {1, 'two', {3.5}}, empty_list = torch.list{}, empty_map = {}, binary = 'a\255\0b', text = 'häß→'}
  lu.assertEquals(round_trip(value), value)
  lu.assertEquals(round_trip(7), 7)
  lu.assertEquals(round_trip(1 / 0), 1 / 0)
  lu.assertNil(round_trip(nil))
end

function TestSerialize:test_every_dtype_comes_back()
  for _, dtype in ipairs{'float32', 'float64', 'float16', 'bfloat16', 'int64', 'int32', 'int16', 'int8', 'uint8', 'bool',
                         'complex64', 'complex128'} do
    local x = torch.ones(2, 3, {dtype = dtype})
    local y = round_trip(x)
    lu.assertEquals(y.dtype, dtype)
    lu.assertTrue(y:equal(x), dtype)
  end
end

function TestSerialize:test_views_share_memory_again()
  local x = torch.arange(6):view(2, 3)
  local out = round_trip{whole = x, turned = x:t(), row = x[1], same = x}
  lu.assertEquals(out.turned:tolist(), {{0, 3}, {1, 4}, {2, 5}})
  lu.assertEquals(out.row:tolist(), {3, 4, 5})
  out.whole:fill_(9)
  lu.assertEquals(out.row:tolist(), {9, 9, 9})
  lu.assertEquals(out.turned:tolist(), {{9, 9}, {9, 9}, {9, 9}})
end

function TestSerialize:test_empty_and_scalar_tensors()
  lu.assertEquals(round_trip(torch.zeros(0, 3)):size(), torch.zeros(0, 3):size())
  lu.assertEquals(round_trip(torch.tensor(2.5)):item(), 2.5)
end

function TestSerialize:test_ordered_maps_keep_their_order()
  local map = ordered.new{{'z', 1}, {'a', torch.ones(1)}, {'m', 3}}
  local out = round_trip(map)
  lu.assertTrue(ordered.is(out))
  lu.assertEquals(ordered.keys(out), {'z', 'a', 'm'})
end

function TestSerialize:test_shared_tables_stay_shared()
  local inner = {1, 2}
  local out = round_trip{a = inner, b = inner}
  lu.assertIs(out.a, out.b)
end

function TestSerialize:test_requires_grad_is_kept()
  lu.assertTrue(round_trip(torch.ones(2):requires_grad_()).requires_grad)
  lu.assertFalse(round_trip(torch.ones(2)).requires_grad)
end

function TestSerialize:test_what_cannot_be_saved_is_named()
  local path = temporary()
  lu.assertErrorMsgContains('value.model.hook: a function', torch.save, {model = {hook = print}}, path)
  local loop = {}
  loop.self = loop
  lu.assertErrorMsgContains('a table within itself', torch.save, loop, path)
  lu.assertErrorMsgContains('both list items and named fields', torch.save, {1, a = 2}, path)
  os.remove(path)
end

function TestSerialize:test_a_failed_save_leaves_the_older_file()
  local path = temporary()
  torch.save(1, path)
  pcall(torch.save, {f = print}, path)
  lu.assertEquals(torch.load(path), 1)
  os.remove(path)
  lu.assertErrorMsgContains('/no/such/folder/x.pt', torch.save, 1, '/no/such/folder/x.pt')
end

function TestSerialize:test_a_missing_or_foreign_file_is_named()
  local path = temporary()
  write(path, 'no archive')
  lu.assertErrorMsgContains(path, torch.load, path)
  os.remove(path)
  local ok, err = pcall(torch.load, path)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'not_found')
end

function TestSerialize:test_damaged_files_raise_and_do_nothing_else()
  local path = temporary()
  torch.save({w = torch.arange(20), n = {1, 2, {3}}, s = 'text'}, path)
  local bytes = read(path)
  for cut = 1, #bytes - 1, 37 do
    write(path, bytes:sub(1, cut))
    lu.assertFalse((pcall(torch.load, path)))
  end
  -- The pickle begins after the record's header, right at the protocol's opcode: change each of its bytes.
  local start = bytes:find('\128\2', 1, true)
  for i = start, start + 400 do
    for _, byte in ipairs{0, 46, 82, 255} do
      write(path, bytes:sub(1, i - 1) .. string.char(byte) .. bytes:sub(i + 1))
      pcall(torch.load, path)
    end
  end
  os.remove(path)
end

function TestSerialize:test_map_location()
  local path = temporary()
  torch.save(torch.ones(1), path)
  lu.assertEquals(torch.load(path, {map_location = 'cpu'}).device, 'cpu')
  if not torch.cuda.is_available() then
    local ok, err = pcall(torch.load, path, {map_location = 'cuda:0'})
    lu.assertFalse(ok)
    lu.assertEquals(err.code, 'environment')
  end
  os.remove(path)
end

TestTravel = {}

local function travel(value)
  local closure = require 'rtrain._closure'
  return closure.load((closure.dump(value)))
end

function TestTravel:test_tensors_keep_values_shape_and_sharing()
  local x = torch.arange(6, {dtype = 'float32'}):view(2, 3)
  local out = travel{x = x, t = x:t(), p = torch.ones(2):requires_grad_(), e = torch.zeros(0, 2)}
  lu.assertEquals(out.x:tolist(), {{0, 1, 2}, {3, 4, 5}})
  lu.assertTrue(out.p.requires_grad)
  lu.assertEquals(out.e:numel(), 0)
  out.x:fill_(1)
  lu.assertEquals(out.t:tolist(), {{1, 1}, {1, 1}, {1, 1}})
  lu.assertEquals(x[1]:tolist(), {3, 4, 5})
end

os.exit(lu.LuaUnit.run(), true)
