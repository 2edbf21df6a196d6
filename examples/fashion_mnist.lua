-- A convolutional network on Fashion-MNIST with two workers: rtrain run examples/fashion_mnist.lua
--
-- About 3 minutes on 2 cores. Goes on from the latest checkpoint when a worker is lost (--max-failures 2).
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'
local datasets, transforms = require 'vision.datasets', require 'vision.transforms'
local nn, F = torch.nn, torch.nn.functional

local Net = nn.Module:extend 'Net'

function Net:init()
  self.conv1 = nn.Conv2d(1, 32, 3)
  self.conv2 = nn.Conv2d(32, 64, 3)
  self.dropout1 = nn.Dropout(0.25)
  self.dropout2 = nn.Dropout(0.5)
  self.fc1 = nn.Linear(64 * 12 * 12, 128)
  self.fc2 = nn.Linear(128, 10)
end

function Net:forward(x)
  x = F.relu(self.conv1(x))
  x = F.max_pool2d(F.relu(self.conv2(x)), 2)
  x = torch.flatten(self.dropout1(x), 1)
  x = self.dropout2(F.relu(self.fc1(x)))
  return self.fc2(x)
end

local function loaders(config)
  local transform = transforms.Compose {transforms.ToTensor(), transforms.Normalize({0.2860}, {0.3530})}
  local train_set = datasets.FashionMNIST {train = true, transform = transform}
  local test_set = datasets.FashionMNIST {train = false, transform = transform}
  return train.torch.prepare_data_loader(data.DataLoader(train_set, {batch_size = config.batch_size, shuffle = true})),
    train.torch.prepare_data_loader(data.DataLoader(test_set, {batch_size = 500}))
end

-- Mean loss of this rank's batches.
local function train_epoch(model, loader, optimizer)
  local total, batches = 0, 0
  model:train()
  for x, y in loader do
    local loss = F.cross_entropy(model(x), y)
    optimizer:zero_grad()
    loss:backward()
    optimizer:step()
    total, batches = total + loss:item(), batches + 1
  end
  return total / batches
end

-- Share of the test images that are recognized, over all ranks.
local function evaluate(model, loader)
  local counts = torch.zeros(2)
  model:eval()
  torch.no_grad(function()
    for x, y in loader do
      counts[0] = counts[0] + model(x):argmax(1):eq(y):sum()
      counts[1] = counts[1] + y:size(0)
    end
  end)
  torch.distributed.all_reduce(counts)
  return (counts[0] / counts[1]):item()
end

local function train_func(config)
  torch.manual_seed(config.seed)
  local context = train.get_context()
  local train_loader, test_loader = loaders(config)
  local net = Net()
  local first_epoch = 0
  local checkpoint = train.get_checkpoint()
  if checkpoint then
    checkpoint:with_directory(function(dir)
      local state = torch.load(dir .. '/model.pt')
      net:load_state_dict(state.model)
      first_epoch = state.epoch + 1
    end)
  end
  local model = train.torch.prepare_model(net)
  local optimizer = torch.optim.Adadelta(model:parameters(), {lr = config.lr})
  local scheduler = torch.optim.lr_scheduler.StepLR(optimizer, {step_size = 1, gamma = config.gamma})
  for _ = 1, first_epoch do scheduler:step() end

  for epoch = first_epoch, config.epochs - 1 do
    if context:get_world_size() > 1 then train_loader.sampler:set_epoch(epoch) end
    local loss = train_epoch(model, train_loader, optimizer)
    local accuracy = evaluate(model, test_loader)
    scheduler:step()
    train.tempdir(function(dir)
      local options
      if context:get_world_rank() == 0 then
        torch.save({model = net:state_dict(), epoch = epoch}, dir .. '/model.pt')
        options = {checkpoint = train.Checkpoint.from_directory(dir)}
      end
      train.report({epoch = epoch, loss = loss, accuracy = accuracy}, options)
    end)
  end
end

local trainer = train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {lr = 1.0, gamma = 0.7, batch_size = 64, epochs = 3, seed = 1},
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {
    checkpoint_config = train.CheckpointConfig {num_to_keep = 2, checkpoint_score_attribute = 'accuracy'},
  },
}
local result = trainer:fit()
print(('test accuracy %.4f'):format(result.metrics.accuracy))
