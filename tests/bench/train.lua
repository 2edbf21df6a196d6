-- The training program of the benchmarks, the twin of peers/common.py: same model, data, order of samples and marks.
local torch = require 'torch'
local nn = require 'torch.nn'
local F = require 'torch.nn.functional'
local optim = require 'torch.optim'
local data = require 'torch.utils.data'
local train = require 'rtrain'
local datasets = require 'vision.datasets'

local function load_data(folder)
  local set = datasets.FashionMNIST(folder, {train = true})
  local images = set.data:unsqueeze(1):to(torch.float32):div_(255):sub_(0.2860):div_(0.3530)
  return data.TensorDataset(images, set.targets:to(torch.int64))
end

local function convnet()
  return nn.Sequential(
    nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
    nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))
end

local function mlp()
  return nn.Sequential(
    nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
end

-- Adds up the time of each part of a step.
local function stopwatch(now)
  local watch = {parts = {load = 0, forward = 0, backward = 0, update = 0}}
  local last = now()
  function watch.restart() last = now() end
  function watch.lap(part)
    local time = now()
    watch.parts[part] = watch.parts[part] + time - last
    last = time
  end
  return watch
end

local function train_func(config)
  local clock = require 'events'
  local early = clock.early(config.events)
  early:mark('train_fn')
  torch.manual_seed(config.seed)
  local loader = data.DataLoader(load_data(config.data), {batch_size = config.batch, shuffle = true})
  loader = train.torch.prepare_data_loader(loader)
  early:mark('data')
  local core = config.model == 'convnet' and convnet() or mlp()
  local model = train.torch.prepare_model(core)
  local optimizer
  if config.model == 'convnet' then
    optimizer = optim.Adadelta(model:parameters(), {lr = 1.0})
  else
    optimizer = optim.SGD(model:parameters(), {lr = 0.01})
  end
  local state, loss = train.state {model = model, optimizer = optimizer, loader = loader, step = 0, epoch = 0}, nil
  -- Here the spare of train.elastic waits until it has a rank.
  local events = early:open(train.get_context():get_world_rank())
  local checkpoint = train.get_checkpoint()
  if checkpoint then
    local saved = checkpoint:with_directory(function(folder) return torch.load(folder .. '/state.pt') end)
    core:load_state_dict(saved.model)
    optimizer:load_state_dict(saved.optimizer)
    state.step, state.epoch = saved.step, saved.epoch
  end
  events:mark('model', state.step)

  local function report()
    local metrics = {loss = loss:item(), step = state.step}
    if train.get_context():get_world_rank() > 0 then
      train.report(metrics)
    else
      train.tempdir(function(folder)
        torch.save({model = core:state_dict(), optimizer = optimizer:state_dict(), step = state.step, epoch = state.epoch},
          folder .. '/state.pt')
        train.report(metrics, {checkpoint = train.Checkpoint.from_directory(folder)})
      end)
    end
    events:mark('reported', state.step)
  end

  local watch = stopwatch(clock.now)
  local function loop()
    local step = state.step
    while step < config.steps do
      loader.sampler:set_epoch(state.epoch)
      watch.restart()
      for images, labels in loader do
        watch.lap('load')
        optimizer:zero_grad()
        loss = F.cross_entropy(model(images), labels)
        watch.lap('forward')
        loss:backward()
        watch.lap('backward')
        optimizer:step()
        watch.lap('update')
        step = step + 1
        state.step = step
        events:mark('step', step)
        if step == config.warm then watch = stopwatch(clock.now) end
        if config.checkpoint_every > 0 and step % config.checkpoint_every == 0 then report() end
        if config.elastic then state:commit() end
        if step >= config.steps then break end
        watch.restart()
      end
      state.epoch = state.epoch + 1
    end
  end
  if config.elastic then train.elastic(state, loop) else loop() end
  for _, part in ipairs{'load', 'forward', 'backward', 'update'} do
    events:mark('part_' .. part, watch.parts[part] / math.max(1, state.step - config.warm))
  end
  events:mark('loss', loss:item())
  report()
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {
    model = 'convnet', steps = 1, warm = 0, batch = 64, seed = 0, checkpoint_every = 0, elastic = false, events = '.',
    data = '/usr/share/datasets/fashion-mnist'},
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{checkpoint_config = train.CheckpointConfig{num_to_keep = 2}},
}:fit()
