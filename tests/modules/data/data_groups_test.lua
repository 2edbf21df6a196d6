-- rtrain.data: groups, aggregates and joins. tests/e2e/data/test_data_groups.py compares them with pyarrow.
local data = require 'rtrain.data'
local lu = require 'luaunit'
local torch = require 'torch'

local A = data.aggregate
local message_of = require('refusal').message_of

-- Runs a test once without threads and once with two.
local function with_and_without_threads(fn)
  return function()
    for _, threads in ipairs{0, 2} do
      data.DataContext.get_current().num_threads = threads
      fn()
    end
  end
end

local NONE = 0 / 0
local function fruit()
  return data.from_items{{k = 'b', x = 5, y = NONE}, {k = 'a', x = 1, y = 1.5}, {k = 'c', x = -7, y = 1},
                         {k = 'a', x = 3, y = 2.5}, {k = 'a', x = 3, y = 8}}
end

local function column(ds, name)
  local out = {}
  for i, row in ipairs(ds:take_all()) do out[i] = row[name] end
  return out
end

TestGroups = {}

TestGroups.test_methods_name_their_columns = with_and_without_threads(function()
  local groups = fruit():groupby 'k'
  lu.assertEquals(groups:count():take_all(), {
    {k = 'a', ['count()'] = 3}, {k = 'b', ['count()'] = 1}, {k = 'c', ['count()'] = 1}})
  lu.assertEquals(groups:sum('x'):columns(), {'k', 'sum(x)'})
  lu.assertEquals(groups:sum('x'):schema().types, {'string', 'int64'})
  lu.assertEquals(groups:max():columns(), {'k', 'max(x)', 'max(y)'})
  lu.assertEquals(column(groups:min{'x'}, 'min(x)'), {1, 5, -7})
  lu.assertEquals(column(groups:mean('x'), 'mean(x)'), {7 / 3, 5, -7})
  lu.assertEquals(column(groups:std('x', {ddof = 0}), 'std(x)')[2], 0)
end)

function TestGroups.test_aggregates()
  local all, xs = A.Count('y', {ignore_nulls = false, alias_name = 'all'}), A.Unique('x', {alias_name = 'xs'})
  local row = fruit():groupby('k'):aggregate(A.Count('y'), all, A.AbsMax('x'), A.Quantile('y'), xs, A.Max('k')):take_all()
  lu.assertEquals(row[1], {
    k = 'a', ['count(y)'] = 3, all = 3, ['abs_max(x)'] = 3, ['quantile(y)'] = 2.5, xs = {1, 3}, ['max(k)'] = 'a'})
  lu.assertEquals({row[2]['count(y)'], row[2].all, row[2].xs, row[3]['abs_max(x)']}, {0, 1, {5}, 7})
  lu.assertTrue(row[2]['quantile(y)'] ~= row[2]['quantile(y)'])
end

function TestGroups.test_nulls_make_a_result_null_when_they_count()
  local ds = data.from_items{{k = 1, y = 1}, {k = 1, y = NONE}, {k = 2, y = 3}}
  for _, aggregate in ipairs{A.Sum, A.Mean, A.Min, A.Max, A.AbsMax, A.Quantile} do
    local found = column(ds:groupby('k'):aggregate(aggregate('y', {ignore_nulls = false, alias_name = 'r'})), 'r')
    lu.assertTrue(found[1] ~= found[1])
    lu.assertEquals(found[2], 3)
  end
  local lists = column(ds:groupby('k'):aggregate(A.Unique('y', {ignore_nulls = false, alias_name = 'r'})), 'r')
  lu.assertEquals(lists, {{1, torch.none}, {3}})
end

-- Statistics of tensor columns cover all numbers of a group's tensors.
function TestGroups.test_tensors_give_all_their_numbers()
  local ds = data.from_tensors{k = torch.tensor{1, 0, 1}, image = torch.arange(12):view(3, 2, 2):float()}
  local rows = ds:groupby('k'):aggregate(A.Mean('image'), A.Std('image', {ddof = 0}), A.Max('image'), A.Quantile('image'),
    A.Sum('image'), A.Count('image')):take_all()
  lu.assertEquals(rows[1], {k = 0, ['mean(image)'] = 5.5, ['std(image)'] = math.sqrt(1.25), ['max(image)'] = 7,
    ['quantile(image)'] = 5.5, ['sum(image)'] = 22, ['count(image)'] = 1})
  lu.assertEquals({rows[2]['mean(image)'], rows[2]['max(image)'], rows[2]['quantile(image)']}, {5.5, 11, 5.5})
end

function TestGroups.test_null_keys_are_a_group()
  local ds = data.from_items{{s = 'a', k = 1}, {k = NONE}, {s = 'a', k = NONE}, {k = 1}}
  lu.assertEquals(column(ds:groupby('s'):count(), 'count()'), {2, 2})
  lu.assertEquals(column(ds:groupby{'s', 'k'}:count(), 'count()'), {1, 1, 1, 1})
end

function TestGroups.test_without_a_key_all_rows_are_one_group()
  lu.assertEquals(fruit():groupby():aggregate(A.Count(), A.Sum('x')):take_all(), {{['count()'] = 5, ['sum(x)'] = 5}})
  local all = fruit():aggregate(A.Max('x'), A.Min('k'), A.Sum('y', {ignore_nulls = false}))
  lu.assertEquals({all['max(x)'], all['min(k)'], all['sum(y)']}, {5, 'a', nil})
  lu.assertEquals(fruit():filter(function() return false end):groupby('k'):count():take_all(), {})
end

function TestGroups.test_what_functions_make_is_grouped()
  local even = data.range(10):map(function(row) return {even = row.id % 2 == 0, id = row.id} end, {dtypes = {id = 'int64'}})
  lu.assertEquals(even:groupby('even'):sum('id'):take_all(), {
    {even = false, ['sum(id)'] = 25}, {even = true, ['sum(id)'] = 20}})
end

TestGroups.test_a_function_for_each_group = with_and_without_threads(function()
  local sizes = fruit():groupby('k'):map_groups(function(group) return {k = {group.k[1]}, n = {#group.k}} end)
  lu.assertEquals(sizes:take_all(), {{k = 'a', n = 3}, {k = 'b', n = 1}, {k = 'c', n = 1}})
  local large = fruit():groupby('k'):map_groups(function(group, least)
    return {k = #group.k > least and group.k or {}}
  end, {fn_args = {1}})
  lu.assertEquals(column(large, 'k'), {'a', 'a', 'a'})
end)

-- A function that changes its group in place does not change the dataset.
function TestGroups.test_groups_are_the_functions_own()
  local ds = data.from_tensors{x = torch.ones(4)}
  ds:groupby():map_groups(function(group) return {x = group.x:add_(1)} end):take_all()
  lu.assertEquals(column(ds, 'x'), {1, 1, 1, 1})
end

function TestGroups.test_a_group_of_many_blocks()
  local ds = data.range(20000, {override_num_blocks = 9}):map_batches(function(batch)
    return {k = batch.id:ge(15000), id = batch.id}
  end)
  lu.assertEquals(ds:groupby('k'):aggregate(A.Count(), A.Sum('id'), A.Quantile('id')):take_all(), {
    {k = false, ['count()'] = 15000, ['sum(id)'] = 15000 * 14999 / 2, ['quantile(id)'] = 7499.5},
    {k = true, ['count()'] = 5000, ['sum(id)'] = 20000 * 19999 / 2 - 15000 * 14999 / 2, ['quantile(id)'] = 17499.5}})
  lu.assertEquals(column(ds:groupby('k'):map_groups(function(group) return {n = {#group.id}} end), 'n'), {15000, 5000})
end

function TestGroups.test_what_is_refused()
  local groups = fruit():groupby 'k'
  lu.assertStrContains(message_of(fruit().groupby, fruit(), 'q'), "no column 'q'")
  lu.assertStrContains(message_of(groups.sum, groups, 'q'), "no column 'q'")
  lu.assertStrContains(message_of(groups.aggregate, groups), 'expected at least one of rtrain.data.aggregate')
  lu.assertStrContains(message_of(groups.aggregate, groups, A.Sum), 'argument 1 is a class')
  lu.assertStrContains(message_of(groups.aggregate, groups, A.Sum('x'), A.Sum('x')), "two columns are named 'sum(x)'")
  lu.assertStrContains(message_of(A.Quantile, 'x', {q = 2}), 'q is a number from 0 to 1')
  lu.assertStrContains(message_of(A.Sum), "missing argument 'on'")
  lu.assertStrContains(message_of(function() return A.ApproximateTopK end), 'use map_groups')
  local sums = fruit():groupby('x'):aggregate(A.Sum('k'))
  lu.assertStrContains(message_of(sums.take_all, sums), "Sum: column 'k' has no numbers but string values")
  lu.assertStrContains(message_of(groups.map_groups, groups, print, {batch_format = 'pandas'}), 'pandas')
end

TestJoins = {}

local function people()
  return data.from_items{{id = 1, name = 'a'}, {id = 2, name = 'b'}, {id = 2, name = 'c'}, {id = 4, name = 'd'}}
end

local function sizes() return data.from_items{{id = 2, size = 20}, {id = 2, size = 21}, {id = 3, size = 30}} end

TestJoins.test_types = with_and_without_threads(function()
  local counts = {inner = 4, left_outer = 6, right_outer = 5, full_outer = 7, left_semi = 2, right_semi = 2, left_anti = 2,
                  right_anti = 1}
  for name, count in next, counts do
    lu.assertEquals(people():join(sizes(), name):count(), count)
    local ds = people():join(sizes(), name)
    lu.assertEquals(ds:schema().types, require 'rtrain.data.executor.schema'(ds:materialize()._plan).types)
  end
  lu.assertEquals(people():join(sizes(), 'left_anti'):take_all(), {{id = 1, name = 'a'}, {id = 4, name = 'd'}})
  lu.assertEquals(people():join(sizes(), 'right_semi'):take_all(), {{id = 2, size = 20}, {id = 2, size = 21}})
end)

function TestJoins.test_missing_values_are_null()
  local rows = people():join(sizes(), 'full_outer'):take_all()
  lu.assertEquals({rows[1].name, rows[1].id}, {'a', 1})
  lu.assertNil(rows[1].size)
  lu.assertEquals({rows[6].id, rows[6].size, rows[6].name}, {3, 30, nil})
  local flags = data.from_items{{id = 1, is_big = true}}
  lu.assertEquals(people():join(flags, 'left_outer'):take_all()[2], {id = 2, name = 'b'})
end

function TestJoins.test_keys_without_a_value_match_nothing()
  local none = data.from_items{{id = 1, name = torch.none}, {id = 2, name = torch.none}}
  lu.assertEquals(people():join(none, 'inner', {on = 'name', right_suffix = '_r'}):take_all(), {})
  lu.assertEquals(none:join(people(), 'left_outer', {on = 'name', right_suffix = '_r'}):count(), 2)
  lu.assertEquals(none:join(people(), 'full_outer', {on = 'name', right_suffix = '_r'}):count(), 2 + people():count())
end

function TestJoins.test_a_side_without_rows()
  local none = sizes():filter(function() return false end)
  lu.assertEquals(people():join(none, 'inner'):take_all(), {})
  local rows = people():join(none, 'left_outer'):take_all()
  lu.assertEquals(#rows, 4)
  lu.assertNil(rows[1].size)
  lu.assertEquals(#none:join(people(), 'full_outer'):take_all(), 4)
  lu.assertEquals(none:join(people(), 'right_outer'):take_all()[4].name, 'd')
  lu.assertEquals(none:join(none, 'full_outer', {right_suffix = '_r'}):take_all(), {})
end

-- When one key has many pairs, they are returned in several blocks.
function TestJoins.test_a_key_with_many_partners()
  local left = data.range(300):map_batches(function(batch) return {k = batch.id:mul(0), a = batch.id} end)
  local right = data.range(300):map_batches(function(batch) return {k = batch.id:mul(0), b = batch.id} end)
  local count, sum = 0, 0
  for batch in left:join(right, 'inner', {on = 'k'}):iter_batches{batch_size = 7000} do
    count, sum = count + #batch.k, sum + batch.a:mul(batch.b):sum():item()
  end
  lu.assertEquals({count, sum}, {90000, (300 * 299 / 2) ^ 2})
end

function TestJoins.test_what_is_refused()
  local function join(...) return message_of(people().join, people(), ...) end
  lu.assertStrContains(join(sizes(), 'outer'), "join: join_type cannot be 'outer'")
  lu.assertStrContains(join(sizes(), 'inner', {on = 'ids'}), "no column 'ids'")
  lu.assertStrContains(join(sizes(), 'inner', {on = 'id', right_on = {'id', 'size'}}), '1 columns in on, 2 in right_on')
  lu.assertStrContains(join(people(), 'inner'), "both sides have a column 'name'")
  lu.assertStrContains(join(3, 'inner'), 'expected a Dataset')
  local mixed = people():join(sizes(), 'inner', {on = 'name', right_on = 'size', left_suffix = '_l'})
  lu.assertStrContains(message_of(mixed.take_all, mixed), "column 'name' is string on the left, and 'size' is int64")
end

function TestJoins.test_joins_travel()
  local closure = require 'base._closure'
  local ds = people():join(sizes():groupby('id'):sum('size'), 'inner')
  local there = closure.load((closure.dump(function() return ds:take_all() end)))
  lu.assertEquals(there(), ds:take_all())
end

os.exit(lu.LuaUnit.run(), true)
