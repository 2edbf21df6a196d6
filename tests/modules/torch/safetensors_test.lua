local lu = require 'luaunit'
local ordered = require 'base.ordered'
local torch = require 'torch'

local DTYPES = {'float64', 'float32', 'float16', 'bfloat16', 'int64', 'int32', 'int16', 'int8', 'uint8', 'bool', 'uint16',
                'uint32', 'uint64', 'float8_e4m3fn', 'float8_e5m2', 'float8_e4m3fnuz', 'float8_e5m2fnuz',
                'float8_e8m0fnu', 'complex64'}

local path

local function read()
  local file = assert(io.open(path, 'rb'))
  local bytes = file:read '*a'
  file:close()
  return bytes
end

local function write(bytes)
  local file = assert(io.open(path, 'wb'))
  file:write(bytes)
  file:close()
end

-- Writes a file with this header and these bytes after it.
local function write_file(header, data)
  local size, length = #header, {}
  for i = 1, 8 do
    length[i] = string.char(size % 256)
    size = math.floor(size / 256)
  end
  write(table.concat(length) .. header .. data)
end

TestSafetensors = {}

function TestSafetensors.setUp() path = os.tmpname() end
function TestSafetensors.tearDown() os.remove(path) end

function TestSafetensors.test_every_dtype_comes_back()
  local tensors = {}
  for _, dtype in ipairs(DTYPES) do tensors[dtype] = torch.ones(2, 3):to(dtype) end
  torch.save_safetensors(tensors, path)
  for _, mmap in ipairs{true, false} do
    local out = torch.load_safetensors(path, {mmap = mmap})
    for _, dtype in ipairs(DTYPES) do
      lu.assertEquals(out[dtype].dtype, dtype)
      lu.assertEquals(out[dtype]:to 'float64':tolist(), {{1, 1, 1}, {1, 1, 1}}, dtype)
    end
  end
end

function TestSafetensors.test_names_keep_their_order_and_metadata_comes_second()
  local x = torch.arange(6)
  torch.save_safetensors(ordered.new{{'z', x:to 'uint8'}, {'a', x:to 'float64'}, {'m', torch.tensor(2.5)}}, path,
    {metadata = {format = 'pt', author = 'häß'}})
  lu.assertEquals(select('#', torch.load_safetensors(path)), 1)
  local out, metadata = torch.load_safetensors(path, {metadata = true})
  lu.assertTrue(ordered.is(out))
  lu.assertEquals(ordered.keys(out), {'z', 'a', 'm'})
  lu.assertEquals(out.z:tolist(), {0, 1, 2, 3, 4, 5})
  lu.assertEquals(out.a:tolist(), {0, 1, 2, 3, 4, 5})
  lu.assertEquals(out.m:item(), 2.5)
  lu.assertEquals(ordered.keys(metadata), {'author', 'format'})
  lu.assertEquals(metadata.author, 'häß')
  torch.save_safetensors({}, path)
  out, metadata = torch.load_safetensors(path, {metadata = true})
  lu.assertEquals(ordered.len(out), 0)
  lu.assertEquals(ordered.len(metadata), 0)
end

-- The bytes are written by hand, as the format describes them.
function TestSafetensors.test_the_bytes_of_a_file()
  torch.save_safetensors(ordered.new{{'b', torch.tensor({1, 2}, {dtype = 'uint8'})}, {'w', torch.tensor{1, -2}}}, path)
  local header = '{"b":{"dtype":"U8","shape":[2],"data_offsets":[8,10]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
  header = header .. (' '):rep(-(8 + #header) % 64)
  lu.assertEquals(read(), string.char(#header) .. ('\0'):rep(7) .. header .. '\0\0\128\63\0\0\0\192' .. '\1\2')
end

function TestSafetensors.test_views_are_saved_as_contiguous_copies()
  local x = torch.arange(6, {dtype = 'float32'}):view(2, 3)
  torch.save_safetensors({turned = x:t()}, path)
  local out = torch.load_safetensors(path).turned
  lu.assertEquals(out:tolist(), {{0, 3}, {1, 4}, {2, 5}})
  lu.assertTrue(out:is_contiguous())
  lu.assertEquals(#read() % 64, 24)
  torch.save_safetensors({row = x[0], other = x[1], none = x[torch.slice(0, 0)]}, path)  -- parts that do not overlap
  lu.assertEquals(torch.load_safetensors(path).other:tolist(), {3, 4, 5})
  lu.assertEquals(torch.load_safetensors(path).none.shape[2], 3)
  torch.save_safetensors({c = torch.ones(2):to 'complex64':conj()}, path)
  lu.assertEquals(torch.load_safetensors(path).c.real:tolist(), {1, 1})
end

function TestSafetensors.test_what_cannot_be_kept_is_refused()
  local x = torch.ones(4)
  local save = torch.save_safetensors
  lu.assertErrorMsgContains('tensors a and b share memory', save, {a = x, b = x}, path)
  lu.assertErrorMsgContains('share memory', save, {a = x, b = x[torch.slice(3, 4)]}, path)
  lu.assertErrorMsgContains('tensor a: safetensors holds dense tensors only', save, {a = x:to_sparse()}, path)
  lu.assertErrorMsgContains('no dtype complex128', save, {a = x:to 'complex128'}, path)
  lu.assertErrorMsgContains('tensors.a: expected a tensor', save, {a = 1}, path)
  lu.assertErrorMsgContains('tensors: expected a table {name = tensor}', save, {x, x:clone()}, path)
  lu.assertErrorMsgContains('tensors: expected a table {name = tensor}', save, x, path)
  lu.assertErrorMsgContains('UTF-8', save, {['\255'] = x}, path)
  lu.assertErrorMsgContains('__metadata__', save, {__metadata__ = x}, path)
  lu.assertErrorMsgContains('metadata.step: expected a string', save, {a = x}, path, {metadata = {step = 1}})
  lu.assertErrorMsgContains("unknown option 'meta'", save, {a = x}, path, {meta = {}})
  lu.assertErrorMsgContains('save its state_dict()', save, torch.nn.Linear(1, 1), path)
  lu.assertErrorMsgContains('/no/such/folder/x', save, {a = x}, '/no/such/folder/x')
end

function TestSafetensors.test_a_failed_save_leaves_the_older_file()
  torch.save_safetensors({a = torch.ones(1)}, path)
  pcall(torch.save_safetensors, {a = torch.ones(1), b = torch.ones(1):to_sparse()}, path)
  lu.assertEquals(torch.load_safetensors(path).a:item(), 1)
  torch.save_safetensors({a = torch.zeros(1)}, path)
  lu.assertEquals(torch.load_safetensors(path).a:item(), 0)
end

function TestSafetensors.test_changes_of_a_mapped_tensor_stay_private()
  torch.save_safetensors({a = torch.ones(1000)}, path)
  local bytes = read()
  local out = torch.load_safetensors(path, {mmap = true})
  out.a:mul_(3)
  lu.assertEquals(out.a:sum():item(), 3000)
  lu.assertEquals(read(), bytes)
  torch.save_safetensors({a = torch.zeros(1000)}, path)  -- a new file that replaces the old one
  lu.assertEquals(out.a:sum():item(), 3000)
end

-- Tensors at unaligned offsets are copied out of a mapping.
function TestSafetensors.test_unaligned_tensors()
  write_file('{"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"F32","shape":[],"data_offsets":[1,5]}}',
    '\7\0\0\128\63')
  for _, mmap in ipairs{true, false} do
    local out = torch.load_safetensors(path, {mmap = mmap})
    lu.assertEquals({out.b[0]:item(), out.w:item()}, {7, 1})
    lu.assertEquals(out.w:data_ptr() % 4, 0)
  end
end

function TestSafetensors.test_other_and_damaged_files_are_told()
  local load = torch.load_safetensors
  torch.save({1}, path)
  lu.assertErrorMsgContains('try torch.load', load, path)
  torch.save_safetensors({a = torch.ones(3)}, path)
  lu.assertErrorMsgContains('torch.load_safetensors', torch.load, path)
  local bytes = read()
  for cut = 0, #bytes - 1 do
    write(bytes:sub(1, cut))
    local ok, err = pcall(load, path)
    lu.assertFalse(ok)
    lu.assertEquals(err.code, 'argument')
    lu.assertStrContains(err.message, path)
  end
  write(bytes .. 'x')
  lu.assertErrorMsgContains('unused bytes behind', load, path)
  os.remove(path)
  local _, err = pcall(load, path)
  lu.assertEquals(err.code, 'not_found')
end

os.exit(lu.LuaUnit.run(), true)
