-- A convolutional network on Fashion-MNIST with two workers: rtrain run examples/fashion_mnist.lua
--
-- Three epochs take about 3 minutes on 2 cores and end above 0.90 test accuracy. With --max-failures 1 the run
-- survives the loss of a worker: all ranks start again from the latest checkpoint and compute what they would have.
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

-- Each worker gets its part of both sets, in batches of config.batch_size: n workers take n times as many images a step.
local function make_loaders(config)
  local transform = transforms.Compose {transforms.ToTensor(), transforms.Normalize({0.2860}, {0.3530})}
  local train_set = datasets.FashionMNIST {train = true, transform = transform}
  local test_set = datasets.FashionMNIST {train = false, transform = transform}
  -- With one worker the order comes from the loader's own generator, with several from DistributedSampler's seed.
  local options = {batch_size = config.batch_size, shuffle = true, generator = torch.Generator(config.seed)}
  return train.torch.prepare_data_loader(data.DataLoader(train_set, options)),
    train.torch.prepare_data_loader(data.DataLoader(test_set, {batch_size = 500}), {padding = false})  -- each image once
end

-- Mean loss over all ranks, which have equally many batches.
local function train_epoch(model, loader, optimizer)
  local total = 0
  model:train()
  for x, y in loader do
    local loss = F.cross_entropy(model(x), y)
    optimizer:zero_grad()
    loss:backward()  -- gradients become the mean over the ranks here
    optimizer:step()
    total = total + loss:item()
  end
  return torch.distributed.all_reduce(torch.tensor {total / #loader}, 'avg'):item()
end

-- Share of the test images that are recognized, over all ranks.
local function evaluate(model, loader)
  local correct, seen = 0, 0
  model:eval()
  torch.no_grad(function()
    for x, y in loader do
      correct = correct + model(x):argmax(1):eq(y):sum():item()
      seen = seen + y:size(0)
    end
  end)
  local sums = torch.distributed.all_reduce(torch.tensor {correct, seen})
  return (sums[0] / sums[1]):item()
end

local function train_func(config)
  local context = train.get_context()
  local rank, world_size = context:get_world_rank(), context:get_world_size()
  torch.manual_seed(config.seed)
  local train_loader, test_loader = make_loaders(config)
  local net = Net()
  local model = train.torch.prepare_model(net)
  local optimizer = torch.optim.Adadelta(model:parameters(), {lr = config.lr})
  local scheduler = torch.optim.lr_scheduler.StepLR(optimizer, {step_size = 1, gamma = config.gamma})

  local first_epoch, checkpoint = 0, train.get_checkpoint()
  if checkpoint then  -- nil in a new run, the latest one after a failure
    local state = checkpoint:with_directory(function(dir) return torch.load(dir .. '/model.pt') end)
    net:load_state_dict(state.model)
    optimizer:load_state_dict(state.optimizer)
    scheduler:load_state_dict(state.scheduler)
    first_epoch = state.epoch + 1
  end

  for epoch = first_epoch, config.epochs - 1 do
    -- Dropout and the order of the images depend on epoch and rank alone, so that a resumed run goes on exactly.
    torch.manual_seed(config.seed + epoch * world_size + rank)
    train_loader.sampler:set_epoch(epoch)
    local metrics = {epoch = epoch, loss = train_epoch(model, train_loader, optimizer)}
    metrics.accuracy = evaluate(model, test_loader)
    scheduler:step()
    train.tempdir(function(dir)
      if rank > 0 then return train.report(metrics) end  -- the ranks hold equal state: one copy is enough
      torch.save({model = net:state_dict(), optimizer = optimizer:state_dict(), scheduler = scheduler:state_dict(),
                  epoch = epoch}, dir .. '/model.pt')
      train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end
end

local result = train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {lr = 1.0, gamma = 0.7, batch_size = 64, epochs = 3, seed = 1},
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {checkpoint_config = {num_to_keep = 2, checkpoint_score_attribute = 'accuracy'}},
}:fit()
print(('test accuracy %.4f'):format(result.metrics.accuracy))
