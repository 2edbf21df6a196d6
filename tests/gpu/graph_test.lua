-- train.graph on a GPU: replays equal eager steps, with each optimizer that can be captured, under autocast, with a
-- GradScaler, with schedulers and random numbers.
local lu = require 'luaunit'
local torch = require 'torch'
local train = require 'rtrain'
local F, nn, optim = torch.nn.functional, torch.nn, torch.optim

torch.backends.cudnn.deterministic = true

local STEPS = 12

-- A bias in front of a BatchNorm2d would get only rounding errors as gradients, which Adagrad would scale up to full
-- steps.
local function convnet()
  return nn.Sequential(nn.Conv2d(1, 8, 3, {bias = false}), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 10))
end

local function vit()
  return require('vision.models').VisionTransformer{image_size = 32, patch_size = 8, num_layers = 2, num_heads = 4,
                                                    hidden_dim = 64, mlp_dim = 128, num_classes = 10}
end

-- Returns the batches of all trainings, on the GPU.
local function batches(channels, size)
  torch.manual_seed(5)
  local list = {}
  for i = 1, STEPS do
    list[i] = {torch.randn(32, channels, size, size):to 'cuda', torch.randint(0, 10, {32}):to 'cuda'}
  end
  return list
end

-- Returns the losses and parameters of a training from these parts. `is_graph` captures its step.
local function train_with(is_graph, parts, data)
  torch.manual_seed(1)
  local model = parts.model():to 'cuda'
  local optimizer = parts.optimizer(model:parameters())
  local schedule = parts.schedule and parts.schedule(optimizer)
  local function step(x, y)
    optimizer:zero_grad()
    local loss = parts.loss and parts.loss(model, x, y) or F.cross_entropy(model(x), y)
    if parts.backward then parts.backward(loss, optimizer) else
      loss:backward()
      optimizer:step()
    end
    return loss
  end
  if is_graph then step = train.graph(step) end
  local losses = {}
  for i, batch in ipairs(data) do
    losses[i] = step(batch[1], batch[2]):item()
    if schedule then schedule:step() end
  end
  if is_graph then lu.assertEquals(step.reason or step.state, 'captured') end
  return losses, model
end

local function assert_same_training(parts, data, tolerance)
  local losses, model = train_with(false, parts, data)
  local graphed, other = train_with(true, parts, data)
  for i, loss in ipairs(losses) do lu.assertAlmostEquals(graphed[i], loss, tolerance) end
  local params = other:parameters()
  for i, param in ipairs(model:parameters()) do
    lu.assertTrue(torch.allclose(param, params[i], {rtol = tolerance, atol = tolerance}), 'parameter ' .. i)
  end
  lu.assertTrue(losses[#losses] == losses[#losses])
end

TestTraining = {}

function TestTraining:test_convnet_bitwise_with_capturable()
  local parts = {model = convnet, optimizer = function(p) return optim.Adadelta(p, {lr = 1, capturable = true}) end}
  local data = batches(1, 28)
  local losses, model = train_with(false, parts, data)
  local graphed, other = train_with(true, parts, data)
  lu.assertEquals(graphed, losses)
  local params = other:parameters()
  for i, param in ipairs(model:parameters()) do lu.assertTrue(torch.equal(param, params[i]), 'parameter ' .. i) end
end

function TestTraining:test_each_optimizer_that_can_be_captured()
  local data = batches(1, 28)
  for name, options in pairs{SGD = {lr = 0.01, momentum = 0.9}, Adam = {lr = 1e-3}, AdamW = {lr = 1e-3, amsgrad = true},
                             Adagrad = {lr = 0.01}, Adadelta = {lr = 0.5}, Adamax = {lr = 1e-3}, RMSprop = {lr = 1e-4},
                             Rprop = {lr = 1e-4}} do
    local parts = {model = convnet, optimizer = function(p) return optim[name](p, options) end}
    local ok, err = pcall(assert_same_training, parts, data, 2e-3)
    lu.assertTrue(ok, name .. ': ' .. tostring(err))
  end
end

function TestTraining:test_vision_transformer_with_a_schedule()
  assert_same_training({model = vit, optimizer = function(p) return optim.AdamW(p, {lr = 1e-3}) end,
    schedule = function(optimizer) return optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS) end}, batches(3, 32), 2e-3)
end

function TestTraining:test_autocast_to_bfloat16()
  assert_same_training({model = vit, optimizer = function(p) return optim.AdamW(p, {lr = 1e-3}) end,
    loss = function(model, x, y)
      return torch.autocast('cuda', {dtype = 'bfloat16'}, function() return F.cross_entropy(model(x), y) end)
    end}, batches(3, 32), 3e-2)
end

function TestTraining:test_float16_with_a_grad_scaler()
  for _, clips in ipairs{false, true} do
    local function parts()
      local scaler = torch.amp.GradScaler('cuda', {init_scale = 1024})
      return {model = convnet, optimizer = function(p) return optim.SGD(p, {lr = 0.01, momentum = 0.9, fused = true}) end,
        loss = function(model, x, y)
          return torch.autocast('cuda', {dtype = 'float16'}, function() return F.cross_entropy(model(x), y) end)
        end,
        backward = function(loss, optimizer)
          scaler:scale(loss):backward()
          if clips then
            scaler:unscale_(optimizer)
            nn.utils.clip_grad_norm_(optimizer.param_groups[1].params, 1)
          end
          scaler:step(optimizer)
          scaler:update()
        end}
    end
    local data = batches(1, 28)
    local losses = train_with(false, parts(), data)
    local graphed = train_with(true, parts(), data)
    for i, loss in ipairs(losses) do lu.assertAlmostEquals(graphed[i], loss, 2e-2) end
  end
end

function TestTraining:test_an_infinite_gradient_leaves_the_step_out()
  local weight = torch.ones({4}, {device = 'cuda', requires_grad = true})
  local optimizer, scaler = optim.Adam({weight}, {lr = 0.1}), torch.amp.GradScaler('cuda', {init_scale = 4})
  local step = train.graph(function(x)
    optimizer:zero_grad()
    scaler:scale((weight * x):sum()):backward()
    scaler:step(optimizer)
    scaler:update()
  end)
  local ones = torch.ones({4}, {device = 'cuda'})
  for _ = 1, 4 do step(ones) end
  lu.assertEquals(step.state, 'captured')
  local before, scale = weight:clone(), scaler:get_scale()
  step(ones * math.huge)
  lu.assertTrue(torch.equal(weight, before))
  lu.assertEquals(scaler:get_scale(), scale / 2)
  step(ones)
  lu.assertFalse(torch.equal(weight, before))
end

function TestTraining:test_ddp_of_one_rank_over_nccl()
  local dist = torch.distributed
  dist.init_process_group{rank = 0, world_size = 1}
  lu.assertEquals(dist.get_backend(), 'nccl')
  local parts = {model = function() return require 'torch.nn.parallel.distributed'(convnet():to 'cuda') end,
                 optimizer = function(p) return optim.SGD(p, {lr = 0.01, momentum = 0.9}) end}
  local ok, err = pcall(assert_same_training, parts, batches(1, 28), 2e-3)
  dist.destroy_process_group()
  lu.assertTrue(ok, tostring(err))
end

TestGraph = {}

function TestGraph:test_random_numbers_are_new_in_each_replay_and_follow_the_seed()
  local step = train.graph(function(x) return F.dropout(x, 0.5) end)
  local ones = torch.ones({1000}, {device = 'cuda'})
  for _ = 1, 4 do step(ones) end
  lu.assertEquals(step.state, 'captured')
  torch.manual_seed(3)
  local first = step(ones):clone()
  local second = step(ones):clone()
  lu.assertFalse(torch.equal(first, second))
  torch.manual_seed(3)
  lu.assertTrue(torch.equal(step(ones), first))
end

function TestGraph:test_a_step_that_reads_on_the_host_falls_back_and_goes_on()
  local step = train.graph(function(x) return x * 2, x:sum():item() end, {warmup = 1})
  local x = torch.ones({3}, {device = 'cuda'})
  for _ = 1, 3 do
    local doubled, sum = step(x)
    lu.assertEquals({doubled:tolist(), sum}, {{2, 2, 2}, 3})
  end
  lu.assertEquals(step.state, 'eager')
  lu.assertStrContains(step.reason, 'captur')
  -- The device and its random generator are in the state before the capture.
  lu.assertEquals(torch.rand({5}, {device = 'cuda'}):lt(1):all():item(), true)
  local graph, y = torch.cuda.CUDAGraph(), nil
  torch.cuda.graph(graph, function() y = x + 1 end)
  graph:replay()
  lu.assertEquals(y:tolist(), {2, 2, 2})
end

function TestGraph:test_augmentation_inside()
  local augmentation = require 'vision.augmentation'
  local augment = augmentation.Compose{augmentation.RandomCrop(32, {padding = 4, padding_mode = 'reflect'}),
    augmentation.RandomHorizontalFlip(), augmentation.Normalize({0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}),
    augmentation.RandomCutout(8)}
  local step = train.graph(function(x) return augment(x) end)
  local images = torch.randint(0, 256, {16, 3, 32, 32}, {dtype = 'uint8', device = 'cuda'})
  for _ = 1, 4 do step(images) end
  lu.assertEquals(step.reason or step.state, 'captured')
  local first = step(images):clone()
  lu.assertFalse(torch.equal(step(images), first))
  lu.assertTrue(first:isfinite():all():item())
end

function TestGraph:test_many_replays_need_no_more_memory()
  local model = convnet():to 'cuda'
  local optimizer = optim.SGD(model:parameters(), {lr = 0.01})
  local step = train.graph(function(x, y)
    optimizer:zero_grad()
    local loss = F.cross_entropy(model(x), y)
    loss:backward()
    optimizer:step()
    return loss
  end)
  local x, y = torch.randn(64, 1, 28, 28):to 'cuda', torch.randint(0, 10, {64}):to 'cuda'
  for _ = 1, 10 do step(x, y) end
  torch.cuda.synchronize()
  local before = torch.cuda.memory_allocated()
  for _ = 1, 300 do step(x, y) end
  torch.cuda.synchronize()
  lu.assertTrue(torch.cuda.memory_allocated() <= before + 2 ^ 20)
end

os.exit(lu.LuaUnit.run(), true)
