-- A convolutional network on coloured images, with augmentation and early stopping: train.loop does the epochs.
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'
local datasets, transforms = require 'vision.datasets', require 'vision.transforms'
local nn, F = torch.nn, torch.nn.functional

local function block(channels_in, channels_out)
  return nn.Sequential(
    nn.Conv2d(channels_in, channels_out, 3, {padding = 1, bias = false}), nn.BatchNorm2d(channels_out), nn.ReLU(),
    nn.MaxPool2d(2))
end

local function make_model(config)
  local width = config.width
  return nn.Sequential(
    block(3, width), block(width, 2 * width), block(2 * width, 4 * width), nn.Flatten(), nn.Linear(4 * width * 4 * 4, 10))
end

local to_tensor, normalize = transforms.ToTensor(), transforms.Normalize({0.49, 0.48, 0.45}, {0.25, 0.24, 0.26})
local augment = transforms.Compose {
  transforms.RandomCrop(32, {padding = 4}), transforms.RandomHorizontalFlip(), to_tensor, normalize,
}
-- What the network gets of an image after training. `rtrain predict` finds it by this name.
local transform = transforms.Compose {to_tensor, normalize}

-- CIFAR-10 in $RTRAIN_DATA/cifar10, else shapes of ten kinds that are drawn here.
local function open_images(is_train)
  local options = {train = is_train, transform = is_train and augment or transform}
  local found, set = pcall(datasets.CIFAR10, options)
  if found then return set, 'CIFAR10' end
  options.n = is_train and 4000 or 1000
  return datasets.shapes10(options), 'drawn shapes'
end

local function make_loader(config, is_train)
  local set, name = open_images(is_train)
  local count = math.min(is_train and config.limit or config.test_limit, #set)
  if is_train and train.get_context():get_world_rank() == 0 then print(('%d images: %s'):format(count, name)) end
  local part = data.Subset(set, torch.arange(count):tolist())
  return data.DataLoader(part, {batch_size = config.batch_size, shuffle = is_train})
end

local function train_func(config)
  torch.manual_seed(config.seed)
  train.loop {
    model = make_model(config),
    optimizer = function(model) return torch.optim.AdamW(model:parameters(), {lr = config.lr, weight_decay = 0.01}) end,
    train_dataloader = make_loader(config, true),
    val_dataloader = make_loader(config, false),
    training_step = function(model, batch) return F.cross_entropy(model(batch[1]), batch[2]) end,
    validation_step = function(model, batch)
      local output = model(batch[1])
      return {val_loss = F.cross_entropy(output, batch[2]), accuracy = output:argmax(1):eq(batch[2]):float():mean()}
    end,
    max_epochs = config.epochs,
    callbacks = {
      train.loop.EarlyStopping {monitor = 'val_loss', patience = 3},
      train.loop.ProgressBar {refresh_rate = 20},
    },
  }
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {lr = 0.002, width = 16, batch_size = 32, epochs = 5, limit = 4000, test_limit = 1000, seed = 0},
  scaling_config = train.ScalingConfig {num_workers = 1},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {
    num_to_keep = 2, checkpoint_score_attribute = 'accuracy', checkpoint_score_order = 'max'}},
}:fit()
