-- A convolutional network on MNIST, fed from a Dataset: rtrain run examples/mnist_convnet.lua [-- IMAGES [COUNT] [--download]]
--
-- Ray equivalent: "PyTorch distributed training, a complete example" (Ray Train deep dive, 6.1): Dataset shards, Adadelta,
-- resume from checkpoint.pt, checkpoints of rank 0, the best two by accuracy kept, two failures allowed; the best model
-- reads new images at the end. A worker that is killed is replaced, and the run goes on from the latest checkpoint.
--
-- IMAGES is mnist ($RTRAIN_DATA/mnist; default) or fashion-mnist (Debian's package dataset-fashion-mnist), COUNT how many of
-- them to train on; --download fetches what is missing from the mirror $RTRAIN_DATA_URL. Three epochs (--set epochs=3) are
-- about 3 minutes on 2 cores and end with:
--
--   Training completed!
--   Final accuracy: 0.98…
--   Best checkpoint path: Checkpoint(…/checkpoint_000002)
--   Loading best model for inference...
--   Best model from epoch 2, accuracy on 10000 new images: 0.98…
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'rtrain.data'
local DataLoader = require('torch.utils.data').DataLoader
local datasets, transforms = require 'vision.datasets', require 'vision.transforms'
local nn, F = torch.nn, torch.nn.functional

-- 1. The model
local ConvNet = nn.Module:extend 'ConvNet'

function ConvNet:init()
  self.conv1 = nn.Conv2d(1, 32, 3, 1)
  self.conv2 = nn.Conv2d(32, 64, 3, 1)
  self.dropout1 = nn.Dropout(0.25)
  self.dropout2 = nn.Dropout(0.5)
  self.fc1 = nn.Linear(9216, 128)
  self.fc2 = nn.Linear(128, 10)
end

function ConvNet:forward(x)
  x = F.relu(self.conv1(x))
  x = F.relu(self.conv2(x))
  x = F.max_pool2d(x, 2)
  x = self.dropout1(x)
  x = torch.flatten(x, 1)
  x = F.relu(self.fc1(x))
  x = self.dropout2(x)
  x = self.fc2(x)
  return F.log_softmax(x, 1)
end

-- 2. The train function
local function train_loop_per_worker(config)
  local context = train.get_context()
  local world_rank, world_size = context:get_world_rank(), context:get_world_size()
  print(('Worker %d/%d starting training'):format(world_rank, world_size))

  -- This worker's part of the Dataset, in batches on its device.
  local train_dataset = train.get_dataset_shard 'train'
  local train_loader = train_dataset:iter_torch_batches {batch_size = config.batch_size,
                                                         dtypes = {image = 'float32', label = 'int64'}}
  local model = train.torch.prepare_model(ConvNet())
  local criterion = nn.NLLLoss()
  local optimizer = torch.optim.Adadelta(model:parameters(), {lr = config.lr})

  -- Resume from the latest checkpoint: nil in a new run.
  local start_epoch, checkpoint = 0, train.get_checkpoint()
  if checkpoint then
    local state = checkpoint:with_directory(function(dir) return torch.load(dir .. '/checkpoint.pt') end)
    train.torch.unwrap(model):load_state_dict(state.model_state_dict)
    optimizer:load_state_dict(state.optimizer_state_dict)
    start_epoch = state.epoch + 1
    print(('Resuming from epoch %d'):format(start_epoch))
  end

  for epoch = start_epoch, config.epochs - 1 do
    model:train()
    local epoch_loss, epoch_accuracy, num_batches = 0, 0, 0
    for batch in train_loader do
      local images, target = batch.image, batch.label
      optimizer:zero_grad()
      local output = model(images)
      local loss = criterion(output, target)
      loss:backward()
      optimizer:step()

      local pred = output:argmax(1, {keepdim = true})
      epoch_accuracy = epoch_accuracy + pred:eq(target:view_as(pred)):sum():item() / #target
      epoch_loss = epoch_loss + loss:item()
      num_batches = num_batches + 1
    end

    -- Every worker reports; rank 0 saves, since all hold the same model.
    local metrics = {epoch = epoch, loss = epoch_loss / num_batches, accuracy = epoch_accuracy / num_batches,
                     learning_rate = optimizer.param_groups[1].lr}
    train.tempdir(function(dir)
      if world_rank > 0 then return train.report(metrics) end
      torch.save({epoch = epoch, model_state_dict = train.torch.unwrap(model):state_dict(),
                  optimizer_state_dict = optimizer:state_dict(), loss = metrics.loss, accuracy = metrics.accuracy},
        dir .. '/checkpoint.pt')
      train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
      print(('Epoch %d: Loss=%.4f, Accuracy=%.4f'):format(epoch, metrics.loss, metrics.accuracy))
    end)
  end
end

-- 3. The data
local download = false
for i = #arg, 1, -1 do
  if arg[i] == '--download' then download = table.remove(arg, i) ~= nil end
end
local MNIST = assert(({mnist = datasets.MNIST, ['fashion-mnist'] = datasets.FashionMNIST})[arg[1] or 'mnist'],
  "IMAGES is 'mnist' or 'fashion-mnist'")
local transform = transforms.Compose {transforms.ToTensor(), transforms.Normalize({0.1307}, {0.3081})}

local function prepare_data()
  local function to_dict(row) return {image = row.item[1], label = row.item[2]} end
  local images = data.from_torch(MNIST {train = true, download = download, transform = transform})
  if arg[2] then images = images:limit(tonumber(arg[2])) end
  return images:map(to_dict)
end

-- 4. The run
local function main()
  print 'Preparing data...'
  local trainer = train.TorchTrainer {
    train_loop_per_worker = train_loop_per_worker,
    train_loop_config = {batch_size = 128, lr = 1.0, epochs = 10},
    scaling_config = train.ScalingConfig {num_workers = 2, use_gpu = false},
    run_config = train.RunConfig {
      checkpoint_config = train.CheckpointConfig {num_to_keep = 2, checkpoint_score_attribute = 'accuracy',
                                                  checkpoint_score_order = 'max'},
      failure_config = train.FailureConfig {max_failures = 2},
    },
    datasets = {train = prepare_data()},
  }
  print 'Starting distributed training...'
  local result = trainer:fit()
  print 'Training completed!'
  print(('Final accuracy: %.4f'):format(result.metrics.accuracy))

  -- The best model, loaded here for inference.
  local best = result:get_best_checkpoint('accuracy', 'max')
  print('Best checkpoint path: ' .. tostring(best))
  print 'Loading best model for inference...'
  local state = best:with_directory(function(dir) return torch.load(dir .. '/checkpoint.pt') end)
  local model = ConvNet()
  model:load_state_dict(state.model_state_dict)
  model:eval()
  local correct, seen = 0, 0
  torch.no_grad(function()
    for images, labels in DataLoader(MNIST {train = false, download = download, transform = transform}, {batch_size = 1000}) do
      correct, seen = correct + model(images):argmax(1):eq(labels):sum():item(), seen + #labels
    end
  end)
  print(('Best model from epoch %d, accuracy on %d new images: %.4f'):format(state.epoch, seen, correct / seen))
end

main()
