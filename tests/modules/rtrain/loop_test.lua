-- train.loop: gives the same numbers as a hand-written loop; callbacks, checkpoints, and exact resumption.

local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'

-- Makes the model and data that the train functions share; it is sent to the workers with them.
local function make_parts(config)
  torch.manual_seed(1)
  local nn, data = torch.nn, torch.utils.data
  local x = torch.randn(64, 4)
  local y = x:matmul(torch.tensor {{1}, {-2}, {3}, {0.5}}) + 0.1
  local net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(config.dropout or 0), nn.Linear(16, 1))
  local set = data.TensorDataset(x, y)
  return {
    net = net,
    train_loader = data.DataLoader(set, {batch_size = config.batch_size or 8, shuffle = config.shuffle or false,
                                         generator = torch.Generator(3)}),
    val_loader = data.DataLoader(set, {batch_size = 16}),
    optimizer = torch.optim.Adam(net:parameters(), {lr = 0.05}),
  }
end

local function training_step(model, batch)
  return torch.nn.functional.mse_loss(model(batch[1]), batch[2])
end

local function weights(net)
  local out = {}
  for name, value in net:named_parameters() do out[#out + 1] = name .. table.concat(value:flatten():tolist(), ' ') end
  return table.concat(out, '\n')
end

-- Runs the function in the workers; returns rank 0's return value and the Result.
local function in_run(config, fn, options)
  options = options or {}
  local result = train.TorchTrainer({
    train_loop_per_worker = fn,
    train_loop_config = config,
    scaling_config = train.ScalingConfig {num_workers = options.num_workers or 1},
    run_config = train.RunConfig {
      failure_config = train.FailureConfig {max_failures = options.max_failures or 0},
      checkpoint_config = train.CheckpointConfig {num_to_keep = 2},
    },
  }):fit {raise = not options.is_failure}
  return result.return_value, result
end

local function fit(config, extra)
  local parts = make_parts(config)
  local given = {
    model = parts.net, optimizer = parts.optimizer, training_step = training_step, train_dataloader = parts.train_loader,
    max_epochs = config.max_epochs or 2,
  }
  for name, value in next, extra or {} do given[name] = value end
  return train.loop(given), parts
end

local function by_hand(config)
  local parts = make_parts(config)
  local model = train.torch.prepare_model(parts.net)
  local loader = train.torch.prepare_data_loader(parts.train_loader)
  for epoch = 0, (config.max_epochs or 2) - 1 do
    if loader.sampler.set_epoch then loader.sampler:set_epoch(epoch) end
    for x, y in loader do
      parts.optimizer:zero_grad()
      training_step(model, {x, y}):backward()
      if config.clip then torch.nn.utils.clip_grad_norm_(model:parameters(), config.clip) end
      parts.optimizer:step()
    end
  end
  return weights(parts.net)
end

TestLoop = {}

function TestLoop:test_computes_what_a_loop_by_hand_does()
  for _, num_workers in ipairs {1, 2} do
    local config = {shuffle = true, clip = 0.5}
    local own = in_run(config, function(c)
      local done, parts = fit(c, {gradient_clip_val = c.clip, enable_checkpointing = false})
      return {weights = weights(parts.net), epochs = done.epochs, steps = done.steps, reason = done.reason}
    end, {num_workers = num_workers})
    local other = in_run(config, function(c) return by_hand(c) end, {num_workers = num_workers})
    lu.assertEquals(own.weights, other)
    lu.assertEquals({own.epochs, own.steps, own.reason}, {2, 16 / num_workers, 'max_epochs'})
  end
end

function TestLoop:test_accumulated_batches_are_one_large_batch()
  for _, num_workers in ipairs {1, 2} do
    local distance = in_run({}, function()
      local _, small = fit({batch_size = 4, max_epochs = 1}, {accumulate_grad_batches = 2, enable_checkpointing = false})
      local _, large = fit({batch_size = 8, max_epochs = 1}, {enable_checkpointing = false})
      return (small.net[1].weight - large.net[1].weight):abs():max():item()
    end, {num_workers = num_workers})
    lu.assertTrue(distance < 1e-5, tostring(distance))
  end
end

function TestLoop:test_validation_metrics_are_means_over_all_ranks()
  local _, result = in_run({max_epochs = 2}, function(config)
    local rank = train.get_context():get_world_rank()
    fit(config, {
      val_dataloader = make_parts(config).val_loader,
      validation_step = function(_, batch) return {ranks = rank, size = batch[1]:size(0)} end,
      callbacks = {train.loop.LearningRateMonitor()},
    })
  end, {num_workers = 2})
  lu.assertEquals(result.metrics.ranks, 0.5)
  lu.assertEquals(result.metrics.size, 16)
  lu.assertEquals({result.metrics.epoch, result.metrics.step, result.metrics['lr-Adam']}, {1, 8, 0.05})
  lu.assertEquals(#result.metrics_dataframe, 2)
  lu.assertNotNil(result.checkpoint)
end

-- A rank with a smaller part makes as many validation steps as the others: the ranks may wait for each other.
function TestLoop:test_validation_counts_each_sample_once()
  local function train_func(config)
    local data, means = torch.utils.data, {}
    for i, case in ipairs(config.cases) do
      local values = torch.arange(case.count):double():mul(3):pow(2)
      local loader = data.DataLoader(data.TensorDataset(values), {batch_size = case.batch_size, shuffle = case.shuffle,
                                                                 num_workers = case.num_workers})
      if case.is_prepared then loader = train.torch.prepare_data_loader(loader) end
      if case.is_batched then
        local batches = data.BatchSampler(data.SequentialSampler(loader.dataset), case.batch_size, false)
        loader = data.DataLoader(loader.dataset, {batch_sampler = batches})
      end
      local done = fit({max_epochs = 1}, {
        val_dataloader = loader, enable_checkpointing = false, limit_val_batches = case.limit,
        validation_step = function(_, batch)
          torch.distributed.all_reduce(torch.ones(1))
          return batch:mean()
        end,
      })
      means[i] = {done.metrics.val_loss, values:mean():item()}
    end
    return means
  end
  local cases = {}
  for _, count in ipairs {1, 3, 4, 7} do
    for _, batch_size in ipairs {1, 2, 4} do cases[#cases + 1] = {count = count, batch_size = batch_size} end
  end
  for _, name in ipairs {'shuffle', 'is_prepared', 'is_batched'} do
    cases[#cases + 1] = {count = 5, batch_size = 2, [name] = true}
  end
  cases[#cases + 1] = {count = 5, batch_size = 2, num_workers = 1}
  cases[#cases + 1] = {count = 5, batch_size = 1, limit = 3}
  for i, means in ipairs(in_run({cases = cases}, train_func, {num_workers = 2})) do
    lu.assertAlmostEquals(means[1], means[2], 1e-12 * means[2], 'case ' .. i)
  end
end

function TestLoop:test_early_stopping_ends_all_ranks_together()
  local done, result = in_run({max_epochs = 50}, function(config)
    local worse = 0
    return fit(config, {
      val_dataloader = make_parts(config).val_loader,
      validation_step = function()
        worse = worse + 1
        return {val_loss = worse}
      end,
      callbacks = {train.loop.EarlyStopping {monitor = 'val_loss', patience = 2}},
    })
  end, {num_workers = 2})
  lu.assertEquals({done.epochs, #result.metrics_dataframe}, {3, 3})
  lu.assertStrContains(done.reason, 'val_loss')
end

function TestLoop:test_goes_on_in_the_middle_of_an_epoch_bit_by_bit()
  local function job(config)
    local Killer, is_resumed = train.loop.Callback:extend 'Killer', train.get_checkpoint() ~= nil
    function Killer:on_train_batch_end(loop)
      if loop.global_step == config.kill_at and not is_resumed then error('lost') end
    end
    local parts = make_parts(config)
    local done = train.loop {
      model = parts.net, optimizer = parts.optimizer, training_step = training_step, train_dataloader = parts.train_loader,
      lr_scheduler = function(optimizer) return torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9) end,
      max_epochs = 3,
      callbacks = {Killer(), train.loop.ModelCheckpoint {every_n_train_steps = 3},
                   train.loop.EarlyStopping {monitor = 'loss', patience = 100}},
    }
    return {weights = weights(parts.net), loss = done.metrics.loss, is_resumed = is_resumed}
  end
  for _, num_workers in ipairs {1, 2} do
    local config = {shuffle = true, dropout = 0.5}
    local whole = in_run(config, job, {num_workers = num_workers})
    config.kill_at = 5
    local resumed, result = in_run(config, job, {num_workers = num_workers, max_failures = 1})
    lu.assertTrue(resumed.is_resumed)
    lu.assertEquals({resumed.weights, resumed.loss}, {whole.weights, whole.loss})
    lu.assertEquals(result.metrics.epoch, 2)
  end
end

function TestLoop:test_goes_on_in_the_middle_of_a_dataset()
  local function job(config)
    local rows = require('rtrain.data').range(40):random_shuffle {seed = 1}
    local net, seen, is_resumed = torch.nn.Linear(1, 1), {}, train.get_checkpoint() ~= nil
    torch.nn.init.zeros_(net.weight)
    train.loop {
      model = net, optimizer = torch.optim.SGD(net:parameters(), {lr = 1e-4}), max_epochs = 2,
      train_dataloader = rows:iterator():iter_torch_batches {batch_size = 8},
      training_step = function(model, batch)
        seen[#seen + 1] = table.concat(batch.id:tolist(), ' ')
        if config.kill_at == #seen and not is_resumed then error('lost') end
        return model(batch.id:float():unsqueeze(1)):mean() - 1
      end,
      callbacks = {train.loop.ModelCheckpoint {every_n_train_steps = 1}},
    }
    return seen
  end
  local whole = in_run({}, job)
  local resumed = in_run({kill_at = 8}, job, {max_failures = 1})
  lu.assertEquals(#whole, 10)
  lu.assertEquals(resumed, {whole[8], whole[9], whole[10]})
end

function TestLoop:test_best_epochs_alone_carry_a_checkpoint()
  local _, result = in_run({max_epochs = 4}, function(config)
    local losses, at = {3, 2, 5, 4}, 0
    fit(config, {
      val_dataloader = make_parts(config).val_loader,
      limit_val_batches = 1,
      validation_step = function()
        at = at + 1
        return {val_loss = losses[at]}
      end,
      callbacks = {train.loop.ModelCheckpoint {monitor = 'val_loss', save_last = false}},
    })
  end)
  lu.assertEquals(result.checkpoint.path:match '[^/]*$', 'checkpoint_000001')
  lu.assertEquals(#result.best_checkpoints, 2)
end

function TestLoop:test_steps_bound_the_loop()
  local done = in_run({max_epochs = 10}, function(config) return fit(config, {max_steps = 5, limit_train_batches = 3}) end)
  lu.assertEquals({done.steps, done.reason}, {5, 'max_steps'})
end

function TestLoop:test_mixed_precision_learns()
  for _, precision in ipairs {'bf16-mixed', '16-mixed'} do
    local done = in_run({max_epochs = 6}, function(config)
      return fit(config, {precision = precision, enable_checkpointing = false})
    end)
    lu.assertTrue(done.metrics.loss < 3, precision .. ' ' .. tostring(done.metrics.loss))
  end
end

function TestLoop:test_plateau_lowers_the_rate()
  local rate = in_run({max_epochs = 4}, function(config)
    local _, parts = fit(config, {
      lr_scheduler = function(optimizer)
        return torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, {patience = 0, factor = 0.5})
      end,
      lr_scheduler_monitor = 'epoch',  -- which never decreases
      enable_checkpointing = false,
    })
    return parts.optimizer.param_groups[1].lr
  end)
  lu.assertEquals(rate, 0.05 / 8)
end

function TestLoop:test_hooks_come_in_order()
  local calls = in_run({max_epochs = 1}, function(config)
    local seen, Recorder = {}, train.loop.Callback:extend 'Recorder'
    for _, hook in ipairs(train.loop.Callback._hooks) do
      Recorder[hook] = function() if seen[#seen] ~= hook then seen[#seen + 1] = hook end end
    end
    fit(config, {max_steps = 1, val_dataloader = make_parts(config).val_loader, enable_checkpointing = false,
                 validation_step = function() return {v = 1} end, callbacks = {Recorder()}})
    return seen
  end)
  lu.assertEquals(calls, {'on_fit_start', 'on_train_epoch_start', 'on_train_batch_start', 'on_before_optimizer_step',
                          'on_train_batch_end', 'on_validation_start', 'on_validation_end', 'on_train_epoch_end',
                          'on_fit_end'})
end

local function failure_of(extra)
  local _, result = in_run({max_epochs = 1}, function(config) return fit(config, extra) end, {is_failure = true})
  return result.error
end

function TestLoop:test_wrong_use_is_refused()
  local cases = {
    {{max_epoch = 3}, 'config', "did you mean 'max_epochs'"},
    {{precision = '8-mixed'}, 'config', 'bf16-mixed'},
    {{validation_step = function() end}, 'config', 'belong together'},
    {{callbacks = {{}}}, 'config', 'number 1 is not a train.loop.Callback'},
    {{training_step = function() return 1 end}, 'argument', 'training_step returns the loss'},
    {{callbacks = {train.loop.EarlyStopping {monitor = 'los'}}}, 'argument', "did you mean 'loss'"},
  }
  for i, case in ipairs(cases) do
    local err = failure_of(case[1])
    lu.assertStrContains(err.message, case[3], false, 'case ' .. i)
    lu.assertEquals(err.code, case[2], 'case ' .. i)
  end
end

function TestLoop:test_outside_of_a_worker_is_refused()
  local ok, err = pcall(train.loop, {})
  lu.assertFalse(ok)
  lu.assertStrContains(err.message, 'train.loop works in the train function only')
end

os.exit(lu.LuaUnit.run(), true)
