-- VisionTransformer on CIFAR-10 with a DataLoader, on two workers: rtrain run examples/cifar_vit.lua
--
-- Ray equivalent: step 2 of "Distributing your PyTorch Training Code with Ray Train and Ray Data". The marks [1] … [4] say
-- what differs from examples/single_machine.lua; the original has no [3], so that each worker reports its own images.
--
-- Images: $RTRAIN_DATA/cifar10; `-- --download` fetches them from the mirror $RTRAIN_DATA_URL, --set dataset=shapes10
-- needs no files. Shorter: --set limit=2000 --set test_limit=1000.
-- One epoch of all 50,000 images is about 25 minutes on 2 cores and ends with:
--
--   [rank 0] {accuracy = 0.3…, epoch_num = 0, loss = 1.7…}
--   Training result: Result(metrics={accuracy=0.3… loss=1.7…}, checkpoint=Checkpoint(…/checkpoint_000000), path=…)
local torch = require 'torch'
local train = require 'rtrain'
local DataLoader = require('torch.utils.data').DataLoader
local Subset = require('torch.utils.data').Subset
local datasets, transforms = require 'vision.datasets', require 'vision.transforms'
local VisionTransformer = require('vision.models').VisionTransformer
local nn = torch.nn

local SETS = {cifar10 = datasets.CIFAR10, shapes10 = datasets.shapes10}

local function first(set, limit) return Subset(set, torch.arange(math.min(limit, #set))) end

local function get_dataloaders(config)
  -- Transform to normalize the input images.
  local transform = transforms.Compose {transforms.ToTensor(), transforms.Normalize({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5})}
  local Images = assert(SETS[config.dataset], "--set dataset: 'cifar10' or 'shapes10'")
  local training_data = first(Images {train = true, download = config.download, transform = transform}, config.limit)
  local testing_data = first(Images {train = false, download = config.download, transform = transform}, config.test_limit)

  -- Create data loaders.
  local batch_size = config.batch_size_per_worker
  local train_dataloader = DataLoader(training_data, {batch_size = batch_size, shuffle = true})
  local test_dataloader = DataLoader(testing_data, {batch_size = batch_size})
  return train_dataloader, test_dataloader
end

local function train_func_per_worker(config)
  torch.manual_seed(config.seed)
  -- Get data loaders inside the worker training function.
  local train_dataloader, valid_dataloader = get_dataloaders(config)

  -- [1] Prepare the data loaders for distributed training: each worker gets rows of its own, so that the model sees each row
  -- once per epoch. All workers train equally many steps; without padding the validation has no row twice.
  train_dataloader = train.torch.prepare_data_loader(train_dataloader)
  valid_dataloader = train.torch.prepare_data_loader(valid_dataloader, {padding = false})

  local model = VisionTransformer {
    image_size = 32,   -- CIFAR-10 image size is 32x32
    patch_size = 4,    -- Patch size is 4x4
    num_layers = 12,   -- Number of transformer layers
    num_heads = 8,     -- Number of attention heads
    hidden_dim = 384,  -- Hidden size (can be adjusted)
    mlp_dim = 768,     -- MLP dimension (can be adjusted)
    num_classes = 10,  -- CIFAR-10 has 10 classes
  }

  -- [2] Prepare the model: on this worker's device, and wrapped with DistributedDataParallel.
  model = train.torch.prepare_model(model)

  local loss_fn = nn.CrossEntropyLoss()
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = config.lr, weight_decay = 1e-2})

  -- Model training loop.
  for epoch = 0, config.epochs - 1 do
    if train.get_context():get_world_size() > 1 then
      -- Required for the distributed sampler to shuffle properly across epochs.
      train_dataloader.sampler:set_epoch(epoch)
    end

    model:train()
    for X, y in train_dataloader do
      local pred = model(X)
      local loss = loss_fn(pred, y)

      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
    end

    model:eval()
    local valid_loss, num_correct, num_total = 0, 0, 0
    torch.no_grad(function()
      for X, y in valid_dataloader do
        local pred = model(X)
        local loss = loss_fn(pred, y)

        valid_loss = valid_loss + loss:item() * y.shape[1]
        num_total = num_total + y.shape[1]
        num_correct = num_correct + pred:argmax(1):eq(y):sum():item()
      end
    end)

    -- [3] Means over the images of all workers.
    local sums = torch.tensor({valid_loss, num_correct, num_total}, {device = train.torch.get_device()})
    torch.distributed.all_reduce(sums)
    valid_loss = (sums[0] / sums[2]):item()
    local accuracy = (sums[1] / sums[2]):item()

    -- [4] Report metrics and a checkpoint. Every rank saves: the run keeps one model.pt.
    train.tempdir(function(temp_checkpoint_dir)
      -- With one worker prepare_model gives the model itself.
      torch.save((model.module or model):state_dict(), temp_checkpoint_dir .. '/model.pt')
      train.report({loss = valid_loss, accuracy = accuracy},
        {checkpoint = train.Checkpoint.from_directory(temp_checkpoint_dir)})
    end)
    if train.get_context():get_world_rank() == 0 then
      print {epoch_num = epoch, loss = valid_loss, accuracy = accuracy}
    end
  end
end

local function train_cifar_10(num_workers, use_gpu)
  local global_batch_size = 512

  local train_config = {
    lr = 1e-3,
    epochs = 1,
    batch_size_per_worker = math.floor(global_batch_size / num_workers),
    dataset = 'cifar10', download = arg[1] == '--download', limit = 50000, test_limit = 10000, seed = 1,
  }

  -- Start distributed training: run train_func_per_worker on the workers.
  local scaling_config = train.ScalingConfig {num_workers = num_workers, use_gpu = use_gpu}
  local run_config = train.RunConfig {storage_path = os.getenv 'RTRAIN_STORAGE' or '~/rtrain_results'}
  local trainer = train.TorchTrainer {
    train_loop_per_worker = train_func_per_worker,
    train_loop_config = train_config,
    scaling_config = scaling_config,
    run_config = run_config,
  }
  local result = trainer:fit()
  print('Training result: ' .. tostring(result))
end

train_cifar_10(2, false)
