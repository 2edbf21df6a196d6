-- Objects that depend on a rank's place in its group, when the group becomes smaller: rtrain/elastic/followers.lua.
-- e2e/runs/test_heal_smaller.py tests it with processes.
local lu = require 'luaunit'
local torch = require 'torch'
local data = torch.utils.data
local followers = require 'rtrain.elastic.followers'
local prepare = require 'rtrain.torch.prepare_loader'
local rows = require 'rtrain.data'

local message_of = require('refusal').message_of

local function context_of(rank, world_size) return {world_size = world_size, world_rank = rank} end

-- `new_sampler`: each rank has a sampler, and a generator, of its own.
local function loader_of(rank, world_size, options, new_sampler)
  local given = {batch_size = 2, shuffle = not new_sampler, sampler = new_sampler and new_sampler()}
  for name, value in next, options or {} do given[name] = value end
  return prepare(data.DataLoader(data.TensorDataset(torch.arange(50)), given), context_of(rank, world_size), 'cpu', {})
end

local function add(seen, x)
  for _, i in ipairs(x:tolist()) do seen[#seen + 1] = i end
end

local function sorted_unique(seen)
  table.sort(seen)
  local out = {}
  for _, i in ipairs(seen) do
    if out[#out] ~= i then out[#out + 1] = i end
  end
  return out
end

TestFollowers = {}

-- Collects unused samplers of other tests.
function TestFollowers:setUp() collectgarbage(); collectgarbage() end

local function check_dealt_again(options, new_sampler)
  local seen, loaders, state = {}, {}, nil
  for rank = 0, 3 do
    loaders[rank] = loader_of(rank, 4, options, new_sampler)
    local batches = 0
    for x in loaders[rank] do
      add(seen, x)
      batches = batches + 1
      if batches == 3 then
        if rank == 0 then state = loaders[rank]:state() end
        break
      end
    end
  end
  lu.assertEquals(#sorted_unique(seen), 24)
  for i, rank in ipairs {0, 2} do  -- ranks 1 and 3 are lost
    loaders[rank].sampler:set_place(2, i - 1)
    loaders[rank]:load_state(state)
  end
  for _, rank in ipairs {0, 2} do
    for x in loaders[rank] do add(seen, x) end
  end
  lu.assertEquals(#seen, 50, 'no sample twice')
  lu.assertEquals(sorted_unique(seen), torch.arange(50):tolist())
  local next_epoch = {}
  for _, rank in ipairs {0, 2} do
    for x in loaders[rank] do add(next_epoch, x) end
  end
  lu.assertEquals(#next_epoch, 50)
  lu.assertEquals(sorted_unique(next_epoch), torch.arange(50):tolist())
end

function TestFollowers:test_what_is_left_of_an_epoch_is_dealt_out_again() check_dealt_again() end

function TestFollowers:test_also_where_threads_read_ahead() check_dealt_again {num_workers = 1, prefetch_factor = 4} end

function TestFollowers:test_also_of_another_sampler()
  check_dealt_again({}, function() return data.SubsetRandomSampler(torch.arange(50):tolist(), torch.Generator(3)) end)
end

function TestFollowers:test_a_sampler_of_the_group_follows()
  local loader, whole = loader_of(3, 4), loader_of(0, 1)
  lu.assertEquals(#loader, 7)
  followers.move(context_of(3, 4), {context = context_of(1, 2)})
  lu.assertEquals({loader.sampler.num_replicas, loader.sampler.rank, #loader}, {2, 1, 13})
  lu.assertEquals(#whole, 25, 'not split')
end

function TestFollowers:test_a_sampler_of_another_size_cannot_follow()
  local sampler = data.DistributedSampler(data.TensorDataset(torch.arange(9)), {num_replicas = 3, rank = 2})
  local problem = 'a DistributedSampler is that of rank 2 of 3, and not of rank 0 of 2'
  lu.assertEquals(followers.problem {context = context_of(0, 2)}, problem)
  lu.assertNil(followers.problem {context = context_of(2, 3)})
  lu.assertStrContains(message_of(followers.move, context_of(0, 2), {context = context_of(0, 1)}), problem)
  lu.assertEquals(sampler.num_replicas, 3)
end

function TestFollowers:test_a_trial_has_the_ranks_that_its_sweep_knows()
  lu.assertStrContains(followers.problem {context = context_of(0, 2), trial = {}}, 'sweep')
end

-- Makes shards as get_dataset_shard does.
local function shard_of(rank, world_size)
  local store = {}
  return require 'rtrain.data.loop.iterator' {
    feed = require 'rtrain.data.executor.feed'(rows.range(50)._plan, {seed = 1, may_count = true, options = {num_threads = 1}}),
    name = 'train', seed = 1, world_size = world_size, rank = rank,
    agreement = {store = store, name = 'train', rank = rank, world_size = world_size, timeout_s = 1}}
end

function TestFollowers:test_the_rows_that_are_left_are_dealt_out_again()
  local seen, shards, state = {}, {}, nil
  for rank = 0, 3 do
    shards[rank] = shard_of(rank, 4)
    add(seen, shards[rank]:iter_batches({batch_size = 3}):iter()().id)
    if rank == 0 then state = shards[rank]:state() end
  end
  for i, rank in ipairs {1, 3} do  -- ranks 0 and 2 are lost
    shards[rank]:set_place {world_size = 2, rank = i - 1}
    shards[rank]:load_state(state)
    for batch in shards[rank]:iter_batches {batch_size = 3} do add(seen, batch.id) end
  end
  lu.assertEquals(#seen, 50)
  lu.assertEquals(sorted_unique(seen), torch.arange(50):tolist())
end

os.exit(lu.LuaUnit.run(), true)
