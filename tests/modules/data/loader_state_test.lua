-- Each sample is seen once: for all world sizes, dataset sizes, batch sizes, shuffling, drop_last, and when an epoch is
-- interrupted and resumed with another world size.
local lu = require 'luaunit'
local torch = require 'torch'
local data = torch.utils.data

local Numbers = data.Dataset:extend('Numbers')
function Numbers:init(n) self.n = n end
function Numbers:len() return self.n end
function Numbers:get(i) return i end

local message_of = require('refusal').message_of

local function append(list, batch)
  for _, i in ipairs(batch:tolist()) do list[#list + 1] = i end
end

-- Returns the loaders of all ranks.
local function group(case, world)
  local loaders = {}
  for rank = 0, world - 1 do
    local set = Numbers(case.size)
    local sampler = data.DistributedSampler(set, {num_replicas = world, rank = rank, shuffle = case.shuffle, seed = 7,
                                                  drop_last = case.drop_samples})
    loaders[rank + 1] = data.DataLoader(set, {batch_size = case.batch_size, sampler = sampler, drop_last = case.drop_last,
                                              num_workers = case.num_workers})
  end
  return loaders
end

-- Runs at most `steps` steps of an epoch in lockstep; returns the samples of each rank and the number of steps. All
-- ranks must take the same number of steps.
local function run(loaders, epoch, steps)
  local seen, next_batches = {}, {}
  for r, loader in ipairs(loaders) do
    loader.sampler:set_epoch(epoch)
    seen[r], next_batches[r] = {}, loader:iter()
  end
  for step = 0, steps and steps - 1 or math.huge do
    local ended = 0
    for r, next_batch in ipairs(next_batches) do
      local batch = next_batch()
      if batch == nil then ended = ended + 1 else append(seen[r], batch) end
    end
    if ended > 0 then
      lu.assertEquals(ended, #loaders, 'a rank ended before the others')
      return seen, step
    end
  end
  return seen, steps
end

local function counts_of(...)
  local counts, total = {}, 0
  for _, ranks in ipairs{...} do
    for _, list in ipairs(ranks) do
      for _, i in ipairs(list) do
        counts[i] = (counts[i] or 0) + 1
        total = total + 1
      end
    end
  end
  return counts, total
end

-- The documented rule: without drop_last each sample comes once, and some again to make the ranks equal; with drop_last
-- no sample comes twice, and fewer samples than ranks are left out.
local function check_counts(case, world, counts, total, what)
  local twice, missing, extra = 0, 0, 0
  for i = 0, case.size - 1 do
    local count = counts[i] or 0
    if count == 0 then missing = missing + 1 end
    if count > 1 then twice = twice + 1 end
    extra = extra + math.max(count - 1, 0)
  end
  if case.drop_samples then
    lu.assertEquals(twice, 0, what)
    lu.assertTrue(missing < world, what)
  else
    lu.assertEquals(missing, 0, what)
    lu.assertTrue(extra < world, what)
  end
  lu.assertEquals(total, case.size - missing + extra, what)
end

-- Calls fn(case, description) for every combination.
local function each_case(fn)
  for _, size in ipairs{1, 2, 7, 16, 23} do
    for _, batch_size in ipairs{1, 3, 4} do
      for _, shuffle in ipairs{false, true} do
        for _, drop_samples in ipairs{false, true} do
          local case = {size = size, batch_size = batch_size, shuffle = shuffle, drop_samples = drop_samples,
                        drop_last = false}
          fn(case, ('size %d, batch %d, shuffle %s, drop %s'):format(size, batch_size, tostring(shuffle),
            tostring(drop_samples)))
        end
      end
    end
  end
end

TestEverySampleOnce = {}

function TestEverySampleOnce:test_in_every_epoch_of_every_world()
  each_case(function(case, what)
    for world = 1, 5 do
      local loaders = group(case, world)
      local orders = {}
      for epoch = 0, 1 do
        local seen = run(loaders, epoch)
        local counts, total = counts_of(seen)
        check_counts(case, world, counts, total, what .. ', world ' .. world)
        orders[epoch] = table.concat(seen[1], ' ')
        lu.assertEquals(#seen[1], #loaders[1].sampler)
      end
      if case.shuffle and case.size == 23 then lu.assertNotEquals(orders[0], orders[1]) end
    end
  end)
end

function TestEverySampleOnce:test_with_drop_last_all_ranks_take_the_steps_of_their_length()
  each_case(function(case, what)
    case.drop_last = true
    for world = 1, 5 do
      local loaders = group(case, world)
      local seen, steps = run(loaders, 0)
      lu.assertEquals(steps, #loaders[1], what)
      for _, list in ipairs(seen) do lu.assertEquals(#list, steps * case.batch_size, what) end
    end
  end)
end

TestResume = {}

-- Stops after each number of steps, loads the state into new loaders, and checks that both parts make up one epoch.
local function check_resume(case, worlds, what)
  for _, before in ipairs(worlds) do
    for _, after in ipairs(worlds) do
      for steps = 0, 3 do
        local old = group(case, before)
        run(old, 0)
        local first, taken = run(old, 1, math.min(steps, #old[1]))
        local state = old[#old]:state()
        local new = group(case, after)
        for _, loader in ipairs(new) do loader:load_state(state) end
        local rest = run(new, 1)
        local counts, total = counts_of(first, rest)
        local text = ('%s, world %d then %d, %d steps'):format(what, before, after, taken)
        check_counts(case, math.max(before, after), counts, total, text)
        -- The next epoch is complete.
        local next_counts, next_total = counts_of((run(new, 2)))
        check_counts(case, after, next_counts, next_total, text .. ', next epoch')
      end
    end
  end
end

function TestResume:test_any_world_goes_on_from_any_other()
  each_case(function(case, what) check_resume(case, {1, 2, 3, 5}, what) end)
end

function TestResume:test_the_same_world_gets_the_same_batches()
  each_case(function(case, what)
    for _, world in ipairs{1, 3} do
      for _, num_workers in ipairs{0, case.size == 16 and 2 or nil} do
        case.num_workers = num_workers
        local whole = run(group(case, world), 4)
        local old = group(case, world)
        local first = run(old, 4, math.min(2, #old[1]))
        local new = group(case, world)
        for r, loader in ipairs(new) do loader:load_state(old[r]:state()) end
        local rest = run(new, 4)
        for r = 1, world do
          for _, i in ipairs(rest[r]) do table.insert(first[r], i) end
        end
        lu.assertEquals(first, whole, what)
      end
      case.num_workers = nil
    end
  end)
end

function TestResume:test_twice_in_one_epoch_on_three_worlds()
  local case = {size = 101, batch_size = 4, shuffle = true, drop_samples = false}
  local a = group(case, 2)
  local first = run(a, 3, 5)
  local b = group(case, 3)
  for _, loader in ipairs(b) do loader:load_state(a[1]:state()) end
  local second = run(b, 3, 2)
  local c = group(case, 5)
  for _, loader in ipairs(c) do loader:load_state(b[3]:state()) end
  local third = run(c, 3)
  local counts, total = counts_of(first, second, third)
  check_counts(case, 5, counts, total, 'three worlds')
  lu.assertEquals(#first[1] * 2 + #second[1] * 3, 40 + 24)
end

function TestResume:test_a_loader_without_ranks_and_a_distributed_one_share_states()
  local function plain() return data.DataLoader(Numbers(40), {batch_size = 4, shuffle = true}) end
  torch.manual_seed(2)
  local loader = plain()
  local first = {{}}
  for i, batch in loader:enumerate() do
    append(first[1], batch)
    if i == 3 then break end
  end
  local case = {size = 40, batch_size = 4, shuffle = true}
  local ranks = group(case, 2)
  for _, rank in ipairs(ranks) do rank:load_state(loader:state()) end
  local second = run(ranks, 0, 2)
  local alone = plain()
  alone:load_state(ranks[1]:state())
  local third = {{}}
  for batch in alone do append(third[1], batch) end
  local counts, total = counts_of(first, second, third)
  check_counts(case, 1, counts, total, 'one, two, one')
  lu.assertEquals(#third[1], 40 - 16 - 16)
end

-- Returns loaders with several kinds of samplers.
local function plain_loaders()
  local set = Numbers(30)
  local weights = torch.arange(30) + 1
  local Backwards = data.Sampler:extend('Backwards')
  function Backwards:len() return 30 end
  function Backwards:iter()
    local i = 30
    return function()
      i = i - 1
      if i >= 0 then return i end
    end
  end
  local Pairs = data.BatchSampler:extend('Pairs')
  function Pairs:iter()
    local next_batch = data.BatchSampler.iter(self)
    return function() return next_batch() end
  end
  return {
    sequential = {}, shuffled = {shuffle = true},
    own_generator = {shuffle = true, generator = torch.Generator(3)},
    subset = {sampler = data.SubsetRandomSampler({1, 2, 3, 5, 8, 13, 21})},
    subset_own = {sampler = data.SubsetRandomSampler({1, 2, 3, 5, 8, 13, 21}, {generator = torch.Generator(3)})},
    weighted = {sampler = data.WeightedRandomSampler(weights, 25)},
    replacement = {sampler = data.RandomSampler(set, {replacement = true, num_samples = 25})},
    custom = {sampler = Backwards()},
    wrapped = {sampler = data.DistributedSamplerWrapper(data.WeightedRandomSampler(weights, 24), {num_replicas = 2, rank = 1})},
    batches = {batch_sampler = data.BatchSampler(data.RandomSampler(set), 4, true)},
    custom_batches = {batch_sampler = Pairs(data.SubsetRandomSampler({1, 2, 3, 5, 8, 13, 21}), 2, false)},
    singles = {batch_size = torch.none, shuffle = true},
  }
end

local NAMES = {'sequential', 'shuffled', 'own_generator', 'subset', 'subset_own', 'weighted', 'replacement', 'custom',
               'wrapped', 'batches', 'custom_batches', 'singles'}

local function loader_of(name, num_workers)
  local options = plain_loaders()[name]
  if not options.batch_sampler and options.batch_size == nil then options.batch_size = 4 end
  options.num_workers = num_workers
  return data.DataLoader(Numbers(30), options)
end

local function batches_of(next_batch)
  local out = {}
  for batch in next_batch do out[#out + 1] = torch.is_tensor(batch) and batch:tolist() or batch end
  return out
end

function TestResume:test_every_sampler_gives_exactly_the_rest()
  for _, name in ipairs(NAMES) do
    for _, num_workers in ipairs{0, 2} do
      for _, steps in ipairs{0, 1, 3} do
        torch.manual_seed(11)
        local loader = loader_of(name, num_workers)
        batches_of(loader)
        local next_batch = loader:iter()
        for _ = 1, math.min(steps, #loader) do next_batch() end
        local rng, state = torch.get_rng_state(), loader:state()
        local rest, after = batches_of(next_batch), batches_of(loader:iter())
        local drawn = torch.rand(1):item()
        torch.manual_seed(99)
        local restored = loader_of(name, num_workers)
        restored:load_state(state)
        torch.set_rng_state(rng)
        local what = ('%s, %d workers, %d steps'):format(name, num_workers, steps)
        lu.assertEquals(restored:state(), state, what)
        lu.assertEquals(batches_of(restored), rest, what)
        lu.assertEquals(batches_of(restored), after, what)
        -- The default generator is in the same state as without the interruption.
        lu.assertEquals(torch.rand(1):item(), drawn, what)
      end
    end
  end
end

function TestResume:test_between_two_epochs()
  for _, name in ipairs(NAMES) do
    torch.manual_seed(11)
    local loader = loader_of(name)
    batches_of(loader)
    local rng, state = torch.get_rng_state(), loader:state()
    local second, third = batches_of(loader), batches_of(loader)
    torch.manual_seed(99)
    local restored = loader_of(name)
    restored:load_state(state)
    torch.set_rng_state(rng)
    lu.assertEquals({batches_of(restored), batches_of(restored)}, {second, third}, name)
  end
end

function TestResume:test_what_samples_draw_goes_on_too()
  local Noise = Numbers:extend('Noise')
  function Noise:get() return torch.rand({1}, {generator = data.sample_generator()}) end
  local function new() return data.DataLoader(Noise(12), {batch_size = 3, shuffle = true}) end
  torch.manual_seed(1)
  local loader = new()
  batches_of(loader)
  local next_batch = loader:iter()
  next_batch()
  local state = loader:state()
  local rest, after = batches_of(next_batch), batches_of(loader)
  torch.manual_seed(2)
  local restored = new()
  restored:load_state(state)
  lu.assertEquals(batches_of(restored), rest)
  lu.assertEquals(batches_of(restored), after)
end

function TestResume:test_an_iterable_dataset_is_read_again_up_to_the_place()
  local Range = data.IterableDataset:extend('Range')
  function Range:iter()
    local info = data.get_worker_info()
    local i, step = info and info.id or 0, info and info.num_workers or 1
    return function()
      i = i + step
      if i - step < 20 then return i - step end
    end
  end
  for _, num_workers in ipairs{0, 2} do
    local function new() return data.DataLoader(Range(), {batch_size = 3, num_workers = num_workers}) end
    local loader = new()
    local next_batch = loader:iter()
    next_batch()
    next_batch()
    local state = loader:state()
    local rest = batches_of(next_batch)
    local restored = new()
    restored:load_state(state)
    lu.assertEquals(batches_of(restored), rest)
  end
end

function TestResume:test_another_epoch_begins_again()
  local case = {size = 20, batch_size = 3, shuffle = true}
  local old = group(case, 2)
  run(old, 0, 2)
  local new = group(case, 2)
  for _, loader in ipairs(new) do loader:load_state(old[1]:state()) end
  lu.assertEquals((run(new, 1)), (run(group(case, 2), 1)))
end

function TestResume:test_a_state_is_plain_data_that_files_keep()
  for _, name in ipairs(NAMES) do
    local loader = loader_of(name)
    local next_batch = loader:iter()
    next_batch()
    local path = os.tmpname()
    torch.save(loader:state(), path)
    local state = torch.load(path)
    os.remove(path)
    local rest = batches_of(next_batch)
    local restored = loader_of(name)
    restored:load_state(state)
    lu.assertEquals(batches_of(restored), rest, name)
  end
end

function TestResume:test_a_state_that_does_not_fit_is_refused()
  local loader = data.DataLoader(Numbers(30), {shuffle = true})
  lu.assertStrContains(message_of(loader.load_state, loader, data.DataLoader(Numbers(31), {shuffle = true}):state()),
    'dataset with 31 samples, this one has 30')
  lu.assertStrContains(message_of(loader.load_state, loader, data.DataLoader(Numbers(30)):state()), 'shuffle')
  lu.assertStrContains(message_of(loader.load_state, loader, loader_of('weighted'):state()), 'WeightedRandomSampler')
  lu.assertStrContains(message_of(loader.load_state, loader, {}), 'loader:state()')
  lu.assertStrContains(message_of(loader.load_state, loader, {version = 9}), 'version 9')
  for field, value in pairs{samples = -1, batches = 'two', epoch = 0.5, sampler = 3} do
    local state = data.DataLoader(Numbers(30), {shuffle = true}):state()
    state[field] = value
    lu.assertStrContains(message_of(loader.load_state, loader, state), field)
  end
end

os.exit(lu.LuaUnit.run(), true)
