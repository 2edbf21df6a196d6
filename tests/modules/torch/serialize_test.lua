local lu = require 'luaunit'
local ordered = require 'base.ordered'
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
                         'complex64', 'complex128', 'complex32', 'uint16', 'uint32', 'uint64', 'float8_e4m3fn',
                         'float8_e5m2'} do
    local x = torch.ones(2, 3):to(dtype)
    local y = round_trip{x = x}.x
    lu.assertEquals(y.dtype, dtype)
    lu.assertEquals(y:to 'float64':tolist(), {{1, 1, 1}, {1, 1, 1}}, dtype)
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

function TestSerialize:test_sparse_tensors()
  local x = torch.tensor{{0, 2, 0}, {3, 0, 4}}
  for _, layout in ipairs{'sparse_coo', 'sparse_csr', 'sparse_csc'} do
    local out = round_trip(layout == 'sparse_coo' and x:to_sparse() or x['to_' .. layout](x))
    lu.assertEquals(out.layout, layout)
    lu.assertEquals(out:to_dense():tolist(), x:tolist())
  end
  lu.assertTrue(round_trip(x:to_sparse()):is_coalesced())
end

function TestSerialize:test_conjugates_are_written_out()
  local x = torch.tensor{1, 2}:to 'complex64' * 1i
  lu.assertEquals(round_trip(x:conj()).imag:tolist(), {-1, -2})
end

function TestSerialize:test_integers_and_complex_numbers_beyond_lua()
  local out = round_trip{big = 9007199254740993LL, small = -9223372036854775807LL - 1LL, complex = 2i}
  lu.assertEquals(out.big, 9007199254740993LL)
  lu.assertEquals(tostring(out.small), '-9223372036854775808LL')
  lu.assertEquals({out.complex.re, out.complex.im}, {0, 2})
  out = round_trip{most = 18446744073709551615ULL, next = 9223372036854775808ULL, small = 5ULL}
  lu.assertEquals({tostring(out.most), tostring(out.next), out.small}, {'18446744073709551615ULL', '9223372036854775808ULL', 5})
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

-- In some of these tables Lua's # equals the number of keys, so they look like complete lists.
function TestSerialize:test_a_table_that_is_only_partly_a_list_is_refused()
  local path, built = temporary(), {a = 1, b = 2, c = 3}
  built[1] = 4
  for _, case in ipairs {
    {{1, nil, 3}, 'value: item 2 of the list is nil'},
    {{nil, 2}, 'value: item 1 of the list is nil'},
    {{nil, 2, x = 1}, 'value: a table with both list items and named fields'},
    {{1, nil, nil, 4, a = 1, b = 2}, 'value: a table with both list items and named fields'},
    {built, 'value: a table with both list items and named fields'},
    {{[0] = 1, [2] = 3}, 'value: item 1 of the list is nil'},
    {{[0] = 1, [2] = 3, [3] = 4}, 'value: item 1 of the list is nil'},
    {{[0] = 1, 2, 3}, 'value: it has an item 0, and a list begins with item 1'},
    {{[0] = 1}, 'value: it has an item 0, and a list begins with item 1'},
    {{[1.5] = 1}, 'value: it has an item 1.5'},
    {{[0] = 1, x = 1}, 'value: a table with both list items and named fields'},
    {{v = {1, nil, 3, x = 5}}, 'value.v: a table with both list items and named fields'},
    {torch.list {1, nil, 3, [0] = 2}, 'value: item 2 of the list is nil'},
    {torch.list {1, x = 2}, 'value: a table with both list items and named fields'},
  } do
    lu.assertErrorMsgContains(case[2], torch.save, case[1], path)
  end
  os.remove(path)
  lu.assertEquals(round_trip{{1, 2}, {}, {x = 1}}, {{1, 2}, {}, {x = 1}})
end

-- LuaJIT stores item 0 before item 1, and the first item of such a table after its named fields.
function TestSerialize:test_lists_of_operators_are_whole_too()
  local built = {a = 1, b = 2, c = 3}
  built[1] = 4
  lu.assertErrorMsgContains("it has a field 'a'", torch.tensor, built)
  lu.assertErrorMsgContains('it has an item 0', torch.tensor, {[0] = 5, 1, 2})
  lu.assertErrorMsgContains('data[2]: expected numbers or booleans, got nil', torch.tensor, {1, nil, 3})
  local x = torch.ones(2, {requires_grad = true})
  lu.assertErrorMsgContains('expected a Tensor, got nil', torch.autograd.grad, {(x * 2):sum()}, {x, nil, x})
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
  write(path, 'not an archive')
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

function TestSerialize:test_changes_of_a_mapped_tensor_stay_private()
  local path = temporary()
  torch.save({w = torch.arange(1000), e = torch.zeros(0)}, path)
  local bytes = read(path)
  local out = torch.load(path, {mmap = true})
  out.w:add_(1)
  lu.assertEquals(out.w[999]:item(), 1000)
  lu.assertEquals(out.e:numel(), 0)
  lu.assertEquals(read(path), bytes)
  lu.assertEquals(torch.load(path, {mmap = true}).w[999]:item(), 999)
  os.remove(path)
  lu.assertEquals(out.w:sum():item(), 500500)  -- the mapping remains after the file is removed
end

-- A mapping lives exactly as long as its last tensor.
function TestSerialize:test_a_mapping_ends_with_its_tensors()
  local path = temporary()
  torch.save({a = torch.ones(3), b = torch.ones(3)}, path)
  local function mapped() return read '/proc/self/maps':find(path, 1, true) ~= nil end
  local out = torch.load(path, {mmap = true})
  local b = out.b
  out = nil -- luacheck: ignore
  collectgarbage()
  collectgarbage()
  lu.assertTrue(mapped())
  lu.assertEquals(b:sum():item(), 3)
  b = nil -- luacheck: ignore
  collectgarbage()
  collectgarbage()
  lu.assertFalse(mapped())
  os.remove(path)
end

function TestSerialize:test_a_path_that_is_no_file()
  lu.assertErrorMsgContains('it is a folder', torch.load, '/tmp')
  lu.assertErrorMsgContains('not a regular file', torch.load, '/dev/zero')
  local path = temporary()
  os.remove(path)
  os.execute('mkfifo ' .. path)
  lu.assertErrorMsgContains('not a regular file', torch.load, path)  -- the call does not wait for a writer
  os.remove(path)
  lu.assertErrorMsgContains("missing argument 'f'", torch.load)
  lu.assertErrorMsgContains('expected a path, got number', torch.load, 7)
  lu.assertErrorMsgContains('expected a path, got nil', torch.save, 1)
  lu.assertErrorMsgContains("did you mean 'map_location'", torch.load, path, {map_locatoin = 'cpu'})
end

function TestSerialize:test_map_location()
  local path = temporary()
  torch.save(torch.ones(1), path)
  lu.assertEquals(torch.load(path, {map_location = 'cpu'}).device, 'cpu')
  lu.assertEquals(torch.load(path, 'cpu').device, 'cpu')
  lu.assertEquals(torch.load(path, {map_location = {['cuda:0'] = 'cpu'}}).device, 'cpu')
  lu.assertErrorMsgContains('unknown device', torch.load, path, {map_location = 'nowhere'})
  lu.assertErrorMsgContains('{saved_device = device}', torch.load, path, {map_location = {'cpu'}})
  if not torch.cuda.is_available() then
    local ok, err = pcall(torch.load, path, {map_location = 'cuda:0'})
    lu.assertFalse(ok)
    lu.assertEquals(err.code, 'environment')
  end
  os.remove(path)
end

TestTravel = {}

local function travel(value)
  local closure = require 'base._closure'
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

function TestTravel:test_a_tensor_of_too_many_dimensions_is_named()
  local sizes, path = {}, os.tmpname()
  for i = 1, 65 do sizes[i] = 1 end
  torch.save(torch.zeros(sizes), path)
  local ok, err = pcall(torch.load, path)
  os.remove(path)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'unsupported')
  lu.assertStrContains(tostring(err), 'a tensor of 65 dimensions: tensors of at most 64 can be loaded')
end

os.exit(lu.LuaUnit.run(), true)
