-- random_shuffle and sort: in memory, through files, by any column.
local lu = require 'luaunit'
local torch = require 'torch'
local Block = require 'rtrain.data.blocks.block'
local column = require 'rtrain.data.columns.column'
local exchange = require 'rtrain.data.exchange'
local Objects = require 'rtrain.data.columns.objects'
local Strings = require 'torch.utils.data.strings'

-- Returns a stream of blocks of the given sizes, each made by `make(first, count)`.
local function stream(sizes, make)
  local at, k = 0, 0
  return function()
    k = k + 1
    if sizes[k] == nil then return nil end
    at = at + sizes[k]
    return make(at - sizes[k], sizes[k])
  end
end

local function numbered(first, count)
  local words, lists = {}, {}
  for i = 1, count do
    words[i] = ('word %d'):format(first + i - 1)
    lists[i] = {first + i - 1}
  end
  local id = torch.arange(first, first + count)
  return Block({'id', 'word', 'square', 'list'}, {id, Strings.from_list(words, count),
    (id * id):double():unsqueeze(1), Objects(lists, count)})
end

local function values(next_block, name)
  local out = {}
  for block in next_block do
    for i = 0, block:num_rows() - 1 do out[#out + 1] = column.value(block:column(name), i) end
  end
  return out
end

local sorted = require('lists').sorted
local range = require('lists').range

TestShuffle = {}

function TestShuffle.test_a_function_of_seed_epoch_and_rows()
  local function order(sizes, options) return values(exchange.shuffle(stream(sizes, numbered), options), 'id') end
  local first = order({10, 20, 0, 3}, {seed = 1})
  lu.assertEquals(sorted(first), range(0, 33))
  lu.assertEquals(order({33}, {seed = 1, num_rows = 33}), first)
  lu.assertNotEquals(order({33}, {seed = 2}), first)
  lu.assertNotEquals(order({33}, {seed = 1, epoch = 1}), first)
  lu.assertEquals(first, exchange.permutation(33, 1):row_at(torch.arange(33)):tolist())
  lu.assertEquals(order({}, {seed = 1}), {})
end

function TestShuffle.test_rows_stay_whole()
  for block in exchange.shuffle(stream({7, 9}, numbered), {seed = 3}) do
    lu.assertEquals(block:names(), {'id', 'word', 'square', 'list'})
    for i, row in ipairs(block:rows()) do
      lu.assertEquals({row.word, row.list[1]}, {'word ' .. row.id, row.id}, 'row ' .. i)
      lu.assertEquals(row.square:item(), row.id * row.id)
    end
  end
end

function TestShuffle.test_parts_of_the_order()
  local whole = values(exchange.shuffle(stream({40}, numbered), {seed = 5}), 'id')
  local part = values(exchange.shuffle(stream({15, 25}, numbered), {seed = 5, num_rows = 40, keep = {{3, 10}, {38, 40}}}), 'id')
  local expected = {unpack(whole, 4, 10)}
  expected[8], expected[9] = whole[39], whole[40]
  lu.assertEquals(part, expected)
  lu.assertEquals(values(exchange.shuffle(stream({40}, numbered), {seed = 5, num_rows = 40, keep = {}}), 'id'), {})
end

function TestShuffle.test_data_that_has_changed_is_an_error()
  local ok, err = pcall(values, exchange.shuffle(stream({5}, numbered), {seed = 1, num_rows = 6}), 'id')
  lu.assertFalse(ok)
  lu.assertStrContains(err.message, 'has 5 rows now and had 6')
end

TestSort = {}

local function by(columns, keys, descending)
  local names = {}
  for name in pairs(columns) do names[#names + 1] = name end
  table.sort(names)
  local list = {}
  for i, name in ipairs(names) do list[i] = columns[name] end
  local block = Block(names, list)
  block = block:with('place', torch.arange(block:num_rows()))
  local half = math.floor(block:num_rows() / 2)
  local parts = {block:narrow(0, half), block:narrow(half, block:num_rows() - half)}
  return values(exchange.sort(function() return table.remove(parts, 1) end, keys, descending), 'place')
end

function TestSort.test_numbers()
  local a = torch.tensor({3, 1, 2, 1, 3}, {dtype = 'int64'})
  lu.assertEquals(by({a = a}, 'a'), {1, 3, 2, 0, 4})
  lu.assertEquals(by({a = a}, 'a', true), {0, 4, 2, 1, 3})
  local big = torch.tensor({9007199254740993LL, 9007199254740992LL, -5LL})
  lu.assertEquals(by({a = big}, 'a'), {2, 1, 0})
  local f = torch.tensor({2, 0 / 0, -1, 0 / 0, math.huge})
  lu.assertEquals(by({a = f}, 'a'), {2, 0, 4, 1, 3})
  lu.assertEquals(by({a = f}, 'a', true), {4, 0, 2, 1, 3})
  lu.assertEquals(by({a = torch.tensor({true, false, true})}, 'a'), {1, 0, 2})
end

function TestSort.test_strings()
  local a = Strings.from_list({'b', 'ab', nil, '', 'B', 'é', 'a'}, 7)
  lu.assertEquals(by({a = a}, 'a'), {3, 4, 6, 1, 0, 5, 2})
  lu.assertEquals(by({a = a}, 'a', true), {5, 0, 1, 6, 4, 3, 2})
end

function TestSort.test_several_columns()
  local a = Strings.from_list({'x', 'y', 'x', 'y', 'x'}, 5)
  local b = torch.tensor({1, 5, 3, 4, 3})
  lu.assertEquals(by({a = a, b = b}, {'a', 'b'}), {0, 2, 4, 3, 1})
  lu.assertEquals(by({a = a, b = b}, {'a', 'b'}, {false, true}), {2, 4, 0, 1, 3})
  lu.assertEquals(by({a = a, b = b}, {'b', 'a'}, true), {1, 3, 2, 4, 0})
end

function TestSort.test_refusals()
  local function message(...)
    local ok, err = pcall(by, ...)
    lu.assertFalse(ok)
    return err.message
  end
  lu.assertStrContains(message({a = torch.zeros(4, 2)}, 'a'), "cannot sort by column 'a': it is tensor<float32>[2]")
  lu.assertStrContains(message({a = Objects({{}, {}}, 2)}, 'a'), "cannot sort by column 'a'")
  lu.assertStrContains(message({age = torch.zeros(2)}, 'agee'), "did you mean 'age'?")
  lu.assertStrContains(message({a = torch.zeros(2)}, {'a'}, {true, false}), '1 columns and 2 values')
  lu.assertStrContains(message({a = torch.zeros(2)}, {}), 'the name of a column')
end

-- With so little memory that rows are spilled to files, the results equal those of sorting in memory.
TestSpill = {}

local SMALL = 64 * 1024

local function has_arrow()
  local ok, err = pcall(require, 'base._arrow')
  if not ok then lu.skip(tostring(err)) end
end

local system = require 'base._system'
local make_temp = system.make_temp

function TestSpill:setUp()
  has_arrow()
  self.made = {}
  function system.make_temp(prefix)
    local path = make_temp(prefix)
    self.made[#self.made + 1] = path
    return path
  end
end

function TestSpill:check_that_all_is_removed()
  lu.assertTrue(#self.made > 0)
  for _, path in ipairs(self.made) do lu.assertNil(io.open(path), path) end
end

function TestSpill:tearDown()
  system.make_temp = make_temp
  self:check_that_all_is_removed()
end

local function many(rows, size)
  local out = {}
  for i = 1, rows / size do out[i] = size end
  return out
end

function TestSpill:test_a_shuffle_through_files()
  local sizes = many(6000, 50)
  local expected = exchange.permutation(6000, 4, 2):row_at(torch.arange(6000)):tolist()
  for _, num_rows in ipairs {6000, false} do
    local shuffled = exchange.shuffle(stream(sizes, numbered), {
      seed = 4, epoch = 2, num_rows = num_rows or nil, memory_bytes = SMALL})
    local ids = {}
    for block in shuffled do
      for _, row in ipairs(block:rows()) do
        ids[#ids + 1] = row.id
        lu.assertEquals({row.word, row.list[1], row.square:item()}, {'word ' .. row.id, row.id, row.id * row.id})
      end
    end
    lu.assertTrue(torch.equal(torch.tensor(ids), torch.tensor(expected)))
  end
  local keep = {{100, 200}, {5990, 6000}}
  local part = values(exchange.shuffle(stream(sizes, numbered), {
    seed = 4, epoch = 2, num_rows = 6000, keep = keep, memory_bytes = SMALL}), 'id')
  lu.assertEquals(#part, 110)
  lu.assertEquals({part[1], part[110]}, {expected[101], expected[6000]})
end

local function with_keys(first, count)
  local id = torch.arange(first, first + count)
  local key = (id * 7919):remainder(13):double()
  key = key:masked_fill(key:eq(5), 0 / 0)
  local words = {}
  for i, k in ipairs(((id * 31):remainder(11)):tolist()) do words[i] = k ~= 3 and ('w%d'):format(k) or nil end
  return Block({'id', 'key', 'word', 'flag'}, {id, key, Strings.from_list(words, count), (id % 3):eq(0)})
end

function TestSpill:test_sorting_through_files_is_sorting()
  local sizes = many(8000, 100)
  for _, case in ipairs {{'key'}, {'key', true}, {'word'}, {'flag'}, {{'word', 'key'}, {true, false}}, {{'key', 'word'}, true},
                         {'id', true}} do
    local held = values(exchange.sort(stream(sizes, with_keys), case[1], case[2]), 'id')
    local spilled = values(exchange.sort(stream(sizes, with_keys), case[1], case[2], {memory_bytes = SMALL}), 'id')
    lu.assertEquals(#spilled, 8000)
    lu.assertTrue(torch.equal(torch.tensor(spilled), torch.tensor(held)))
  end
end

function TestSpill:test_equal_keys_do_not_make_one_bucket()
  local function same(first, count) return Block({'id', 'key'}, {torch.arange(first, first + count), torch.zeros(count)}) end
  local most = 0
  local ids = {}
  for block in exchange.sort(stream(many(40000, 1000), same), 'key', false, {memory_bytes = SMALL}) do
    most = math.max(most, block:size_bytes())
    for _, id in ipairs(block:column('id'):tolist()) do ids[#ids + 1] = id end
  end
  lu.assertEquals(#ids, 40000)
  for i, id in ipairs(ids) do if id ~= i - 1 then lu.assertEquals(id, i - 1) end end
  lu.assertTrue(most < SMALL)
end

function TestSpill:test_nothing_stays_behind_after_an_error()
  local function broken(first, count)
    if first >= 3000 then error('a bad block') end
    return numbered(first, count)
  end
  local ok, err = pcall(values, exchange.shuffle(stream(many(6000, 50), broken), {seed = 1, memory_bytes = SMALL}), 'id')
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(err), 'a bad block')
  local next_block = exchange.sort(stream(many(6000, 50), numbered), 'id', true, {memory_bytes = SMALL})
  lu.assertEquals(next_block():row(0).id, 5999)
  self:check_that_all_is_removed()
end

os.exit(lu.LuaUnit.run(), true)
