local C = require 'torch._C'
local lu = require 'luaunit'
local torch = require 'torch'

local function loader_of(fetch, options)
  options = options or {}
  options.blob = (require('rtrain._closure').dump(fetch))
  return C.data.Loader(options)
end

local function double(indices)
  return torch.tensor(indices, {dtype = 'int64'}) * 2, #indices
end

TestLoader = {}

function TestLoader:test_batches_come_in_the_order_of_submission()
  local loader = loader_of(double, {num_workers = 3, prefetch_factor = 4})
  for i = 1, 12 do lu.assertTrue(loader:submit{i, i + 1}) end
  lu.assertFalse(loader:submit{13})
  lu.assertEquals(loader:in_flight(), 12)
  for i = 1, 12 do
    local batch, count = loader:next()
    lu.assertEquals(batch:tolist(), {2 * i, 2 * i + 2})
    lu.assertEquals(count, 2)
  end
  lu.assertEquals(loader:in_flight(), 0)
  lu.assertErrorMsgContains('no batch was asked for', loader.next, loader)
  loader:release()
end

function TestLoader:test_an_error_names_the_samples_and_the_loader_goes_on()
  local loader = loader_of(function(indices)
    if indices[1] == 7 then error('bad picture') end
    return indices[1]
  end)
  loader:submit{7, 8}
  loader:submit{9}
  local ok, err = pcall(loader.next, loader)
  lu.assertFalse(ok)
  lu.assertStrContains(tostring(err), 'samples 7, 8')
  lu.assertStrContains(tostring(err), 'bad picture')
  lu.assertEquals(loader:next(), 9)
end

function TestLoader:test_clear_forgets_what_was_asked_for()
  local loader = loader_of(double, {num_workers = 2})
  for i = 1, 4 do loader:submit{i} end
  loader:clear()
  lu.assertEquals(loader:in_flight(), 0)
  loader:submit{10}
  lu.assertEquals(loader:next():tolist(), {20})
end

function TestLoader:test_release_and_collection_stop_the_threads()
  local loader = loader_of(double, {num_workers = 2})
  loader:submit{1}
  loader:release()
  lu.assertErrorMsgContains('was released', loader.next, loader)
  for _ = 1, 3 do loader_of(double):submit{1} end
  collectgarbage()
  collectgarbage()
end

function TestLoader:test_a_function_that_does_not_load_fails_every_batch()
  local loader = C.data.Loader{blob = 'no closure'}
  loader:submit{1}
  lu.assertErrorMsgContains('DataLoader worker 0', loader.next, loader)
end

function TestLoader:test_unknown_options_have_a_hint()
  lu.assertErrorMsgContains("did you mean 'num_workers'?", C.data.Loader, {num_worker = 1})
  lu.assertErrorMsgContains('at least 1', C.data.Loader, {num_workers = 0})
end

TestDataLoader = {}

function TestDataLoader:test_threads_give_the_batches_of_the_training_thread()
  local data = require 'torch.utils.data'
  local set = data.TensorDataset(torch.arange(10), torch.arange(10) * 3)
  local function batches(num_workers)
    local out = {}
    for x, y in data.DataLoader(set, {batch_size = 4, num_workers = num_workers}) do
      out[#out + 1] = {x:tolist(), y:tolist()}
    end
    return out
  end
  lu.assertEquals(batches(2), batches(0))
end

function TestDataLoader:test_a_loop_may_be_left_early_and_begun_again()
  local data = require 'torch.utils.data'
  local loader = data.DataLoader(data.TensorDataset(torch.arange(20)), {batch_size = 2, num_workers = 2})
  for _ = 1, 3 do
    local seen = {}
    for x in loader do
      seen[#seen + 1] = x:tolist()
      if #seen == 2 then break end
    end
    lu.assertEquals(seen, {{0, 1}, {2, 3}})
  end
  local count = 0
  for _ in loader do count = count + 1 end
  lu.assertEquals(count, 10)
end

os.exit(lu.LuaUnit.run(), true)
