-- The calls of a loop's watcher, for loops over a DataLoader and over a dataset.
local lu = require 'luaunit'
local torch = require 'torch'
local data = torch.utils.data
local loop_limit = require 'torch.utils.data.loop_limit'
local loop_watch = require 'torch.utils.data.loop_watch'
local rows = require 'rtrain.data'

-- Runs the loop; returns its progress as '1/3 2/3 3/3 over', and the last progress object.
local function watched(loop)
  local seen, last = {}, nil
  loop_watch.set(function(progress)
    seen[#seen + 1] = progress.is_over and 'over' or ('%d/%s'):format(progress.taken, progress.batches or '?')
    last = progress
  end)
  for _ in loop do end
  loop_watch.set(nil)
  return table.concat(seen, ' '), last
end

local function of_dataset(progress) return {progress.batch_size, progress.samples, progress.dataset_size} end

TestDataLoader = {}

function TestDataLoader.test_an_epoch()
  local loader = data.DataLoader(torch.arange(10), {batch_size = 4})
  for _ = 1, 2 do
    local seen, progress = watched(loader)
    lu.assertEquals({seen, of_dataset(progress)}, {'1/3 2/3 3/3 over', {4, 10, 10}})
  end
end

function TestDataLoader.test_the_rest_of_an_epoch()
  local loader = data.DataLoader(torch.arange(10), {batch_size = 4, shuffle = true})
  loader:iter()()
  local state = loader:state()
  loader = data.DataLoader(torch.arange(10), {batch_size = 4, shuffle = true})
  loader:load_state(state)
  lu.assertEquals(watched(loader), '2/3 3/3 over')
end

function TestDataLoader.test_the_part_of_a_rank()
  local sampler = data.DistributedSampler(torch.arange(10), {num_replicas = 2, rank = 1})
  local seen, progress = watched(data.DataLoader(torch.arange(10), {batch_size = 2, sampler = sampler}))
  lu.assertEquals({seen, of_dataset(progress)}, {'1/3 2/3 3/3 over', {2, 5, 10}})
end

function TestDataLoader.test_a_dataset_that_does_not_know_its_length()
  local Stream = data.IterableDataset:extend 'Stream'
  function Stream:iter()
    local i = 0
    return function()
      i = i + 1
      return i <= 3 and torch.tensor(i) or nil
    end
  end
  local seen, progress = watched(data.DataLoader(Stream(), {batch_size = 2}))
  lu.assertEquals({seen, progress.batch_size, progress.samples}, {'1/? 2/? over', 2, nil})
end

function TestDataLoader.test_within_a_limit()
  loop_limit.set(2)
  lu.assertEquals(watched(data.DataLoader(torch.arange(10))), '1/2 2/2 over')
  loop_limit.set(nil)
end

TestIterator = {}

function TestIterator.test_an_epoch()
  local iterator = rows.range(10):iterator()
  for _ = 1, 2 do
    local seen, progress = watched(iterator:iter_batches {batch_size = 4})
    lu.assertEquals({seen, progress.batch_size, progress.samples}, {'1/3 2/3 3/3 over', 4, 10})
  end
  lu.assertEquals(watched(iterator:iter_batches {batch_size = 4, drop_last = true}), '1/2 2/2 over')
end

function TestIterator.test_the_rest_of_an_epoch()
  local iterator = rows.range(10):iterator()
  iterator:iter_batches({batch_size = 4}):iter()()
  local state = iterator:state()
  iterator = rows.range(10):iterator()
  iterator:load_state(state)
  lu.assertEquals(watched(iterator:iter_batches {batch_size = 4}), '2/3 3/3 over')
end

function TestIterator.test_rows_that_nobody_has_counted()
  local few = rows.range(10):filter(function(row) return row.id < 5 end):iterator()
  lu.assertEquals(watched(few:iter_batches {batch_size = 4}), '1/? 2/? over')
end

os.exit(lu.LuaUnit.run(), true)
