-- train.async_save: a thread writes the values of the moment of the call; wait() raises its errors.

local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'

TestAsyncSave = {}

function TestAsyncSave:test_values_are_those_of_the_call()
  train.tempdir(function(dir)
    local shared = torch.arange(6):reshape(2, 3)
    local state = {weight = shared, row = shared[1], step = 7, name = 'net'}
    local save = train.async_save(state, dir .. '/state.pt')
    shared:zero_()
    save:result()
    lu.assertTrue(save:done())
    local loaded = torch.load(dir .. '/state.pt')
    lu.assertEquals(loaded.weight:tolist(), {{0, 1, 2}, {3, 4, 5}})
    lu.assertEquals(loaded.step, 7)
    loaded.weight:zero_()
    lu.assertEquals(loaded.row:tolist(), {0, 0, 0}, 'tensors that share memory share it again')
  end)
end

function TestAsyncSave:test_saves_follow_each_other()
  train.tempdir(function(dir)
    local saves = {}
    for i = 1, 5 do saves[i] = train.async_save({value = torch.full({1000 * i}, i)}, ('%s/%d.pt'):format(dir, i)) end
    for i = 1, 5 do
      saves[i]:result()
      local value = torch.load(('%s/%d.pt'):format(dir, i)).value
      lu.assertEquals({value:numel(), value:min():item(), value:max():item()}, {1000 * i, i, i})
    end
  end)
end

function TestAsyncSave:test_file_is_not_written()
  local save = train.async_save({1}, '/no/such/folder/state.pt')
  local ok, err = pcall(save.result, save)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'environment')
  lu.assertStrContains(err.message, '/no/such/folder/state.pt')
end

function TestAsyncSave:test_value_that_is_no_data()
  local ok, err = pcall(train.async_save, {f = print}, '/tmp/x.pt')
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'argument')
  ok, err = pcall(train.async_save, torch.nn.Linear(1, 1), '/tmp/x.pt')
  lu.assertFalse(ok)
  lu.assertStrContains(err.message, 'state_dict()')
end

function TestAsyncSave:test_report_waits_for_the_files_of_its_checkpoint()
  local result = train.TorchTrainer({
    train_loop_per_worker = function()
      for epoch = 1, 3 do
        train.tempdir(function(dir)
          train.async_save({epoch = epoch, value = torch.full({1000000}, epoch)}, dir .. '/state.pt')
          train.report({epoch = epoch}, {checkpoint = train.Checkpoint.from_directory(dir)})
        end)
      end
    end,
  }):fit()
  local state = torch.load(result.checkpoint.path .. '/state.pt')
  lu.assertEquals({state.epoch, state.value:mean():item()}, {3, 3})
end

function TestAsyncSave:test_report_raises_what_went_wrong_with_a_file()
  local result = train.TorchTrainer({
    train_loop_per_worker = function()
      train.tempdir(function(dir)
        train.async_save({1}, dir .. '/none/state.pt')
        train.report({}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
    end,
  }):fit {raise = false}
  lu.assertEquals(result.error.code, 'environment')
  lu.assertStrContains(result.error.message, 'none/state.pt')
end

os.exit(lu.LuaUnit.run(), true)
