-- The network of fashion_mnist.lua without a training loop of one's own: rtrain run examples/fit_loop.lua
--
-- train.loop splits the data over the workers, trains, validates, stops when the validation gets no better, and keeps a
-- checkpoint of each epoch. Killed anywhere, the run goes on from the latest one: add --max-failures 1, or run it again with
-- --name and --resume auto. Three epochs take about 3 minutes on 2 cores and end above 0.90 test accuracy.
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'
local datasets, transforms = require 'vision.datasets', require 'vision.transforms'
local nn, F = torch.nn, torch.nn.functional

local function make_model()
  return nn.Sequential(
    nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
    nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))
end

local function make_loader(is_train, batch_size)
  local transform = transforms.Compose {transforms.ToTensor(), transforms.Normalize({0.2860}, {0.3530})}
  local set = datasets.FashionMNIST {train = is_train, transform = transform}
  return data.DataLoader(set, {batch_size = batch_size, shuffle = is_train, generator = torch.Generator(0)})
end

local function train_func(config)
  torch.manual_seed(config.seed + train.get_context():get_world_rank())  -- dropout differs, the model begins as rank 0's
  train.loop {
    model = make_model(),
    optimizer = function(model) return torch.optim.Adadelta(model:parameters(), {lr = config.lr}) end,
    lr_scheduler = function(optimizer)
      return torch.optim.lr_scheduler.StepLR(optimizer, {step_size = 1, gamma = config.gamma})
    end,
    train_dataloader = make_loader(true, config.batch_size),
    val_dataloader = make_loader(false, 500),
    training_step = function(model, batch) return F.cross_entropy(model(batch[1]), batch[2]) end,
    validation_step = function(model, batch)
      local output = model(batch[1])
      return {val_loss = F.cross_entropy(output, batch[2]), accuracy = output:argmax(1):eq(batch[2]):float():mean()}
    end,
    max_epochs = config.epochs,
    callbacks = {
      train.loop.EarlyStopping {monitor = 'val_loss', patience = 2},
      train.loop.LearningRateMonitor(),
      train.loop.ProgressBar {refresh_rate = 100},
    },
  }
end

local result = train.TorchTrainer({
  train_loop_per_worker = train_func,
  train_loop_config = {lr = 1.0, gamma = 0.7, batch_size = 64, epochs = 3, seed = 0},
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {
    checkpoint_config = train.CheckpointConfig {
      num_to_keep = 2, checkpoint_score_attribute = 'accuracy', checkpoint_score_order = 'max'},
  },
}):fit()
print(('test accuracy %.4f'):format(result.metrics.accuracy))
