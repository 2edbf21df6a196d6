-- ResNet-18 on MNIST: rtrain run examples/mnist_resnet18.lua
--
-- Ray equivalent: the notebook "Introduction to Ray Train" (PyTorch, ResNet-18, MNIST). Two workers share each global batch of
-- 128 images; rank 0 reports and saves. Then this script, outside the workers, prints the table of the metrics, loads the
-- checkpoint into a model of its own and lets it read images that it has not seen.
--
-- MNIST's idx files lie in $RTRAIN_DATA/mnist; --set dataset=fashion-mnist takes the images of Debian's package
-- dataset-fashion-mnist, `-- --download` what is missing from the mirror $RTRAIN_DATA_URL. Shorter: --set limit=2000
-- --set test_limit=500. samples.png and predictions.png in the run's folder show images. One epoch is 2 to 3 minutes on
-- 2 cores. Ends with:
--
--   epoch,loss
--   0,0.144…
--   samples     5 0 4 1 9 2 1 3 1 4: …/samples.png
--   labels      7 2 1 0 4 1 4 9
--   predictions 7 2 1 0 4 1 4 9: …/predictions.png
--   accuracy on 10000 new images: 0.99…
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'
local save_image = require('vision.utils').save_image
local datasets, models, transforms = require 'vision.datasets', require 'vision.models', require 'vision.transforms'
local nn = torch.nn

local SETS = {mnist = datasets.MNIST, ['fashion-mnist'] = datasets.FashionMNIST}

-- ResNet-18 for grey images: another first convolution.
local function build_resnet18()
  local model = models.resnet18 {num_classes = 10}
  model.conv1 = nn.Conv2d(1, 64, {kernel_size = 7, stride = 2, padding = 3, bias = false})
  return model
end

local function load_images(config, is_train, limit)
  local transform = transforms.Compose {transforms.ToTensor(), transforms.Normalize({0.5}, {0.5})}
  local MNIST = assert(SETS[config.dataset], "--set dataset: 'mnist' or 'fashion-mnist'")
  local set = MNIST {train = is_train, download = config.download, transform = transform}
  return data.Subset(set, torch.arange(math.min(limit, #set)))
end

-- Moves the model to this worker's device and, with several workers, wraps it in DistributedDataParallel.
local function load_model_ray_train()
  return train.torch.prepare_model(build_resnet18())
end

-- Gives each worker a part of its own of the images.
local function build_data_loader_ray_train(config, batch_size)
  local loader = data.DataLoader(load_images(config, true, config.limit), {batch_size = batch_size, shuffle = true,
                                                                           drop_last = true})
  return train.torch.prepare_data_loader(loader)
end

local function print_metrics_ray_train(loss, epoch)
  local metrics = {loss = loss:item(), epoch = epoch}
  if train.get_context():get_world_rank() == 0 then print(('epoch %d: loss %.4f'):format(epoch, metrics.loss)) end
  return metrics
end

-- Every rank reports; rank 0 alone saves, because all hold the same model.
local function save_checkpoint_and_metrics_ray_train(model, metrics)
  if train.get_context():get_world_rank() > 0 then return train.report(metrics) end
  train.tempdir(function(dir)
    torch.save(train.torch.unwrap(model):state_dict(), dir .. '/model.pt')
    train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
  end)
end

local function train_loop_ray_train(config)
  torch.manual_seed(config.seed)
  local criterion = nn.CrossEntropyLoss()
  local model = load_model_ray_train()
  local optimizer = torch.optim.Adam(model:parameters(), {lr = config.lr})
  local batch_size = math.floor(config.global_batch_size / train.get_context():get_world_size())
  local data_loader = build_data_loader_ray_train(config, batch_size)
  -- Up and down again in all: one epoch is enough then.
  local scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, {max_lr = config.lr, epochs = config.num_epochs,
                                                                    steps_per_epoch = #data_loader})

  for epoch = 0, config.num_epochs - 1 do
    data_loader.sampler:set_epoch(epoch)  -- another order in each epoch
    local loss
    for images, labels in data_loader do
      loss = criterion(model(images), labels)
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
      scheduler:step()
    end
    save_checkpoint_and_metrics_ray_train(model, print_metrics_ray_train(loss, epoch))
  end
end

local trainer = train.TorchTrainer {
  train_loop_per_worker = train_loop_ray_train,
  train_loop_config = {num_epochs = 1, global_batch_size = 128, lr = 3e-3, seed = 1, dataset = 'mnist',
                       download = arg[1] == '--download',
                       limit = 60000, test_limit = 10000},
  scaling_config = train.ScalingConfig {num_workers = 2, use_gpu = false},
  run_config = train.RunConfig {storage_path = os.getenv 'RTRAIN_STORAGE' or '~/rtrain_results'},
}
local result = trainer:fit()

-- One row for each report, as result.metrics_dataframe in Ray.
io.write(result.metrics_dataframe:to_csv())

-- What the original plots: the first images with their labels, and below what the model makes of new ones.
local function show(name, images, labels, file)
  save_image(images, result.path .. '/' .. file, {nrow = 8, normalize = true})
  print(('%-11s %s: %s/%s'):format(name, table.concat(labels, ' '), result.path, file))
end

local samples, sample_labels = data.DataLoader(load_images(result.config, true, 10), {batch_size = 10}):iter()()
show('samples', samples, sample_labels:tolist(), 'samples.png')

-- The model of the latest checkpoint, in this process.
local loaded_model = build_resnet18()
result.checkpoint:with_directory(function(dir)
  loaded_model:load_state_dict(torch.load(dir .. '/model.pt'))
end)
loaded_model:eval()

local new_images = data.DataLoader(load_images(result.config, false, result.config.test_limit), {batch_size = 500})
local correct, seen = 0, 0
torch.no_grad(function()
  for images, labels in new_images do
    local predictions = loaded_model(images):argmax(1)
    if seen == 0 then
      print('labels      ' .. table.concat(labels:narrow(0, 0, 8):tolist(), ' '))
      show('predictions', images:narrow(0, 0, 8), predictions:narrow(0, 0, 8):tolist(), 'predictions.png')
    end
    correct = correct + predictions:eq(labels):sum():item()
    seen = seen + #labels
  end
end)
print(('accuracy on %d new images: %.4f'):format(seen, correct / seen))
