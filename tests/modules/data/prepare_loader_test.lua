-- train.torch.prepare_data_loader without processes: loaders are split and moved. e2e/data/test_data_order uses processes.
local lu = require 'luaunit'
local torch = require 'torch'
local data = torch.utils.data
local DeviceLoader = require 'rtrain.torch.device_loader'
local prepare = require 'rtrain.torch.prepare_loader'

local set = data.TensorDataset(torch.arange(12), torch.arange(12) * 2)

local function ranks_of(loader, world, options)
  local out = {}
  for rank = 0, world - 1 do out[rank + 1] = prepare(loader, {world_size = world, world_rank = rank}, 'cpu', options or {}) end
  return out
end

local function order_of(loader)
  local out = {}
  for x in loader do
    for _, i in ipairs(x:tolist()) do out[#out + 1] = i end
  end
  return out
end

local function joined(loaders)
  local out = {}
  for _, loader in ipairs(loaders) do
    for _, i in ipairs(order_of(loader)) do out[#out + 1] = i end
  end
  table.sort(out)
  return out
end

local message_of = require('refusal').message_of

TestBatchSize = {}

local function sizes_with(workers, batch)
  local session = require 'rtrain.session'
  session.begin {context = {world_size = workers}}
  local ok, size, all = pcall(require('rtrain').torch.local_batch_size, batch)
  session.finish()
  if not ok then error(size, 0) end
  return {size, all}
end

function TestBatchSize:test_the_parts_are_equal_and_near_the_batch()
  lu.assertEquals(sizes_with(1, 64), {64, 64})
  lu.assertEquals(sizes_with(4, 64), {16, 64})
  lu.assertEquals(sizes_with(3, 64), {21, 63})
  lu.assertEquals(sizes_with(6, 64), {11, 66})
  lu.assertEquals(sizes_with(5, 5), {1, 5})
end

function TestBatchSize:test_wrong_sizes()
  lu.assertStrContains(message_of(sizes_with, 4, 3), 'no sample for each of 4 workers')
  lu.assertStrContains(message_of(sizes_with, 4, 6.5), 'expected a whole number of samples, got 6.5')
  lu.assertStrContains(message_of(sizes_with, 4, 'x'), 'expected a whole number')
end

TestPrepare = {}

function TestPrepare:test_every_option_is_kept()
  local function collate(samples) return samples end
  local function init() end
  local given = {batch_size = 3, num_workers = 2, collate_fn = collate, timeout = 7, worker_init_fn = init,
                 generator = torch.Generator(1), prefetch_factor = 4, persistent_workers = true, in_order = false,
                 drop_last = true, pin_memory = false}
  local loader = ranks_of(data.DataLoader(set, given), 2)[2]
  for name, value in pairs(given) do lu.assertIs(loader:options()[name], value) end
  lu.assertEquals(#loader, 2)
  lu.assertFalse(loader.sampler.shuffle)
end

function TestPrepare:test_orders_are_split()
  for _, shuffle in ipairs{false, true} do
    local loaders = ranks_of(data.DataLoader(set, {batch_size = 2, shuffle = shuffle}), 3)
    lu.assertEquals(loaders[1].sampler.shuffle, shuffle)
    lu.assertEquals(joined(loaders), set.tensors[1]:tolist())
    lu.assertTrue(data.DistributedSampler == getmetatable(loaders[1].sampler).__class)
    lu.assertIs(prepare(loaders[1], {world_size = 3, world_rank = 0}, 'cpu', {}), loaders[1])
  end
end

function TestPrepare:test_samplers_of_other_kinds_stay()
  local Backwards = data.Sampler:extend('Backwards')
  function Backwards:len() return 12 end
  function Backwards:iter()
    local i = 12
    return function()
      i = i - 1
      if i >= 0 then return i end
    end
  end
  local loaders = ranks_of(data.DataLoader(set, {batch_size = 2, sampler = Backwards()}), 2)
  lu.assertEquals(order_of(loaders[1]), {11, 9, 7, 5, 3, 1})
  lu.assertEquals(order_of(loaders[2]), {10, 8, 6, 4, 2, 0})
  -- Ranks with different states of the default generator share one order, which is another one in each epoch.
  local weighted = data.DataLoader(set, {batch_size = 2, sampler = data.WeightedRandomSampler(torch.ones(12), 12, false)})
  local orders = {}
  for epoch = 0, 1 do
    local seen = {}
    for _, loader in ipairs(ranks_of(weighted, 3)) do
      torch.rand(epoch + 5)
      loader.sampler:set_epoch(epoch)
      for _, i in ipairs(order_of(loader)) do seen[#seen + 1] = i end
    end
    orders[epoch] = table.concat(seen, ' ')
    table.sort(seen)
    lu.assertEquals(seen, set.tensors[1]:tolist())
  end
  lu.assertNotEquals(orders[0], orders[1])
  local before = torch.get_rng_state()
  ranks_of(weighted, 2)[1].sampler:indices()
  lu.assertTrue(torch.equal(torch.get_rng_state(), before))
end

function TestPrepare:test_without_padding_each_sample_is_there_once()
  for _, count in ipairs {1, 2, 5, 7} do
    for _, shuffle in ipairs {false, true} do
      local few = data.TensorDataset(torch.arange(count))
      local loaders = ranks_of(data.DataLoader(few, {batch_size = 2, shuffle = shuffle}), 3, {padding = false})
      for _, loader in ipairs(loaders) do loader.sampler:set_epoch(2) end
      lu.assertEquals(joined(loaders), few.tensors[1]:tolist())
      lu.assertEquals(#loaders[3], math.ceil(math.floor(count / 3) / 2))
    end
  end
end

-- An epoch has the whole steps of one worker with the batches of all.
function TestPrepare:test_drop_last_leaves_whole_steps_for_any_number_of_workers()
  for count = 1, 30 do
    local few = data.TensorDataset(torch.arange(count))
    for _, workers in ipairs {1, 2, 3, 4, 6} do
      local options = {batch_size = 12 / workers, shuffle = true, drop_last = true}
      for _, loader in ipairs(ranks_of(data.DataLoader(few, options), workers)) do
        lu.assertEquals(#loader, math.floor(count / 12))
      end
      local batches = data.BatchSampler(data.RandomSampler(few), 12 / workers, true)
      for _, loader in ipairs(ranks_of(data.DataLoader(few, {batch_sampler = batches}), workers)) do
        lu.assertEquals(#loader, math.floor(count / 12))
      end
    end
  end
end

-- The order of a run that may have more workers is that of more workers, also with one.
function TestPrepare:test_one_worker_of_a_run_that_may_have_more()
  local function alone(options)
    return prepare(data.DataLoader(set, options), {world_size = 1, world_rank = 0, can_grow = true}, 'cpu', {})
  end
  local loader = alone {batch_size = 12, shuffle = true}
  local two = ranks_of(data.DataLoader(set, {batch_size = 6, shuffle = true}), 2)
  for epoch = 0, 2 do
    for _, each in ipairs {loader, unpack(two)} do each.sampler:set_epoch(epoch) end
    local order, dealt = order_of(loader), {}
    local first, second = order_of(two[1]), order_of(two[2])
    for i in ipairs(first) do dealt[2 * i - 1], dealt[2 * i] = first[i], second[i] end
    lu.assertEquals(order, dealt)
  end
  local weighted = data.WeightedRandomSampler(torch.arange(12) + 1, 12, true)
  local own, all = alone {batch_size = 12, sampler = weighted}, {}
  own.sampler:set_epoch(1)
  for _, each in ipairs(ranks_of(data.DataLoader(set, {batch_size = 6, sampler = weighted}), 2)) do
    each.sampler:set_epoch(1)
    for _, i in ipairs(order_of(each)) do all[#all + 1] = i end
  end
  local order = order_of(own)
  table.sort(order)
  table.sort(all)
  lu.assertEquals(order, all)
  lu.assertFalse(data.DistributedSampler == getmetatable(alone({batch_size = 2}).sampler).__class)
end

function TestPrepare:test_batch_samplers()
  local batches = data.BatchSampler(data.SequentialSampler(set), 4, true)
  local loaders = ranks_of(data.DataLoader(set, {batch_sampler = batches}), 2)
  lu.assertEquals(order_of(loaders[2]), {1, 3, 5, 7})
  loaders[2].sampler:set_epoch(1)
  lu.assertEquals(#loaders[2], 1)
  local Own = data.BatchSampler:extend('Own')
  local loader = data.DataLoader(set, {batch_sampler = Own(data.SequentialSampler(set), 4, true)})
  lu.assertStrContains(message_of(ranks_of, loader, 2), 'the batch_sampler is a Own')
  lu.assertIs(ranks_of(loader, 2, {add_dist_sampler = false})[1], loader)
end

function TestPrepare:test_what_is_left_alone()
  local loader = data.DataLoader(set, {batch_size = 2})
  lu.assertIs(ranks_of(loader, 1)[1], loader)
  local Stream = data.IterableDataset:extend('Stream')
  local stream = data.DataLoader(Stream())
  lu.assertIs(ranks_of(stream, 2)[2], stream)
  lu.assertStrContains(message_of(prepare, set, {}, 'cpu', {}), 'expected a DataLoader')
end

-- Tuples, dicts and non-tensor items are unchanged. The test's device is 'meta', which every build has.
TestDevice = {}

local Mixed = data.Dataset:extend('Mixed')
function Mixed:len() return 5 end
function Mixed:get(i) return torch.full({2}, i), {label = i, name = 'n' .. i, deep = {torch.ones(1), i > 2}}, 'text' .. i end

-- behaviour: `prepare_data_loader`
function TestDevice:test_items_arrive_intact()
  for _, auto_transfer in ipairs{true, false} do
    local options = {auto_transfer = auto_transfer}
    local loader = prepare(data.DataLoader(Mixed(), {batch_size = 2}), {world_size = 2, world_rank = 1}, 'meta', options)
    lu.assertEquals(#loader, 2)
    loader.sampler:set_epoch(0)
    local steps = 0
    for i, x, fields, texts in loader:enumerate() do
      lu.assertEquals(i, steps)
      steps = steps + 1
      lu.assertEquals(tostring(x.device), 'meta')
      lu.assertEquals(tostring(fields.label.device), 'meta')
      lu.assertEquals(tostring(fields.deep[1].device), 'meta')
      lu.assertEquals(tostring(fields.deep[2].device), 'meta')
      -- Rank 1 of 2 has the samples 1, 3, 0.
      lu.assertEquals(fields.name, i == 0 and {'n1', 'n3'} or {'n0'})
      lu.assertEquals(texts, i == 0 and {'text1', 'text3'} or {'text0'})
    end
    lu.assertEquals(steps, 2)
    for x in loader do lu.assertEquals(x.shape[2], 2) end
  end
end

function TestDevice:test_on_the_cpu_the_loader_stays_itself()
  local loader = data.DataLoader(Mixed(), {batch_size = 2})
  lu.assertIs(prepare(loader, {world_size = 1, world_rank = 0}, 'cpu', {}), loader)
  lu.assertIs(prepare(loader, {world_size = 1, world_rank = 0}, 'meta', {move_to_device = false}), loader)
end

function TestDevice:test_a_batch_on_its_way_is_not_taken_yet()
  local function new() return data.DataLoader(set, {batch_size = 2, shuffle = true, generator = torch.Generator(1)}) end
  local whole = order_of(new())
  for _, auto_transfer in ipairs{true, false} do
    local on_device, seen = DeviceLoader(new(), 'cpu', auto_transfer), {}
    for i, x in on_device:enumerate() do
      for _, value in ipairs(x:tolist()) do seen[#seen + 1] = value end
      if i == 2 then break end
    end
    local restored = DeviceLoader(new(), 'cpu', auto_transfer)
    restored:load_state(on_device:state())
    for _, value in ipairs(order_of(restored)) do seen[#seen + 1] = value end
    lu.assertEquals(seen, whole)
  end
end

function TestDevice:test_the_last_batch_is_still_of_its_epoch()
  local loader = data.DataLoader(set, {batch_size = 5})
  local on_device, states = DeviceLoader(loader, 'cpu', true), {}
  for i in on_device:enumerate() do states[i] = on_device:state() end
  lu.assertEquals({states[0].samples, states[1].samples, states[2].samples}, {5, 10, 12})
  lu.assertNil(on_device:state().samples)
  on_device:load_state(states[2])
  lu.assertEquals(order_of(on_device), {})
  lu.assertEquals(#order_of(on_device), 12)
end

os.exit(lu.LuaUnit.run(), true)
