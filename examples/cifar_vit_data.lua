-- VisionTransformer on CIFAR-10's Parquet files with rtrain.data: rtrain run examples/cifar_vit_data.lua [-- FOLDER [COUNT]]
--
-- Ray equivalent: step 3 of "Distributing your PyTorch Training Code with Ray Train and Ray Data": read_parquet, map and
-- iter_torch_batches instead of a DataLoader. The marks [1] and [2] are the original's: what differs from
-- examples/cifar_vit.lua.
--
-- FOLDER holds train-*.parquet and test-*.parquet with the columns image and label ($RTRAIN_DATA/cifar10), COUNT says how
-- many images are used. One epoch of all 50,000 images is about 25 minutes on 2 cores and ends with:
--
--   [rank 0] {accuracy = 0.3…, epoch_num = 0, loss = 1.7…}
--   Training result: Result(metrics={accuracy=0.3… loss=1.7…}, checkpoint=Checkpoint(…/checkpoint_000000), path=…)
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'rtrain.data'
local transforms = require 'vision.transforms'
local VisionTransformer = require('vision.models').VisionTransformer
local nn = torch.nn

local STORAGE_PATH = arg[1] or (os.getenv 'RTRAIN_DATA' or '~/data') .. '/cifar10'
local train_dataset = data.read_parquet(STORAGE_PATH .. '/train-*.parquet')
local test_dataset = data.read_parquet(STORAGE_PATH .. '/test-*.parquet')
print(train_dataset:schema())
print(test_dataset:schema())

-- What is done to each row, in the threads of the workers.
local function transform_cifar(row)
  -- Define the torchvision transform.
  local transform = transforms.Compose {transforms.ToTensor(), transforms.Normalize({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5})}
  row.image = transform(row.image)
  return row
end

local function first(dataset) return arg[2] and dataset:limit(tonumber(arg[2])) or dataset end
train_dataset = first(train_dataset):map(transform_cifar)
test_dataset = first(test_dataset):map(transform_cifar)

local function train_func_per_worker(config)
  torch.manual_seed(config.seed)

  -- [1] Get the shards of the datasets that the trainer was given: each worker reads its own rows.
  local train_data_shard = train.get_dataset_shard 'train'
  local valid_data_shard = train.get_dataset_shard 'valid'
  local train_dataloader = train_data_shard:iter_torch_batches {batch_size = config.batch_size_per_worker}
  local valid_dataloader = valid_data_shard:iter_torch_batches {batch_size = config.batch_size_per_worker}

  local model = VisionTransformer {
    image_size = 32,   -- CIFAR-10 image size is 32x32
    patch_size = 4,    -- Patch size is 4x4
    num_layers = 12,   -- Number of transformer layers
    num_heads = 8,     -- Number of attention heads
    hidden_dim = 384,  -- Hidden size (can be adjusted)
    mlp_dim = 768,     -- MLP dimension (can be adjusted)
    num_classes = 10,  -- CIFAR-10 has 10 classes
  }
  model = train.torch.prepare_model(model)

  local loss_fn = nn.CrossEntropyLoss()
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = config.lr, weight_decay = 1e-2})

  -- Model training loop.
  for epoch = 0, config.epochs - 1 do
    model:train()
    for batch in train_dataloader do
      local X, y = batch.image, batch.label
      local pred = model(X)
      local loss = loss_fn(pred, y)

      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
    end

    model:eval()
    local valid_loss, num_correct, num_total = 0, 0, 0
    torch.no_grad(function()
      for batch in valid_dataloader do
        -- [2] Each batch is a table of columns.
        local X, y = batch.image, batch.label
        local pred = model(X)
        local loss = loss_fn(pred, y)

        valid_loss = valid_loss + loss:item() * y.shape[1]
        num_total = num_total + y.shape[1]
        num_correct = num_correct + pred:argmax(1):eq(y):sum():item()
      end
    end)

    -- Means over the images of all workers.
    local sums = torch.tensor({valid_loss, num_correct, num_total}, {device = train.torch.get_device()})
    torch.distributed.all_reduce(sums)
    valid_loss = (sums[0] / sums[2]):item()
    local accuracy = (sums[1] / sums[2]):item()

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
    seed = 1,
  }

  -- Configure computation resources.
  local scaling_config = train.ScalingConfig {num_workers = num_workers, use_gpu = use_gpu}
  local run_config = train.RunConfig {storage_path = os.getenv 'RTRAIN_STORAGE' or '~/rtrain_results'}

  local trainer = train.TorchTrainer {
    train_loop_per_worker = train_func_per_worker,
    -- [1] The datasets go straight to the trainer.
    datasets = {train = train_dataset, valid = test_dataset},
    train_loop_config = train_config,
    scaling_config = scaling_config,
    run_config = run_config,
  }
  local result = trainer:fit()
  print('Training result: ' .. tostring(result))
end

train_cifar_10(2, false)
