-- Prefetching batches to the simulated devices of tests/fake_nvidia: pinned memory, a separate stream, waits of the
-- loop's stream.
local lu = require 'luaunit'
local torch = require 'torch'
local data = torch.utils.data
local prepare = require 'rtrain.torch.prepare_loader'

local ALONE = {world_size = 1, world_rank = 0}

local Mixed = data.Dataset:extend('Mixed')
function Mixed:len() return 7 end
function Mixed:get(i) return torch.full({3}, i), {label = i, deep = {torch.full({1}, -i), 'text'}}, 'name' .. i end

local function collate(samples)
  local x, labels, deep, names = {}, {}, {}, {}
  for k, sample in ipairs(samples) do
    x[k], labels[k], deep[k], names[k] = sample[1], sample[2].label, sample[2].deep[1], sample[3]
  end
  return torch.stack(x), {label = torch.tensor(labels), deep = {torch.cat(deep), 'text'}}, names
end

local function first_column(x) return x:cpu():select(1, 0):tolist() end

TestPrefetch = {}

-- behaviour: `prepare_data_loader`
function TestPrefetch:test_items_arrive_intact_on_the_gpu()
  for _, options in ipairs{{num_workers = 0}, {num_workers = 2}, {num_workers = 2, pin_memory = true}, {pin_memory = true}} do
    for _, auto_transfer in ipairs{true, false} do
      options.batch_size, options.collate_fn = 3, collate
      local loader = prepare(data.DataLoader(Mixed(), options), ALONE, 'cuda:1', {auto_transfer = auto_transfer})
      local seen = {}
      for x, fields, names in loader do
        lu.assertEquals({x.device, fields.label.device, fields.deep[1].device}, {'cuda:1', 'cuda:1', 'cuda:1'})
        lu.assertEquals(fields.deep[2], 'text')
        lu.assertEquals(first_column(x), fields.label:cpu():tolist())
        for k, i in ipairs(first_column(x)) do
          seen[#seen + 1] = i
          lu.assertEquals({fields.deep[1]:cpu()[k - 1]:item(), names[k]}, {-i, 'name' .. i})
        end
      end
      lu.assertEquals(seen, {0, 1, 2, 3, 4, 5, 6})
    end
  end
end

function TestPrefetch:test_the_next_batch_is_fetched_before_the_loop_uses_this_one()
  local fetched = 0
  local Counting = data.Dataset:extend('Counting')
  function Counting:len() return 8 end
  function Counting:get_batch(indices)
    fetched = fetched + 1
    return indices
  end
  for auto_transfer, expected in pairs{[true] = {2, 3, 4, 4}, [false] = {1, 2, 3, 4}} do
    fetched = 0
    local counts = {}
    local loader = data.DataLoader(Counting(), {batch_size = 2})
    for _ in prepare(loader, ALONE, 'cuda', {auto_transfer = auto_transfer}) do counts[#counts + 1] = fetched end
    lu.assertEquals(counts, expected)
  end
end

function TestPrefetch:test_copies_have_a_stream_of_their_own_and_read_pinned_memory()
  local Transfer = require 'rtrain.torch.transfer'
  local transfer, current = Transfer('cuda:0', true), torch.cuda.current_stream()
  local batch = transfer:begin(torch.ones(4), 'text', nil, {torch.zeros(2)})
  lu.assertEquals({batch.n, #batch.own, batch[2], batch[3]}, {4, 2, 'text', nil})
  lu.assertTrue(torch.cuda.current_stream() == current)
  lu.assertFalse(transfer._stream == current)
  transfer:finish(batch)
  lu.assertEquals({batch[1]:cpu():tolist(), batch[4][1]:cpu():tolist()}, {{1, 1, 1, 1}, {0, 0}})
  -- The memory that a copy reads must not be reused before the copy is done.
  for i = 1, 50 do
    local values = {}
    for k = 1, 20 do values[k] = transfer:begin(torch.full({5000}, i * k)) end
    for k = 1, 20 do
      transfer:finish(values[k])
      lu.assertEquals(values[k][1]:cpu():eq(i * k):all():item(), true)
    end
  end
end

function TestPrefetch:test_tensors_that_are_there_stay_themselves()
  local x = torch.ones(4):to('cuda:0')
  local batch = require 'rtrain.torch.transfer'('cuda:0', true):begin(x)
  lu.assertEquals({batch[1]:data_ptr(), #batch.own}, {x:data_ptr(), 0})
end

function TestPrefetch:test_a_dataset_on_the_gpu_gives_batches_without_the_host()
  local set = data.TensorDataset(torch.arange(10):to('cuda'), torch.arange(10):to('cuda'))
  lu.assertEquals(set.batch_device, 'cuda:0')
  local sizes = {}
  for x, y in prepare(data.DataLoader(set, {batch_size = 4, shuffle = true}), ALONE, 'cuda:0', {}) do
    lu.assertEquals({x.device, y.device}, {'cuda:0', 'cuda:0'})
    sizes[#sizes + 1] = x:size(0)
  end
  lu.assertEquals(sizes, {4, 4, 2})
end

function TestPrefetch:test_pin_memory()
  for _, workers in ipairs{0, 2} do
    for x in data.DataLoader(data.TensorDataset(torch.arange(4)), {batch_size = 2, num_workers = workers, pin_memory = true}) do
      lu.assertTrue(x:is_pinned())
    end
  end
end

os.exit(lu.LuaUnit.run(), true)
