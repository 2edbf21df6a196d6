-- A convolutional network that tells small grey images apart: digits, clothes, or drawn shapes.
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'
local datasets, transforms = require 'vision.datasets', require 'vision.transforms'
local nn, F = torch.nn, torch.nn.functional

local ConvNet = nn.Module:extend 'ConvNet'

function ConvNet:init()
  self.conv1 = nn.Conv2d(1, 16, 3)
  self.conv2 = nn.Conv2d(16, 32, 3)
  self.dropout = nn.Dropout(0.25)
  self.fc1 = nn.Linear(32 * 5 * 5, 64)
  self.fc2 = nn.Linear(64, 10)
end

function ConvNet:forward(x)
  x = F.max_pool2d(F.relu(self.conv1(x)), 2)
  x = F.max_pool2d(F.relu(self.conv2(x)), 2)
  x = self.dropout(torch.flatten(x, 1))
  return self.fc2(F.relu(self.fc1(x)))
end

-- What the network gets of an image. `rtrain predict` finds it by this name.
local transform = transforms.Compose {transforms.ToTensor(), transforms.Normalize({0.3}, {0.3})}

-- MNIST in $RTRAIN_DATA/mnist, else Fashion-MNIST (Debian's package dataset-fashion-mnist), else shapes that are drawn here.
local function open_images(is_train)
  for _, name in ipairs {'MNIST', 'FashionMNIST'} do
    local found, set = pcall(datasets[name], {train = is_train, transform = transform})
    if found then return set, name end
  end
  local count = is_train and 4000 or 1000
  return datasets.shapes10 {train = is_train, n = count, size = 28, channels = 1, transform = transform}, 'drawn shapes'
end

local function make_loader(config, is_train)
  local set, name = open_images(is_train)
  local count = math.min(is_train and config.limit or config.test_limit, #set)
  if is_train and train.get_context():get_world_rank() == 0 then print(('%d images: %s'):format(count, name)) end
  local part = data.Subset(set, torch.arange(count):tolist())
  local loader = data.DataLoader(part, {batch_size = config.batch_size, shuffle = is_train})
  return train.torch.prepare_data_loader(loader, {padding = is_train})  -- each image is tested once
end

-- Over the images of all workers.
local function evaluate(model, loader)
  local correct, seen = 0, 0
  model:eval()
  torch.no_grad(function()
    for x, y in loader do
      correct, seen = correct + model(x):argmax(1):eq(y):sum():item(), seen + #y
    end
  end)
  local sums = torch.distributed.all_reduce(torch.tensor {correct, seen}:to(train.torch.get_device()))
  return (sums[0] / sums[1]):item()
end

local function train_func(config)
  torch.manual_seed(config.seed)
  local train_loader, test_loader = make_loader(config, true), make_loader(config, false)
  local model = train.torch.prepare_model(ConvNet())
  local optimizer = torch.optim.Adam(model:parameters(), {lr = config.lr})

  local first_epoch, checkpoint = 1, train.get_checkpoint()
  if checkpoint then  -- nil in a new run, the latest one after a failure or with --resume
    local state = checkpoint:with_directory(function(dir) return torch.load(dir .. '/model.pt') end)
    train.torch.unwrap(model):load_state_dict(state.model)
    optimizer:load_state_dict(state.optimizer)
    first_epoch = state.epoch + 1
  end

  for epoch = first_epoch, config.epochs do
    train_loader.sampler:set_epoch(epoch)
    model:train()
    local total = 0
    for x, y in train_loader do
      local loss = F.cross_entropy(model(x), y)
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
      total = total + loss:item()
    end
    local metrics = {epoch = epoch, loss = total / #train_loader, accuracy = evaluate(model, test_loader)}
    train.tempdir(function(dir)
      torch.save({model = train.torch.unwrap(model):state_dict(), optimizer = optimizer:state_dict(), epoch = epoch},
        dir .. '/model.pt')
      train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {lr = 0.001, batch_size = 64, epochs = 5, limit = 4000, test_limit = 1000, seed = 0},
  scaling_config = train.ScalingConfig {num_workers = 1},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {
    num_to_keep = 2, checkpoint_score_attribute = 'accuracy', checkpoint_score_order = 'max'}},
}:fit()
