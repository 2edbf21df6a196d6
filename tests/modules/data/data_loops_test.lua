-- Loops over an iterator: epochs, whole blocks, tensors of batches, statistics.
local lu = require 'luaunit'
local torch = require 'torch'
local Block = require 'rtrain.data.blocks.block'
local DataIterator = require 'rtrain.data.loop.iterator'
local Feed = require 'row_feed'

TestLoops = {}

local function single(n, sizes) return DataIterator {feed = Feed {n = n, sizes = sizes or {4}}, name = 'train', seed = 1} end

function TestLoops.test_each_for_is_a_new_epoch()
  local iterator = single(10)
  local loop = iterator:iter_batches {batch_size = 4}
  for _ = 1, 2 do
    local sizes = {}
    for batch in loop do sizes[#sizes + 1] = #batch.id end
    lu.assertEquals(sizes, {4, 4, 2})
  end
  for _ in loop do break end -- luacheck: ignore 512
  lu.assertEquals(iterator._feed.open, 1)
  local first = loop:iter()
  lu.assertEquals(first().id:tolist(), {0, 1, 2, 3})
  local rows = 0
  for row in iterator:iter_rows() do rows = rows + row.id end
  lu.assertEquals(rows, 45)
  local ok, err = pcall(first)
  lu.assertFalse(ok)
  lu.assertStrContains(err.message, 'ended by a newer one')
  lu.assertEquals({iterator._feed.open, iterator._feed.streams}, {0, 5})
end

function TestLoops.test_an_abandoned_loop_is_closed()
  local iterator = single(10)
  local feed = iterator._feed
  for _ in iterator:iter_batches {batch_size = 4} do break end -- luacheck: ignore 512
  iterator:close()
  lu.assertEquals(feed.open, 0)
  for _ in iterator:iter_batches {batch_size = 4} do break end -- luacheck: ignore 512
  lu.assertEquals(feed.open, 1)
  iterator = nil -- luacheck: ignore
  for _ = 1, 3 do collectgarbage() end
  lu.assertEquals(feed.open, 0)
end

function TestLoops.test_whole_blocks()
  local sizes = {}
  for batch in single(10, {4, 0, 3}):iter_batches {batch_size = torch.none} do sizes[#sizes + 1] = #batch.id end
  lu.assertEquals(sizes, {4, 3, 3})
  sizes = {}
  for batch in single(600, {100}):iter_batches() do sizes[#sizes + 1] = #batch.id end
  lu.assertEquals(sizes, {256, 256, 88})
end

-- Returns an iterator over one block.
local function over(block)
  local feed = Feed {n = block:num_rows(), sizes = {1}}
  feed.stream = function()
    local once = block
    return {
      next = function()
        local out = once
        once = nil
        return out
      end,
      close = function() end,
    }
  end
  return DataIterator {feed = feed, name = 'train', seed = 1}
end

function TestLoops.test_torch_batches()
  local Strings, Objects = require 'torch.utils.data.strings', require 'rtrain.data.columns.objects'
  local x = torch.arange(6):view({3, 2})
  local block = Block({'x', 'word', 'same'}, {x, Strings.from_list({'a', nil, 'c'}, 3),
    Objects({torch.ones(2), torch.zeros(2), torch.ones(2)}, 3)})
  local iterator = over(block)
  for batch in iterator:iter_torch_batches {dtypes = {x = 'float32'}} do
    lu.assertEquals(batch.x.dtype, 'float32')
    lu.assertEquals(batch.word, {'a', torch.none, 'c'})
    lu.assertEquals(batch.same.shape, {3, 2})
  end
  for batch in iterator:iter_torch_batches() do batch.x:zero_() end
  lu.assertEquals(x:sum():item(), 15)
  local got = {}
  for sum, count in iterator:iter_torch_batches {collate_fn = function(batch) return batch.x:sum():item() end} do
    got = {sum, count}
  end
  lu.assertEquals(got, {15})
end

function TestLoops.test_refusals()
  local Objects = require 'rtrain.data.columns.objects'
  local iterator = over(Block({'tokens', 'x'}, {Objects({{1}, {1, 2}}, 2), torch.ones(2)}))
  local function message(f, ...)
    local ok, err = pcall(f, ...)
    lu.assertFalse(ok)
    return err.message
  end
  local function torch_batches(options)
    iterator:iter_torch_batches(options):iter()()
  end
  lu.assertStrContains(message(torch_batches), "column 'tokens' make no tensor")
  lu.assertStrContains(message(torch_batches, {dtypes = {xx = 'float32'}}),
    "a column 'xx' that is not there: did you mean 'x'?")
  lu.assertStrContains(message(torch_batches, {dtypes = 'float32', collate_fn = print}), 'collate_fn excludes dtypes')
  lu.assertStrContains(message(torch_batches, {batchsize = 1}), "did you mean 'batch_size'?")
  lu.assertStrContains(message(torch_batches, {batch_size = 0}), 'batch_size is an integer from 1 on, got 0')
  lu.assertStrContains(message(torch_batches, {batch_size = 'none', local_shuffle_buffer_size = 4}), 'needs a batch_size')
  lu.assertStrContains(message(torch_batches, {local_shuffle_seed = 4}), 'without local_shuffle_buffer_size')
  lu.assertStrContains(message(iterator.iter_batches, iterator, {batch_format = 'pandas'}), 'a table of tensors')
  lu.assertStrContains(message(iterator.iter_batches, iterator, {batch_format = 'nump'}), "did you mean 'numpy'?")
  if not torch.cuda.is_available() then
    lu.assertStrContains(message(torch_batches, {pin_memory = true}), 'no GPU')
  end
end

function TestLoops.test_materialize_count_and_schema()
  local data = require 'rtrain.data'
  local shuffled = data.range(20):random_shuffle():iterator()
  local kept = shuffled:materialize()
  lu.assertEquals({shuffled:count(), kept:count()}, {20, 20})
  lu.assertEquals(kept:take_all(), kept:take_all())
  lu.assertNotEquals(kept:take_all(), shuffled:materialize():take_all())
  lu.assertEquals(shuffled:schema().names, {'id'})
  lu.assertNil(data.range(4):filter(function() return true end):iterator():count())
end

function TestLoops.test_stats_tell_where_the_time_went()
  local iterator = single(100)
  for _ in iterator:iter_batches {batch_size = 10} do
    local until_s = os.clock() + 0.002
    while os.clock() < until_s do end
  end
  local stats = iterator:stats()
  lu.assertEquals({stats.loops, stats.batches, stats.rows}, {1, 10, 100})
  lu.assertTrue(stats.body_s > 0 and stats.wait_s > 0 and stats.stall_percent > 0 and stats.stall_percent < 100)
  lu.assertStrContains(tostring(stats), '1 loops, 10 batches, 100 rows; data stall ')
end

os.exit(lu.LuaUnit.run(), true)
