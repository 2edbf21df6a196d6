-- Datasets, samplers and the loader.
local lu = require 'luaunit'
local torch = require 'torch'
local data = torch.utils.data

local message_of = require('refusal').message_of

-- Samples (i, i * i), without get_batch.
local Squares = data.Dataset:extend('Squares')
function Squares:init(n) self.n = n end
function Squares:len() return self.n end
function Squares:get(i) return torch.full({2}, i), i * i end

local function first_column(loader)
  local out = {}
  for x in loader do
    for _, row in ipairs(x:tolist()) do out[#out + 1] = type(row) == 'table' and row[1] or row end
  end
  return out
end

local numbers = require('lists').numbers

TestDatasets = {}

function TestDatasets:test_tensor_dataset()
  local set = data.TensorDataset(torch.arange(6):view{3, 2}, torch.arange(3))
  lu.assertEquals(#set, 3)
  lu.assertEquals(set[1]:tolist(), {2, 3})
  local x, y = set:get_batch(torch.tensor({2, 0}, {dtype = 'int64'}))
  lu.assertEquals(x:tolist(), {{4, 5}, {0, 1}})
  lu.assertEquals(y:tolist(), {2, 0})
  lu.assertStrContains(message_of(data.TensorDataset, torch.ones(2), torch.ones(3)), 'size mismatch')
end

function TestDatasets:test_tensors_and_lists_are_datasets()
  local rows, pairs_of = {}, {}
  for batch in data.DataLoader(torch.arange(6):view(3, 2), {batch_size = 2}) do rows[#rows + 1] = batch:tolist() end
  lu.assertEquals(rows, {{{0, 1}, {2, 3}}, {{4, 5}}})
  local samples = {{x = 1, name = 'a'}, {x = 2, name = 'b'}, {x = 3, name = 'c'}}
  for batch in data.DataLoader(samples, {batch_size = 2, num_workers = 1}) do
    pairs_of[#pairs_of + 1] = {batch.x:tolist(), table.concat(batch.name)}
  end
  lu.assertEquals(pairs_of, {{{1, 2}, 'ab'}, {{3}, 'c'}})
  local parts = data.random_split(samples, {2, 1})
  lu.assertEquals({#parts[1], #parts[2], #data.Subset(samples, {2, 0})}, {2, 1, 2})
  lu.assertEquals(data.Subset(samples, {2, 0}):get(0).name, 'c')
end

function TestDatasets:test_subset_and_concat()
  local set = data.Subset(Squares(10), {7, 2})
  lu.assertEquals(#set, 2)
  lu.assertEquals(select(2, set:get(0)), 49)
  local both = data.ConcatDataset{Squares(3), set}
  lu.assertEquals(#both, 5)
  lu.assertEquals(select(2, both:get(3)), 49)
  lu.assertEquals(select(2, both:get(-1)), 4)
  lu.assertStrContains(message_of(both.get, both, 5), 'out of range')
end

function TestDatasets:test_random_split_is_a_partition()
  local parts = data.random_split(Squares(10), {0.75, 0.25}, {generator = torch.Generator(3)})
  lu.assertEquals({#parts[1], #parts[2]}, {8, 2})
  local seen = torch.cat{parts[1].indices, parts[2].indices}:sort():tolist()
  lu.assertEquals(seen, numbers(10))
  lu.assertStrContains(message_of(data.random_split, Squares(10), {3, 4}), 'add up to 7')
end

function TestDatasets:test_fractions_of_random_split()
  local function sizes(total, lengths)
    local out = {}
    for i, part in ipairs(data.random_split(Squares(total), lengths)) do out[i] = #part end
    return out
  end
  -- As in Python's torch.
  lu.assertEquals(sizes(10, {0.35, 0.35, 0.3}), {4, 3, 3})
  lu.assertEquals(sizes(1, {0.5, 0.5}), {1, 0})
  lu.assertEquals(sizes(1, {1}), {1})
  lu.assertEquals(sizes(3, {3, 0}), {3, 0})
  lu.assertStrContains(message_of(data.random_split, Squares(3), {-0.5, 1.5}), 'fraction number 1')
  lu.assertStrContains(message_of(data.random_split, Squares(3), {0.5, 0.4}), 'add up to')
end

function TestDatasets:test_stack()
  local named = data.StackDataset{n = data.TensorDataset(torch.arange(4)), s = Squares(4)}
  lu.assertEquals(named[3].n:item(), 3)
  lu.assertEquals(named[3].s[2], 9)
  local batch = data.DataLoader(named, {batch_size = 4}):iter()()
  lu.assertEquals(batch.n:tolist(), {0, 1, 2, 3})
  lu.assertEquals(batch.s[2]:tolist(), {0, 1, 4, 9})
  local Labelled = Squares:extend('Labelled')
  Labelled.dtypes = {[2] = 'int64'}
  local x, s = data.DataLoader(data.StackDataset(data.TensorDataset(torch.arange(4)), Labelled(4)), {batch_size = 3}):iter()()
  lu.assertEquals(x:tolist(), {0, 1, 2})
  lu.assertEquals(s[2].dtype, 'int64')
  local both = data.StackDataset(data.TensorDataset(torch.arange(4)), data.TensorDataset(torch.arange(4) * 2))
  lu.assertEquals(select(2, both:get_batch(torch.tensor({1, 3}, {dtype = 'int64'}))):tolist(), {2, 6})
  lu.assertStrContains(message_of(data.StackDataset, Squares(3), Squares(4)), 'size mismatch')
  lu.assertStrContains(message_of(data.StackDataset), 'at least one dataset')
end

function TestDatasets:test_a_subclass_that_redefines_get_is_asked_for_samples()
  local Odd = data.TensorDataset:extend('Odd')
  function Odd:get(i) return self.tensors[1][i] * 2 + 1 end
  local set = Odd(torch.arange(3))
  lu.assertEquals(data.DataLoader(set, {batch_size = 3}):iter()():tolist(), {1, 3, 5})
  lu.assertEquals(data.DataLoader(data.Subset(set, {2, 0}), {batch_size = 2}):iter()():tolist(), {5, 1})
end

function TestDatasets:test_subsets_of_subsets_and_indices_from_the_end()
  local inner = data.Subset(data.TensorDataset(torch.arange(10)), {9, 8, 7, 6})
  local outer = data.Subset(inner, {3, 0})
  lu.assertEquals(data.DataLoader(outer, {batch_size = 2}):iter()():tolist(), {6, 9})
  lu.assertEquals(outer[-1]:item(), 9)
  lu.assertEquals(#data.Subset(inner, {}), 0)
  local both = data.ConcatDataset{Squares(2), Squares(3)}
  lu.assertEquals(select(2, both:get(-4)), 1)
  lu.assertStrContains(message_of(both.get, both, -6), 'out of range')
end

function TestDatasets:test_missing_methods_are_named()
  local Empty = data.Dataset:extend('Empty')
  lu.assertStrContains(message_of(function() return #Empty() end), 'define function Empty:len()')
end

TestSamplers = {}

-- randperm(10) of Python's torch after manual_seed(0) and manual_seed(1).
local EPOCH_0 = {4, 1, 7, 5, 3, 9, 0, 8, 6, 2}
-- Orders of Python's samplers with the seeds of test_orders_of_pythons_torch.
local SUBSET = {50, 10, 40, 30, 20, 60}
local WEIGHTED = {0, 1, 3, 1, 3, 3, 1, 2}
local SUBSET_EPOCHS = {{60, 10, 20, 40, 50, 30}, {50, 40, 20, 30, 10, 60}}
local RANDOM = {7, 0, 5, 4, 6, 1, 3, 2}
local RANDOM_SOME = {1, 3, 0, 4, 2, 1, 3}

function TestSamplers:test_the_module_of_the_distributed_sampler()
  lu.assertIs(require 'torch.utils.data.distributed'.DistributedSampler, data.DistributedSampler)
  lu.assertIs(data.distributed.DistributedSampler, data.DistributedSampler)
  local message = message_of(function() return data.distributed.DistributedSampeler end)
  lu.assertStrContains(message, "did you mean 'DistributedSampler'")
end

function TestSamplers:test_distributed_has_pytorchs_numbers()
  local zero = data.DistributedSampler(Squares(10), {num_replicas = 2, rank = 0})
  local one = data.DistributedSampler(Squares(10), {num_replicas = 2, rank = 1})
  lu.assertEquals(zero:indices():tolist(), {EPOCH_0[1], EPOCH_0[3], EPOCH_0[5], EPOCH_0[7], EPOCH_0[9]})
  lu.assertEquals(one:indices():tolist(), {EPOCH_0[2], EPOCH_0[4], EPOCH_0[6], EPOCH_0[8], EPOCH_0[10]})
  zero:set_epoch(1)
  local changed = zero:indices():tolist()
  lu.assertNotEquals(changed, {4, 7, 3, 0, 6})
  lu.assertEquals(zero:indices():tolist(), changed)
end

function TestSamplers:test_distributed_pads_or_drops()
  local function part(n, options)
    options.shuffle = false
    return data.DistributedSampler(Squares(n), options):indices():tolist()
  end
  lu.assertEquals(part(5, {num_replicas = 2, rank = 1}), {1, 3, 0})
  lu.assertEquals(part(5, {num_replicas = 2, rank = 1, drop_last = true}), {1, 3})
  lu.assertEquals(part(2, {num_replicas = 5, rank = 4}), {0})
  lu.assertEquals(part(1, {num_replicas = 3, rank = 2}), {0})
  lu.assertStrContains(message_of(data.DistributedSampler, Squares(2), {num_replicas = 2, rank = 2}), 'rank 2')
end

function TestSamplers:test_random_sampler_is_a_function_of_seed_and_epoch()
  local function epochs()
    local sampler = data.RandomSampler(Squares(20), {generator = torch.Generator(5)})
    return sampler:indices():tolist(), sampler:indices():tolist(), sampler
  end
  local first, second, sampler = epochs()
  torch.rand(100)
  local again, second_again = epochs()
  lu.assertEquals(first, again)
  lu.assertEquals(second, second_again)
  lu.assertNotEquals(first, second)
  sampler:set_epoch(1)
  lu.assertEquals(sampler:indices():tolist(), second)
  table.sort(first)
  lu.assertEquals(first, numbers(20))
end

function TestSamplers:test_every_sampler_takes_an_epoch()
  local sampler = data.DataLoader(Squares(4), {batch_size = 2}).sampler
  sampler:set_epoch(3)
  lu.assertEquals(sampler:indices():tolist(), {0, 1, 2, 3})
end

function TestSamplers:test_random_sampler_counts()
  lu.assertEquals(#data.RandomSampler(Squares(3), {num_samples = 7}), 7)
  lu.assertEquals(data.RandomSampler(Squares(3), {num_samples = 7}):indices():size(0), 7)
  lu.assertEquals(data.RandomSampler(Squares(3), {replacement = true, num_samples = 50}):indices():max():item(), 2)
end

function TestSamplers:test_weights_are_respected()
  local sampler = data.WeightedRandomSampler({0, 1, 0, 3}, 100)
  for index in sampler:iter() do lu.assertTrue(index == 1 or index == 3) end
end

function TestSamplers:test_orders_of_pythons_torch()
  -- manual_seed(3), then the first epoch of a sampler without a generator; two epochs with Generator(5).
  torch.manual_seed(3)
  lu.assertEquals(data.SubsetRandomSampler({10, 20, 30, 40, 50, 60}):indices():tolist(), SUBSET)
  torch.manual_seed(3)
  lu.assertEquals(data.WeightedRandomSampler({1, 2, 3, 4}, 8):indices():tolist(), WEIGHTED)
  local own = data.SubsetRandomSampler({10, 20, 30, 40, 50, 60}, {generator = torch.Generator(5)})
  lu.assertEquals({own:indices():tolist(), own:indices():tolist()}, SUBSET_EPOCHS)
  torch.manual_seed(3)
  lu.assertEquals(data.RandomSampler(Squares(8)):indices():tolist(), RANDOM)
  lu.assertEquals(data.RandomSampler(Squares(5), {num_samples = 7, generator = torch.Generator(5)}):indices():tolist(),
    RANDOM_SOME)
end

function TestSamplers:test_wrong_arguments()
  lu.assertStrContains(message_of(data.RandomSampler, Squares(3), {num_samples = 0}), 'num_samples')
  lu.assertStrContains(message_of(data.RandomSampler, Squares(0)), 'no samples')
  lu.assertStrContains(message_of(data.RandomSampler, Squares(3), {replacement = 1}), 'replacement')
  lu.assertStrContains(message_of(data.WeightedRandomSampler, {1, 2}, 0), 'num_samples')
  lu.assertStrContains(message_of(data.WeightedRandomSampler, torch.ones(2, 2), 1), '2 dimensions')
  lu.assertStrContains(message_of(data.BatchSampler, data.SequentialSampler(Squares(3)), 0, false), 'positive integer')
  lu.assertStrContains(message_of(data.BatchSampler, data.SequentialSampler(Squares(3)), 2, 'yes'), 'drop_last')
end

function TestSamplers:test_batches()
  local function batches(drop_last)
    local out = {}
    for batch in data.BatchSampler(data.SequentialSampler(Squares(5)), 2, drop_last):iter() do out[#out + 1] = batch end
    return out
  end
  lu.assertEquals(batches(false), {{0, 1}, {2, 3}, {4}})
  lu.assertEquals(batches(true), {{0, 1}, {2, 3}})
end

TestLoader = {}

function TestLoader:test_batches_in_order()
  local loader = data.DataLoader(Squares(5), {batch_size = 2})
  lu.assertEquals(#loader, 3)
  local shapes, labels = {}, {}
  for x, y in loader do
    shapes[#shapes + 1] = x.shape[1]
    lu.assertEquals(x.shape[2], 2)
    lu.assertEquals(y.dtype, 'float32')
    labels[#labels + 1] = y:tolist()
  end
  lu.assertEquals(shapes, {2, 2, 1})
  lu.assertEquals(labels, {{0, 1}, {4, 9}, {16}})
end

function TestLoader:test_declared_dtype_of_labels()
  local Labelled = Squares:extend('Labelled')
  Labelled.dtypes = {[2] = 'int64'}
  local _, y = data.DataLoader(Labelled(4), {batch_size = 4}):iter()()
  lu.assertEquals(y.dtype, 'int64')
end

function TestLoader:test_get_batch_is_used()
  local Fast = Squares:extend('Fast')
  function Fast:get_batch(indices) return indices * 10 end
  lu.assertEquals(first_column(data.DataLoader(Fast(4), {batch_size = 3})), {0, 10, 20, 30})
end

function TestLoader:test_shuffling_without_a_generator_shows_every_sample_once()
  torch.manual_seed(0)
  local order = first_column(data.DataLoader(Squares(50), {batch_size = 7, shuffle = true}))
  lu.assertNotEquals(order, first_column(data.DataLoader(Squares(50), {batch_size = 7})))
  table.sort(order)
  lu.assertEquals(order, first_column(data.DataLoader(Squares(50), {batch_size = 7})))
end

function TestLoader:test_every_loop_is_a_new_epoch_also_after_break()
  local loader = data.DataLoader(Squares(6), {batch_size = 2, shuffle = true, generator = torch.Generator(1)})
  local taken = 0
  for _ in loader do
    taken = taken + 1
    if taken == 2 then break end
  end
  local second, third = first_column(loader), first_column(loader)
  lu.assertNotEquals(second, third)
  table.sort(second)
  lu.assertEquals(second, numbers(6))
  local again = data.DataLoader(Squares(6), {batch_size = 2, shuffle = true, generator = torch.Generator(1)})
  first_column(again)
  first_column(again)
  lu.assertEquals(first_column(again), third)
end

function TestLoader:test_a_newer_loop_ends_the_one_before()
  local loader = data.DataLoader(Squares(6))
  local old = loader:iter()
  old()
  loader:iter()
  lu.assertStrContains(message_of(old), 'ended by a newer one')
end

function TestLoader:test_enumerate_counts_from_zero()
  local seen = {}
  for i, x in data.DataLoader(Squares(3)):enumerate() do seen[#seen + 1] = {i, x[0][0]:item()} end
  lu.assertEquals(seen, {{0, 0}, {1, 1}, {2, 2}})
end

function TestLoader:test_drop_last_and_samplers()
  lu.assertEquals(#data.DataLoader(Squares(5), {batch_size = 2, drop_last = true}), 2)
  local sampler = data.DistributedSampler(Squares(5), {num_replicas = 2, rank = 0, shuffle = false})
  local loader = data.DataLoader(Squares(5), {batch_size = 2, sampler = sampler})
  lu.assertEquals(first_column(loader), {0, 2, 4})
  lu.assertIs(loader.sampler, sampler)
  local Own = data.Sampler:extend('Own')
  function Own:len() return 2 end
  function Own:iter()
    local list, i = {3, 1}, 0
    return function()
      i = i + 1
      return list[i]
    end
  end
  lu.assertEquals(first_column(data.DataLoader(Squares(5), {sampler = Own()})), {3, 1})
  local batches = data.BatchSampler(Own(), 2, false)
  lu.assertEquals(first_column(data.DataLoader(Squares(5), {batch_sampler = batches})), {3, 1})
end

function TestLoader:test_options_make_an_equal_loader()
  local loader = data.DataLoader(Squares(6), {batch_size = 4, drop_last = true})
  lu.assertEquals(#data.DataLoader(loader:options()), 1)
  local batches = data.BatchSampler(data.SequentialSampler(Squares(6)), 4, false)
  lu.assertEquals(#data.DataLoader(data.DataLoader(Squares(6), {batch_sampler = batches}):options()), 2)
end

function TestLoader:test_samples_of_two_shapes_name_their_field()
  local function message(...) return select(2, pcall(data.default_collate, {...})).message end
  local two, three = torch.zeros(2), torch.zeros(3)
  lu.assertStrContains(message({x = two, y = 1}, {x = three, y = 2}), "default_collate: field 'x': stack: stack expects each "
    .. 'tensor to be equal size, but got [2] at entry 0 and [3] at entry 1')
  lu.assertStrContains(message({a = {b = two}}, {a = {b = three}}), "default_collate: field 'a.b': stack")
  lu.assertStrContains(message({a = {b = two}}, {a = {c = three}}),
    "default_collate: field 'a': only some samples have the field 'b'")
end

function TestLoader:test_collate()
  local Rows = Squares:extend('Rows')
  function Rows:get(i) return {x = torch.ones(2) * i, name = 'row' .. i, deep = {i, i > 1}} end
  local batch = data.DataLoader(Rows(3), {batch_size = 3}):iter()()
  lu.assertEquals(batch.x:tolist(), {{0, 0}, {1, 1}, {2, 2}})
  lu.assertEquals(batch.name, {'row0', 'row1', 'row2'})
  lu.assertEquals(batch.deep[1]:tolist(), {0, 1, 2})
  lu.assertEquals(batch.deep[2].dtype, 'bool')
  local sums = data.DataLoader(Squares(4), {batch_size = 2, collate_fn = function(samples)
    return samples[1][2] + samples[2][2]
  end})
  local seen = {}
  for sum in sums do seen[#seen + 1] = sum end
  lu.assertEquals(seen, {1, 13})
end

function TestLoader:test_refuses_what_is_wrong()
  local set = Squares(3)
  lu.assertStrContains(message_of(data.DataLoader, set, {batchsize = 2}), "did you mean 'batch_size'?")
  lu.assertStrContains(message_of(data.DataLoader, set, {sampler = data.SequentialSampler(set), shuffle = true}),
    'sampler excludes shuffle')
  lu.assertStrContains(message_of(data.DataLoader, set, {prefetch_factor = 2}), 'needs num_workers')
  lu.assertStrContains(message_of(data.DataLoader, set, {timeout = 3}), 'timeout')
  lu.assertStrContains(message_of(data.DataLoader, set, {batch_size = 0}), 'positive integer')
  lu.assertStrContains(message_of(function() return data.Dataloader end), "did you mean 'DataLoader'?")
end

os.exit(lu.LuaUnit.run(), true)
