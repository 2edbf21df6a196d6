-- rtrain.data: operators that transform, order and split rows. They run in threads if DataContext says so.
local data = require 'rtrain.data'
local lu = require 'luaunit'
local torch = require 'torch'

local context = data.DataContext.get_current()

local message_of = require('refusal').message_of
local with_and_without_threads = require('threads').with_and_without

local function values(ds, name)
  local out = {}
  for i, row in ipairs(ds:take_all()) do out[i] = row[name or 'id'] end
  return out
end

local sorted = require('lists').sorted
local numbers = require('lists').numbers

TestRows = {}

TestRows.test_map = with_and_without_threads(function()
  local ds = data.range(1000, {override_num_blocks = 7}):map(function(row)
    row.double = row.id * 2
    return row
  end)
  local rows = ds:take_all()
  lu.assertEquals(#rows, 1000)
  for i, row in ipairs(rows) do lu.assertEquals({row.id, row.double}, {i - 1, 2 * i - 2}) end
  lu.assertEquals(ds:schema().names, {'id', 'double'})
  lu.assertEquals(ds:schema().types, {'int64', 'float32'})
end)

TestRows.test_filter_and_flat_map = with_and_without_threads(function()
  local ds = data.range(20, {override_num_blocks = 3})
  lu.assertEquals(values(ds:filter(function(row) return row.id > 16 end)), {17, 18, 19})
  local twice = ds:limit(3):flat_map(function(row)
    if row.id == 1 then return {} end
    local other = {id = row.id + 100}
    return {row, other}
  end)
  lu.assertEquals(values(twice), {0, 100, 2, 102})
  lu.assertEquals(ds:filter(function() return false end):take_all(), {})
end)

TestRows.test_map_batches = with_and_without_threads(function()
  local sizes = data.range(10, {override_num_blocks = 1}):map_batches(function(batch)
    return {id = batch.id, size = torch.full({batch.id:size(0)}, batch.id:size(0))}
  end, {batch_size = 4})
  lu.assertEquals(values(sizes, 'size'), {4, 4, 4, 4, 4, 4, 4, 4, 2, 2})
  -- A function may yield several batches; lists become columns.
  local letters = data.range(2):map_batches(function(batch)
    local i = 0
    return function()
      i = i + 1
      if i <= 2 then return {letter = {('ab'):sub(i, i)}, count = {batch.id:size(0)}} end
    end
  end)
  lu.assertEquals(values(letters, 'letter'), {'a', 'b'})
end)

function TestRows.test_a_class_is_made_once_in_each_thread()
  context.num_threads = 2
  local Adder = {init = function(self, by, options)
    self.by, self.calls = by + options.more, 0
  end, call = function(self, row)
    self.calls = self.calls + 1
    return {sum = row.id + self.by, calls = self.calls}
  end}
  local ds = data.range(100, {override_num_blocks = 10}):map(Adder, {fn_constructor_args = {10},
    fn_constructor_kwargs = {more = 5}})
  local rows, highest = ds:take_all(), 0
  for i, row in ipairs(rows) do
    lu.assertEquals(row.sum, i - 1 + 15)
    highest = math.max(highest, row.calls)
  end
  lu.assertTrue(highest >= 50)
  local Class = require 'base.class'('Class')
  function Class:init(by) self.by = by end
  function Class:call(row) return {sum = row.id * self.by} end
  lu.assertEquals(values(data.range(3):map(Class, {fn_constructor_args = {3}}), 'sum'), {0, 3, 6})
end

function TestRows.test_further_arguments()
  local ds = data.range(2):map(function(row, by, options) return {x = row.id * by + options.plus} end,
    {fn_args = {3}, fn_kwargs = {plus = 1}})
  lu.assertEquals(values(ds, 'x'), {1, 4})
  -- Ray's options about resources are accepted and have no effect.
  local resources = {num_cpus = 2, concurrency = 4, compute = 'actors'}
  lu.assertEquals(#data.range(2):map(function(row) return row end, resources):take_all(), 2)
  lu.assertStrContains(message_of(data.range(2).map, data.range(2), print, {num_gpus = 1}), 'num_gpus')
  lu.assertStrContains(message_of(data.range(2).map, data.range(2), print, {concurency = 1}), "did you mean 'concurrency'?")
  lu.assertStrContains(message_of(data.range(2).map, data.range(2), 'x > 1'), 'expected a function')
end

TestRows.test_functions_run_on_copies = with_and_without_threads(function()
  local seen = {}
  local kept = torch.zeros(3)
  local ds = data.from_tensors{x = kept}:map(function(row)
    seen[#seen + 1] = row.x
    return row
  end):map_batches(function(batch)
    batch.x:add_(1)
    return batch
  end)
  lu.assertEquals(values(ds, 'x'), {1, 1, 1})
  lu.assertEquals(seen, {})
  lu.assertEquals(kept:tolist(), {0, 0, 0})
  lu.assertEquals(values(ds, 'x'), {1, 1, 1})
end)

TestRows.test_functions_below_a_union_run_on_copies_too = with_and_without_threads(function()
  local kept, calls = torch.zeros(3), 0
  local ds = data.from_tensors{x = kept}:map_batches(function(batch)
    calls = calls + 1
    batch.x:add_(calls)
    return batch
  end)
  lu.assertEquals(values(ds:union(data.from_tensors{x = torch.ones(1)}), 'x'), {1, 1, 1, 1})
  lu.assertEquals({calls, kept:tolist()}, {0, {0, 0, 0}})
end)

function TestRows.test_columns()
  local ds = data.from_items{{a = 1, b = 'x', c = 2.5}, {a = 2, b = 'y', c = 3.5}}
  lu.assertEquals(ds:columns(), {'a', 'b', 'c'})
  lu.assertEquals(ds:select_columns{'c', 'a'}:columns(), {'c', 'a'})
  lu.assertEquals(ds:drop_columns('b'):columns(), {'a', 'c'})
  lu.assertEquals(ds:rename_columns{a = 'z'}:columns(), {'z', 'b', 'c'})
  lu.assertEquals(ds:rename_columns{'x', 'y', 'z'}:take(1), {{x = 1, y = 'x', z = 2.5}})
  local longer = ds:add_column('n', function(batch) return batch.a * 10 end):add_column('one', function() return 1 end)
  lu.assertEquals(longer:take(2)[2], {a = 2, b = 'y', c = 3.5, n = 20, one = 1})
  lu.assertEquals(longer:count(), 2)
  lu.assertStrContains(message_of(ds.select_columns, ds, 'aa'), "no column 'aa': did you mean 'a'?")
  lu.assertStrContains(message_of(ds.drop_columns, ds, {'a', 'a'}), 'named twice')
  lu.assertStrContains(message_of(ds.select_columns, ds, {}), 'at least one name')
  lu.assertStrContains(message_of(ds.rename_columns, ds, {'x'}), '1 names for 3 columns')
  lu.assertStrContains(message_of(ds.sort, ds, 'd'), "no column 'd'")
end

function TestRows.test_dtypes_of_new_columns()
  local ds = data.from_items{{a = 1}}:map(function() return {x = 1, n = 7LL, b = true, t = torch.ones(2), s = 'x'} end)
  local types = {}
  for _, entry in ipairs(ds:schema()) do types[entry.name] = entry.type end
  lu.assertEquals(types, {x = 'float32', n = 'int64', b = 'bool', t = 'tensor<float32>[2]', s = 'string'})
  local chosen = data.range(2):map(function(row) return {y = row.id} end, {dtypes = {y = 'int32'}})
  lu.assertEquals(chosen:schema().types, {'int32'})
end

TestRows.test_the_sign_of_zero = with_and_without_threads(function()
  local function identity(row) return row end
  local path = os.tmpname() .. '.csv'
  local file = io.open(path, 'w')
  file:write 'x,y\n-0.0,1\n2.0,-0.0\n'
  file:close()
  for _, ds in ipairs{data.from_items{{x = -0.0}, {x = 1.5}}, data.read_csv(path), data.read_csv(path):map(identity),
                      data.from_items{{x = -0.0}, {x = 1.5}}:map(identity)} do
    lu.assertEquals(1 / ds:take_all()[1].x, -1 / 0)
  end
  os.remove(path)
  -- -0.0 among integers becomes an integer: it does not make a float column.
  lu.assertEquals(data.from_items{{x = -0.0}, {x = 1}}:schema().types, {'int64'})
  local json = require 'rtrain.data.files.json_text'
  lu.assertEquals(json.of{-0.0, 0, 2}, '[-0.0,0,2]')
end)

function TestRows.test_integers_of_64_bits()
  local ds = data.from_items{{x = 9223372036854775809ULL}, {x = 3LL}, {x = 4}}
  lu.assertEquals(ds:schema().types, {'uint64'})
  lu.assertEquals({ds:take_all()[1].x, ds:take_all()[3].x}, {9223372036854775809ULL, 4})
  lu.assertEquals(data.from_items{{x = 5ULL}}:schema().types, {'int64'})
end

TestErrors = {}

TestErrors.test_errors_name_operator_and_row = with_and_without_threads(function()
  local ds = data.range(100, {override_num_blocks = 4}):map(function(row)
    if row.id == 60 then error('no sixty') end
    return row
  end)
  local text, err = message_of(ds.count, ds:filter(function() return true end))
  lu.assertStrContains(text, 'map: row 60: ')
  lu.assertStrContains(text, 'data_dataset_test.lua')
  lu.assertStrContains(text, 'no sixty')
  lu.assertStrContains(err.traceback, 'data_dataset_test.lua')
  local batches = data.range(10):map_batches(function() error('bad batch') end)
  lu.assertStrContains(message_of(batches.take_all, batches), 'map_batches: the batch from row 0: ')
end)

TestErrors.test_wrong_results = with_and_without_threads(function()
  local function first(ds) return message_of(ds.take_all, ds) end
  lu.assertStrContains(first(data.range(1):map(function() return 5 end)), 'map: expected the function to return a row')
  lu.assertStrContains(first(data.range(1):flat_map(function(row) return row end)), 'a list of rows')
  lu.assertStrContains(first(data.range(1):map_batches(function() end)), 'a batch {column = tensor or list, …}, got a nil')
  local short = data.range(3):add_column('x', function() return torch.ones(2) end)
  lu.assertStrContains(first(short), "'x' has 2 rows, others have 3")
  lu.assertStrContains(first(data.range(3):select_columns{'id'}:map(function(row)
    row.id = row.id + 0.5
    return row
  end)), "column 'id' holds int64, and row 0 gives 0.5")
end)

-- The output is exactly what the function returned, or an error says what is wrong: no field is lost.
function TestErrors.test_a_row_that_is_only_partly_a_list()
  local cases = {
    {{1, nil, 3, x = 5}, 'a table with both list items and named fields'},
    {{1, nil, 3}, 'item 2 of the list is nil'},
    {{[0] = 1, [2] = 3}, 'item 1 of the list is nil'},
  }
  for _, case in ipairs(cases) do
    local given = case[1]
    local mapped = data.range(1):map(function() return {v = given} end)
    context.num_threads = 2
    lu.assertStrContains(message_of(mapped.take_all, mapped), case[2])
    context.num_threads = 0
    lu.assertEquals(mapped:take_all()[1].v, given)
  end
end

function TestErrors.test_a_list_with_a_hole_is_not_cut_there()
  lu.assertStrContains(message_of(data.from_items, {10, nil, 30, 40}), 'from_items: item 2 of the list is nil')
  lu.assertStrContains(message_of(data.from_items, {10, x = 1}), "a table with a field 'x'")
  context.num_threads = 0
  local batches = data.range(2):map_batches(function() return {v = {1, 2, x = 5}} end)
  lu.assertStrContains(message_of(batches.take_all, batches), "column 'v': a list of rows has no place x")
end

function TestErrors.test_what_cannot_travel_is_named()
  local file = io.tmpfile()
  local ds = data.range(1):map(function(row)
    file:write('x')
    return row
  end)
  lu.assertStrContains(message_of(ds.take_all, ds), 'file')
end

function TestErrors.test_wrong_arguments()
  lu.assertStrContains(message_of(data.range, -1), 'n is a whole number from 0 on, got -1')
  lu.assertStrContains(message_of(data.from_items, 5), 'expected a list of items')
  lu.assertStrContains(message_of(data.from_items, {{a = 1}, 5}), 'item 2 is not a row')
  lu.assertStrContains(message_of(data.from_torch, {}), 'expected a torch.utils.data.Dataset')
  lu.assertStrContains(message_of(data.range(3).take, data.range(3), 0), 'limit is a whole number from 1 on')
  lu.assertStrContains(message_of(data.range(3).union, data.range(3), 5), 'expected a Dataset, got a number')
  lu.assertStrContains(message_of(data.range(3).map_batches, data.range(3), print, {batch_format = 'pandas'}), 'pandas')
  lu.assertStrContains(message_of(function() return data.from_item end), "did you mean 'from_items'?")
  lu.assertStrContains(message_of(function() context.num_thread = 1 end), "did you mean 'num_threads'?")
  lu.assertStrContains(message_of(function() context.memory_bytes = 'x' end), 'whole number')
end

TestOrders = {}

TestOrders.test_shuffles_over_memory_move_no_rows = with_and_without_threads(function()
  local ds = data.range(500):map(function(row) return {id = row.id, square = row.id * row.id} end)
  local shuffled = ds:random_shuffle{seed = 3}
  local ids = values(shuffled)
  lu.assertNotEquals(ids, numbers(500))
  lu.assertEquals(values(ds:random_shuffle{seed = 3}), ids)
  lu.assertNotEquals(values(ds:random_shuffle{seed = 4}), ids)
  for i, row in ipairs(shuffled:take_all()) do lu.assertEquals({row.id, row.square}, {ids[i], ids[i] ^ 2}) end
  lu.assertEquals(sorted(ids), numbers(500))
end)

-- behaviour: shuffle in each epoch
TestOrders.test_a_shuffle_differs_in_each_epoch_and_a_materialised_one_does_not = with_and_without_threads(function()
  for _, make in ipairs{
    function() return data.range(200):random_shuffle() end,
    function() return data.range(200):random_shuffle{seed = 5} end,
    function() return data.range(200):flat_map(function(row) return {row} end):random_shuffle() end,
    function() return data.range(200, {override_num_blocks = 20}):randomize_block_order() end,
  } do
    local ds = make()
    local function epoch(n)
      local out = {}
      for block in ds:execute{epoch = n, seed = 9} do
        for _, row in ipairs(block:rows()) do out[#out + 1] = row.id end
      end
      return out
    end
    local zero, one = epoch(0), epoch(1)
    lu.assertNotEquals(zero, one)
    lu.assertEquals(epoch(0), zero)
    lu.assertEquals(sorted(one), numbers(200))
    ds = ds:materialize()
    lu.assertEquals(epoch(0), epoch(1))
  end
end)

function TestOrders.test_shuffles_of_one_plan_differ()
  local function shuffled(name) return data.range(100):random_shuffle():rename_columns{id = name} end
  local same = 0
  for _, row in ipairs(shuffled 'a':zip(shuffled 'b'):take_all()) do same = same + (row.a == row.b and 1 or 0) end
  lu.assertTrue(same < 50)
end

function TestOrders.test_sort()
  local ds = data.from_items{{x = 2, s = 'b'}, {x = 1, s = 'c'}, {x = 2, s = 'a'}}
  lu.assertEquals(values(ds:sort('x'), 's'), {'c', 'b', 'a'})
  lu.assertEquals(values(ds:sort({'x', 's'}, {descending = {true, false}}), 's'), {'a', 'b', 'c'})
end

TestOrders.test_limit_union_zip_repartition = with_and_without_threads(function()
  lu.assertEquals(values(data.range(10, {override_num_blocks = 4}):limit(4)), numbers(4))
  lu.assertEquals(data.range(3):limit(10):count(), 3)
  lu.assertEquals(values(data.range(10):filter(function(row) return row.id % 2 == 1 end):limit(2)), {1, 3})
  local odd = data.range(6):filter(function(row) return row.id % 2 == 1 end)
  lu.assertEquals(values(data.range(2):union(odd, data.range(1))), {0, 1, 1, 3, 5, 0})
  lu.assertEquals(values(odd:sort('id', {descending = true}):union(data.range(1))), {5, 3, 1, 0})
  local zipped = data.range(10, {override_num_blocks = 3}):zip(data.range(10, {override_num_blocks = 4}):map(function(row)
    return {id = row.id + 1}
  end))
  lu.assertEquals(zipped:columns(), {'id', 'id_1'})
  for i, row in ipairs(zipped:take_all()) do lu.assertEquals({row.id, row.id_1}, {i - 1, i}) end
  lu.assertStrContains(message_of(function() return odd:zip(data.range(4)):take_all() end), 'different numbers of rows')
  local parts = data.range(10):repartition(4):materialize()
  lu.assertEquals(values(parts), numbers(10))
  lu.assertEquals(parts:num_blocks(), 4)
  lu.assertEquals(odd:repartition(2):materialize():num_blocks(), 2)
  lu.assertEquals(data.range(10):repartition{target_num_rows_per_block = 3}:materialize():num_blocks(), 4)
end)

TestSplits = {}

function TestSplits.test_splits_are_partitions()
  local ds = data.range(11)
  local function all(parts)
    local out = {}
    for i, part in ipairs(parts) do out[i] = values(part) end
    return out
  end
  lu.assertEquals(all(ds:split(3)), {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10}})
  lu.assertEquals(all(ds:split(3, {equal = true})), {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}})
  lu.assertEquals(all(ds:split_at_indices{0, 3, 20}), {{}, {0, 1, 2}, {3, 4, 5, 6, 7, 8, 9, 10}, {}})
  lu.assertEquals(all(data.range(10):split_proportionately{0.2, 0.5}), {{0, 1}, {2, 3, 4, 5, 6}, {7, 8, 9}})
  local odd = ds:filter(function(row) return row.id % 2 == 1 end)
  lu.assertEquals(all(odd:split(2)), {{1, 3, 5}, {7, 9}})
  lu.assertStrContains(message_of(ds.split_proportionately, ds, {0.5, 0.5}), 'add up to 1')
  lu.assertStrContains(message_of(ds.split_at_indices, ds, {3, 2}), 'must be sorted')
end

-- If the order changed between two loops, rows could move from one part to the other.
function TestSplits.test_a_split_of_a_shuffle_is_settled()
  for _, ds in ipairs{data.range(50):random_shuffle(), data.range(50):randomize_block_order()} do
    local parts = ds:split_at_indices{20}
    local first = values(parts[1])
    lu.assertEquals(values(parts[1]), first)
    local both = values(parts[1]:union(parts[2]))
    lu.assertEquals(sorted(both), numbers(50))
  end
end

function TestSplits.test_train_test_split()
  local train, test = data.range(8):train_test_split(0.25)
  lu.assertEquals({values(train), values(test)}, {{0, 1, 2, 3, 4, 5}, {6, 7}})
  train, test = data.range(8):train_test_split(3)
  lu.assertEquals({train:count(), test:count()}, {5, 3})
  for _, ds in ipairs{data.range(100), data.range(100):filter(function() return true end)} do
    train, test = ds:train_test_split(0.2, {shuffle = true, seed = 1})
    lu.assertEquals({train:count(), test:count()}, {80, 20})
    lu.assertNotEquals(values(test), values(data.range(100):split_at_indices{80}[2]))
    -- Each epoch has the same rows.
    local function epoch(of, n)
      local out = {}
      for block in of:execute{epoch = n} do
        for _, row in ipairs(block:rows()) do out[#out + 1] = row.id end
      end
      return out
    end
    lu.assertEquals(epoch(test, 0), epoch(test, 1))
    lu.assertEquals(sorted(values(train:union(test))), numbers(100))
    lu.assertEquals(values((ds:train_test_split(0.2, {shuffle = true, seed = 1}))), values(train))
  end
  lu.assertStrContains(message_of(data.range(8).train_test_split, data.range(8), 8), 'test_size')
end

TestAggregates = {}

function TestAggregates.test_numbers()
  local ds = data.from_items{{x = 1, y = 0.5, s = 'a'}, {x = 2, s = 'b'}, {x = 6, y = 1.5, s = 'a'}}
  lu.assertEquals({ds:sum('x'), ds:min('x'), ds:max('x'), ds:mean('x')}, {9, 1, 6, 3})
  lu.assertAlmostEquals(ds:std('x'), math.sqrt(7), 1e-12)
  lu.assertAlmostEquals(ds:std('x', {ddof = 0}), math.sqrt(14 / 3), 1e-12)
  lu.assertEquals({ds:sum('y'), ds:mean('y')}, {2, 1})
  lu.assertTrue(ds:mean('y', {ignore_nulls = false}) ~= ds:mean('y', {ignore_nulls = false}))
  local both = ds:sum{'x', 'y'}
  lu.assertEquals({both['sum(x)'], both['sum(y)']}, {9, 2})
  lu.assertEquals(ds:unique('s'), {'a', 'b'})
  lu.assertEquals(ds:unique('y'), {0.5, torch.none, 1.5})
  lu.assertStrContains(message_of(ds.sum, ds, 's'), "Sum: column 's' has no numbers but string values")
  lu.assertNil(data.range(0):sum('id'))
end

function TestAggregates.test_many_blocks()
  local ds = data.range(100000, {override_num_blocks = 13})
  lu.assertEquals(ds:sum('id'), 99999 * 50000)
  lu.assertAlmostEquals(ds:std('id'), math.sqrt((100000 ^ 2 - 1) / 12 * 100000 / 99999), 1e-6)
end

os.exit(lu.LuaUnit.run(), true)
