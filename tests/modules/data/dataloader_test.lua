-- DataLoader: worker threads and all its options. data_test covers datasets and samplers, loader_state_test the state.
local lu = require 'luaunit'
local torch = require 'torch'
local data = torch.utils.data

local message_of = require('refusal').message_of
local function error_of(...) return select(2, message_of(...)) end

-- Samples (i, i * i), without get_batch.
local Squares = data.Dataset:extend('Squares')
function Squares:init(n) self.n = n end
function Squares:len() return self.n end
function Squares:get(i) return torch.full({2}, i), i * i end

local function flat(list, value)
  if torch.is_tensor(value) then value = value:tolist() end
  if type(value) ~= 'table' then
    list[#list + 1] = value
  else
    for _, row in ipairs(value) do flat(list, type(row) == 'table' and row[1] or row) end
  end
  return list
end

local function first_column(loader)
  local out = {}
  for x in loader do flat(out, x) end
  return out
end

local numbers = require('lists').numbers
local sorted = require('lists').sorted

TestThreads = {}

function TestThreads:test_same_batches_as_without_threads()
  local function columns(num_workers)
    local generator = torch.Generator(2)
    local loader = data.DataLoader(Squares(50), {batch_size = 7, shuffle = true, generator = generator,
                                                 num_workers = num_workers})
    return {first_column(loader), first_column(loader)}
  end
  lu.assertEquals(columns(2), columns(0))
end

function TestThreads:test_several_epochs_and_break()
  for _, persistent in ipairs{false, true} do
    local loader = data.DataLoader(Squares(20), {batch_size = 3, num_workers = 2, prefetch_factor = 3,
                                                 persistent_workers = persistent})
    lu.assertEquals(loader:iter()()[0][0]:item(), 0)
    lu.assertEquals(first_column(loader), numbers(20))
    lu.assertEquals(first_column(loader), numbers(20))
    loader:close()
    lu.assertEquals(first_column(loader), numbers(20))
  end
end

function TestThreads:test_an_error_names_worker_and_sample_at_the_loops_line()
  local Broken = Squares:extend('Broken')
  function Broken:get(i)
    if i == 5 then error('no such file') end
    return i
  end
  local loader = data.DataLoader(Broken(20), {batch_size = 4, num_workers = 2})
  local line = debug.getinfo(1, 'l').currentline + 2
  local err = error_of(function()
    for _ in loader do end
  end)
  local text = tostring(err)
  lu.assertStrMatches(text, '.*DataLoader worker [01], samples 4, 5, 6, 7: sample 5: .*no such file.*')
  lu.assertStrContains(text, ('dataloader_test.lua:%d: DataLoader'):format(line))
  lu.assertStrContains(err.traceback, 'dataloader_test.lua')
  local alone = data.DataLoader(Broken(20), {batch_size = 4})
  lu.assertStrContains(message_of(first_column, alone), 'sample 5: ')
end

-- A dataset whose samples have the information about their worker.
local Telling = Squares:extend('Telling')
function Telling:get()
  local info = data.get_worker_info()
  return {id = info.id, n = info.num_workers, len = info.dataset:len(), tag = self.tag or -1, seed = info.seed}
end

function TestThreads:test_worker_info_and_init_fn()
  lu.assertNil(data.get_worker_info())
  local loader = data.DataLoader(Telling(8), {num_workers = 2, worker_init_fn = function(id)
    local info = data.get_worker_info()
    assert(info.id == id and info.dataset.tag == nil, 'called twice')
    info.dataset.tag = 10 + id
  end})
  for _ = 1, 2 do
    local seeds = {}
    for batch in loader do
      local id = batch.id:item()
      lu.assertEquals(batch.n:item(), 2)
      lu.assertEquals(batch.len:item(), 8)
      lu.assertEquals(batch.tag:item(), 10 + id)
      lu.assertTrue(seeds[id] == nil or seeds[id] == batch.seed:item())
      seeds[id] = batch.seed:item()
    end
  end
  local failing = data.DataLoader(Telling(8), {num_workers = 1, worker_init_fn = function() error('no camera') end})
  lu.assertStrMatches(message_of(first_column, failing), '.*worker 0.*worker_init_fn: .*no camera.*')
end

function TestThreads:test_persistent_workers_keep_their_dataset_others_see_its_changes()
  local Counting = Squares:extend('Counting')
  function Counting:get()
    self.calls = (self.calls or 0) + 1
    return self.calls
  end
  local function epochs(persistent)
    local set = Counting(3)
    local loader = data.DataLoader(set, {num_workers = 1, persistent_workers = persistent})
    local first = first_column(loader)
    set.calls = 10
    return {first, first_column(loader)}
  end
  lu.assertEquals(epochs(true), {{1, 2, 3}, {4, 5, 6}})
  lu.assertEquals(epochs(false), {{1, 2, 3}, {11, 12, 13}})
end

function TestThreads:test_samples_draw_the_same_numbers_with_any_number_of_workers()
  local Noise = Squares:extend('Noise')
  function Noise:get() return torch.rand({1}, {generator = data.sample_generator()}) end
  local function draws(num_workers, batch_size)
    torch.manual_seed(4)
    local loader = data.DataLoader(Noise(12), {batch_size = batch_size, num_workers = num_workers})
    return {first_column(loader), first_column(loader)}
  end
  local drawn = draws(0, 3)
  lu.assertEquals(draws(1, 3), drawn)
  lu.assertEquals(draws(3, 4), drawn)
  lu.assertNotEquals(drawn[1], drawn[2])
  lu.assertNil(data.sample_generator())
  local list = sorted(drawn[1])
  for i = 2, #list do lu.assertTrue(list[i] > list[i - 1]) end
end

function TestThreads:test_the_default_generator_is_refused_in_workers()
  local uses = {
    rand = function() return torch.rand(2) end,
    randn = function() return torch.randn{2} end,
    randperm = function() return torch.randperm(4) end,
    dropout = function() return torch.nn.functional.dropout(torch.ones(3)) end,
    uniform_ = function() return torch.empty(2):uniform_() end,
    ['torch.manual_seed'] = function() torch.manual_seed(1) end,
    ['torch.seed'] = function() torch.seed() end,
    ['torch.set_rng_state'] = function() torch.set_rng_state(torch.get_rng_state()) end,
  }
  for name, use in pairs(uses) do
    local Bad = Squares:extend('Bad')
    function Bad:get() return use() end
    local text = message_of(first_column, data.DataLoader(Bad(2), {num_workers = 1}))
    lu.assertStrContains(text, name .. ': a loader thread cannot use the default generator')
    lu.assertStrContains(text, 'sample_generator()')
  end
  local Good = Squares:extend('Good')
  function Good:get(i)
    torch.randint(0, 5, {2}, {generator = data.sample_generator()})
    return torch.nn.functional.dropout(torch.full({1}, i), 0.5, false)
  end
  lu.assertEquals(first_column(data.DataLoader(Good(3), {num_workers = 1})), {0, 1, 2})
end

function TestThreads:test_a_batch_that_takes_too_long()
  local Slow = Squares:extend('Slow')
  function Slow:get(i)
    local stop = os.clock() + (i == 1 and 0.3 or 0)
    while os.clock() < stop do end
    return i
  end
  local loader = data.DataLoader(Slow(3), {num_workers = 1, timeout = 0.05, persistent_workers = true})
  local err = error_of(first_column, loader)
  lu.assertEquals(err.code, 'timeout')
  lu.assertStrContains(tostring(err), 'samples 1 took longer than 0.05 s (worker 0 has it)')
  lu.assertStrContains(tostring(err), 'raise timeout')
end

function TestThreads:test_without_order_every_batch_comes_once()
  local loader = data.DataLoader(Squares(40), {batch_size = 3, num_workers = 3, in_order = false})
  lu.assertEquals(sorted(first_column(loader)), numbers(40))
  loader:iter()()
  lu.assertStrContains(message_of(loader.state, loader), 'in_order')
end

function TestThreads:test_tensors_of_the_dataset_are_shared()
  local tensor = torch.zeros(4)
  local Writing = Squares:extend('Writing')
  function Writing:get(i)
    self.tensor[i] = i + 1
    return i
  end
  local set = Writing(4)
  set.tensor = tensor
  first_column(data.DataLoader(set, {num_workers = 2}))
  lu.assertEquals(tensor:tolist(), {1, 2, 3, 4})
end

function TestThreads:test_a_generator_of_the_dataset_travels_with_its_state()
  local Noise = Squares:extend('Noise')
  function Noise:get() return torch.rand({1}, {generator = self.generator}) end
  local function draws(num_workers)
    local set = Noise(3)
    set.generator = torch.Generator(4)
    torch.rand({1}, {generator = set.generator})
    return first_column(data.DataLoader(set, {num_workers = num_workers}))
  end
  lu.assertEquals(draws(1), draws(0))
end

function TestThreads:test_items_that_are_no_tensors_cross()
  local Mixed = Squares:extend('Mixed')
  function Mixed:get(i) return {name = 'n' .. i, deep = {x = torch.full({2}, i)}}, i > 0 end
  for _, num_workers in ipairs{0, 1} do
    local batch, flags = data.DataLoader(Mixed(2), {batch_size = 2, num_workers = num_workers}):iter()()
    lu.assertEquals(batch.name, {'n0', 'n1'})
    lu.assertEquals(batch.deep.x:tolist(), {{0, 0}, {1, 1}})
    lu.assertEquals(flags:tolist(), {false, true})
  end
end

TestOrder = {}

-- The orders of Python's torch for the same seeds, and the next number of the default generator.
function TestOrder:test_first_epoch_of_pythons_torch()
  local set = data.TensorDataset(torch.arange(8))
  local function order(options)
    options.batch_size = 3
    return table.concat(first_column(data.DataLoader(set, options)))
  end
  lu.assertEquals(order{shuffle = true, generator = torch.Generator(5)}, '74132065')
  torch.manual_seed(5)
  lu.assertEquals(order{shuffle = true}, '46175320')
  lu.assertAlmostEquals(torch.rand(1):item(), 0.9201, 5e-5)
  torch.manual_seed(5)
  lu.assertEquals(order{sampler = data.WeightedRandomSampler({1, 1, 1, 1, 1, 1, 1, 1}, 8)}, '22226456')
  lu.assertAlmostEquals(torch.rand(1):item(), 0.0566, 5e-5)
  local drawn = data.RandomSampler(set, {replacement = true, num_samples = 70, generator = torch.Generator(5)})
  lu.assertEquals(order{sampler = drawn}:sub(-7), '2157445')
end

function TestOrder:test_lists_are_samplers()
  lu.assertEquals(first_column(data.DataLoader(Squares(5), {batch_size = 2, sampler = {4, 0, 2}})), {4, 0, 2})
  lu.assertEquals(first_column(data.DataLoader(Squares(5), {sampler = torch.tensor({3, 3}, {dtype = 'int64'})})), {3, 3})
  local sizes = {}
  for x in data.DataLoader(Squares(5), {batch_sampler = {{1, 2, 3}, {4}}}) do sizes[#sizes + 1] = x:size(0) end
  lu.assertEquals(sizes, {3, 1})
  lu.assertStrContains(message_of(data.DataLoader, Squares(5), {sampler = 3}), 'a Sampler or a list, got a number')
end

function TestOrder:test_any_object_with_iter_and_len_is_a_sampler()
  local plain = {len = function() return 4 end, iter = function()
    local i = 4
    return function()
      i = i - 1
      if i >= 0 then return i end
    end
  end}
  local function new() return data.DataLoader(Squares(5), {batch_size = 2, sampler = plain}) end
  local loader = new()
  lu.assertEquals(#loader, 2)
  local next_batch = loader:iter()
  next_batch()
  local state = loader:state()
  lu.assertEquals(next_batch()[0][0]:item(), 1)
  local restored = new()
  restored:load_state(state)
  lu.assertEquals(first_column(restored), {1, 0})
end

TestSingles = {}

function TestSingles:test_samples_without_batches()
  for _, num_workers in ipairs{0, 2} do
    local loader = data.DataLoader(Squares(4), {batch_size = torch.none, num_workers = num_workers})
    lu.assertEquals(#loader, 4)
    lu.assertNil(loader.batch_size)
    local seen = {}
    for x, y in loader do seen[#seen + 1] = {x:tolist(), y} end
    lu.assertEquals(seen, {{{0, 0}, 0}, {{1, 1}, 1}, {{2, 2}, 4}, {{3, 3}, 9}})
  end
  local loader = data.DataLoader(Squares(3), {batch_size = torch.none, collate_fn = function(sample) return sample[2] + 1 end})
  lu.assertEquals(first_column(loader), {1, 2, 5})
end

function TestSingles:test_a_sampler_of_batches_asks_for_whole_batches()
  local set = data.TensorDataset(torch.arange(5))
  local batches = data.BatchSampler(data.SequentialSampler(set), 2, false)
  for _, num_workers in ipairs{0, 2} do
    local seen = {}
    for x in data.DataLoader(set, {batch_size = torch.none, sampler = batches, num_workers = num_workers}) do
      seen[#seen + 1] = x:tolist()
    end
    lu.assertEquals(seen, {{0, 1}, {2, 3}, {4}})
  end
  local loader = data.DataLoader(Squares(5), {batch_size = torch.none, sampler = batches})
  lu.assertStrContains(message_of(first_column, loader), 'get_batch')
end

TestIterable = {}

local Range = data.IterableDataset:extend('Range')
function Range:init(start, stop, splits) self.start, self.stop, self.splits = start, stop, splits end
function Range:len() return self.stop - self.start end
function Range:iter()
  local info = self.splits and data.get_worker_info()
  local i, step = self.start + (info and info.id or 0), info and info.num_workers or 1
  return function()
    if i >= self.stop then return nil end
    i = i + step
    return i - step
  end
end

function TestIterable:test_batches()
  local function batches(options)
    local out = {}
    for x in data.DataLoader(Range(0, 5), options) do out[#out + 1] = x:tolist() end
    return out
  end
  lu.assertEquals(batches{batch_size = 2}, {{0, 1}, {2, 3}, {4}})
  lu.assertEquals(batches{batch_size = 2, drop_last = true}, {{0, 1}, {2, 3}})
  lu.assertEquals(#data.DataLoader(Range(0, 5), {batch_size = 2}), 3)
  lu.assertEquals(#data.DataLoader(Range(0, 5), {batch_size = 2, drop_last = true}), 2)
  lu.assertEquals(first_column(data.DataLoader(Range(3, 7), {batch_size = torch.none})), {3, 4, 5, 6})
end

-- The expected orders are Python's.
function TestIterable:test_workers_take_turns()
  local function order(splits, stop, options)
    options.num_workers = options.num_workers or 2
    return first_column(data.DataLoader(Range(3, stop, splits), options))
  end
  lu.assertEquals(order(false, 7, {}), {3, 3, 4, 4, 5, 5, 6, 6})
  lu.assertEquals(order(true, 7, {}), {3, 4, 5, 6})
  lu.assertEquals(order(true, 7, {num_workers = 12}), {3, 4, 5, 6})
  lu.assertEquals(order(true, 12, {batch_size = 2}), {3, 5, 4, 6, 7, 9, 8, 10, 11})
  lu.assertEquals(order(true, 12, {batch_size = 2, drop_last = true}), {3, 5, 4, 6, 7, 9, 8, 10})
end

function TestIterable:test_epochs()
  for _, persistent in ipairs{false, true} do
    local loader = data.DataLoader(Range(0, 9, true), {num_workers = 2, persistent_workers = persistent, prefetch_factor = 3})
    loader:iter()()
    lu.assertEquals(first_column(loader), numbers(9))
    lu.assertEquals(first_column(loader), numbers(9))
  end
end

function TestIterable:test_errors_name_the_worker()
  local Broken = data.IterableDataset:extend('Broken')
  function Broken:iter()
    local id = data.get_worker_info().id
    return function() if id == 1 then error('bad line') else return 0 end end
  end
  lu.assertStrMatches(message_of(first_column, data.DataLoader(Broken(), {num_workers = 2})),
    '.*DataLoader worker 1, .*bad line.*')
end

function TestIterable:test_chain()
  local chain = data.ChainDataset{Range(0, 2), Range(5, 5), Range(7, 9)}
  lu.assertEquals(#chain, 4)
  lu.assertEquals(first_column(data.DataLoader(chain, {batch_size = 3})), {0, 1, 7, 8})
  lu.assertStrContains(message_of(data.ChainDataset, {Squares(2)}), 'ConcatDataset')
  lu.assertStrContains(message_of(data.ConcatDataset, {Range(0, 2)}), 'ChainDataset')
end

TestArguments = {}

function TestArguments:test_what_excludes_each_other()
  local set = Squares(3)
  local order = data.SequentialSampler(set)
  local batches = data.BatchSampler(order, 2, false)
  local cases = {
    {{num_workers = -1}, 'num_workers is a number from 0 on'},
    {{num_workers = 1.5}, 'num_workers'},
    {{num_workers = 1, timeout = -1}, 'timeout is a number of seconds from 0 on'},
    {{timeout = 1}, 'timeout needs num_workers'},
    {{prefetch_factor = 2}, 'prefetch_factor needs num_workers > 0'},
    {{prefetch_factor = 0, num_workers = 1}, 'prefetch_factor is a number from 1 on'},
    {{persistent_workers = true}, 'persistent_workers needs num_workers > 0'},
    {{sampler = order, shuffle = true}, 'sampler excludes shuffle'},
    {{batch_sampler = batches, batch_size = 4}, 'batch_sampler excludes'},
    {{batch_sampler = batches, drop_last = true}, 'batch_sampler excludes'},
    {{batch_sampler = batches, shuffle = true}, 'batch_sampler excludes'},
    {{batch_size = torch.none, drop_last = true}, 'excludes drop_last'},
    {{batch_size = 0}, 'positive integer'},
    {{multiprocessing_context = 'spawn', num_workers = 1}, 'threads of this process'},
    {{collate_fn = 3}, 'collate_fn is a function'},
    {{drop_last = 1}, 'drop_last is true or false'},
    {{batchsize = 2}, "did you mean 'batch_size'?"},
  }
  for _, case in ipairs(cases) do lu.assertStrContains(message_of(data.DataLoader, set, case[1]), case[2]) end
  for _, option in ipairs{{shuffle = true}, {sampler = order}, {batch_sampler = batches}} do
    lu.assertStrContains(message_of(data.DataLoader, Range(0, 3), option), 'an IterableDataset has an order of its own')
  end
  lu.assertStrContains(message_of(data.DataLoader, 5), 'the dataset is a Dataset, a Tensor or a list, got a number')
end

function TestArguments:test_pinned_memory_has_no_effect_without_a_gpu()
  if torch.cuda.is_available() then lu.skip('there is a GPU') end
  local loader = data.DataLoader(Squares(3), {pin_memory = true, pin_memory_device = 'cuda'})
  lu.assertEquals(first_column(loader), {0, 1, 2})
end

function TestArguments:test_options_are_kept()
  local function collate(samples) return #samples end
  local function init() end
  local given = {
    num_workers = 2, collate_fn = collate, timeout = 5, worker_init_fn = init, generator = torch.Generator(1),
    prefetch_factor = 3, persistent_workers = true, in_order = false, batch_size = 4, drop_last = true, shuffle = true,
  }
  local options = data.DataLoader(Squares(9), given):options()
  for name, value in pairs(given) do lu.assertIs(options[name], value) end
  lu.assertEquals(data.DataLoader(Squares(9), {batch_size = torch.none}):options().batch_size, torch.none)
end

TestDeviceResident = {}

-- A dataset on another device: 'meta' stores only shapes, so code that read the numbers on the host would fail.
local Resident = data.Dataset:extend('Resident')

function Resident:init(count) self.count, self.batch_device, self.seen = count, 'meta', {} end

function Resident:len() return self.count end

function Resident:get(i) return i end

function Resident:get_batch(indices)
  self.seen[#self.seen + 1] = indices.device .. ' ' .. indices:size(0)
  return indices
end

function TestDeviceResident:test_batches_of_indices_are_made_on_the_device()
  local set = Resident(7)
  for _ in data.DataLoader(set, {batch_size = 3, shuffle = true}) do end
  lu.assertEquals(set.seen, {'meta 3', 'meta 3', 'meta 1'})
  local parts = data.Subset(Resident(7), {1, 3, 5})
  lu.assertEquals(parts.indices.device, 'meta')
  lu.assertEquals(parts.batch_device, 'meta')
end

function TestDeviceResident:test_single_samples_get_numbers()
  local set, batches = Resident(4), {}
  for x in data.DataLoader(set, {batch_size = 2, collate_fn = function(samples) return samples end}) do
    batches[#batches + 1] = x
  end
  lu.assertEquals(batches, {{0, 1}, {2, 3}})
end

function TestDeviceResident:test_refusals()
  lu.assertStrContains(message_of(data.DataLoader, Resident(4), {num_workers = 2}),
    'the dataset lies on meta, where this thread makes its batches fastest: leave num_workers out, got 2')
  lu.assertStrContains(message_of(data.TensorDataset, torch.zeros(4), torch.zeros({4}, {device = 'meta'})),
    'the first tensor lies on cpu, tensor 2 on meta: bring them to one device')
end

function TestDeviceResident:test_enumerate_counts_from_where_it_is_told()
  local loader = data.DataLoader(data.TensorDataset(torch.arange(4)), {batch_size = 2})
  for _, start in ipairs {0, 1, -1} do
    local seen = {}
    for i in loader:enumerate(start) do seen[#seen + 1] = i end
    lu.assertEquals(seen, {start, start + 1})
  end
  lu.assertStrContains(message_of(loader.enumerate, loader, 'one'), 'enumerate: start is an integer, got one')
end

os.exit(lu.LuaUnit.run(), true)
