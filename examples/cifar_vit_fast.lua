-- The VisionTransformer of examples/cifar_vit.lua as fast as a GPU can be: rtrain run examples/cifar_vit_fast.lua
--
-- The same model, batch, optimizer and schedule, and what cifar_vit.lua leaves undone: all images lie on the device as bytes
-- and become floats there ([1]), products compute in bfloat16 under autocast ([2]), the whole step is one CUDA graph ([3]),
-- and nothing is read from the device within an epoch ([4]). The last, smaller batch of an epoch is left out, since a graph
-- has one shape. --set augment=true adds flips and crops, also on the device: worth it from some ten epochs on.
--
-- On the CPU the same program runs without [2] and [3] (float32, operator by operator). One epoch there is 25 minutes on 2
-- cores; a taste of it, without files: rtrain run examples/cifar_vit_fast.lua --set dataset=shapes10 --set limit=64
-- --set test_limit=32 --set batch_size_per_worker=16. Each epoch prints a line:
--
--   [rank 0] epoch_num=0 loss=… accuracy=… seconds=…
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'
local augmentation, datasets = require 'vision.augmentation', require 'vision.datasets'
local VisionTransformer = require('vision.models').VisionTransformer
local nn = torch.nn

local SETS = {cifar10 = datasets.CIFAR10, shapes10 = datasets.shapes10}

-- [1] Bytes (n, 3, 32, 32) and labels, on the device: a batch is gathered there and copies nothing from the host.
local function images_on(device, config, is_train)
  local set = assert(SETS[config.dataset], "--set dataset: 'cifar10' or 'shapes10'"){train = is_train}
  local count = math.min(is_train and config.limit or config.test_limit, #set)
  local images = set.data:narrow(0, 0, count):to(device):movedim(-1, 1):contiguous()
  return data.TensorDataset(images, set.targets:narrow(0, 0, count):to(device))
end

-- What an epoch's batches go through before the model, and the test images.
local function transforms_of(config)
  local normalize = augmentation.Normalize({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5})
  if not config.augment then return normalize, normalize end
  local crop = augmentation.RandomCrop(32, {padding = 4})
  return augmentation.Compose{crop, augmentation.RandomHorizontalFlip(), normalize}, normalize
end

-- Loss and accuracy over the test images of all ranks; read from the device once.
local function evaluate(forward, loader, device)
  local sums = torch.zeros(3, {device = device})
  torch.no_grad(function()
    for X, y in loader do
      local pred = forward(X)
      sums[0]:add_(nn.functional.cross_entropy(pred, y, {reduction = 'sum'}))
      sums[1]:add_(pred:argmax(1):eq(y):sum())
      sums[2]:add_(#y)
    end
  end)
  torch.distributed.all_reduce(sums)
  local loss, correct, total = unpack(sums:tolist())
  return loss / total, correct / total
end

local function train_func_per_worker(config)
  torch.manual_seed(config.seed)
  local device = train.torch.get_device()
  local kind = device:match '^%a+'
  local transform, test_transform = transforms_of(config)

  local train_set, test_set = images_on(device, config, true), images_on(device, config, false)
  local batch_size = config.batch_size_per_worker
  local train_loader = train.torch.prepare_data_loader(
    data.DataLoader(train_set, {batch_size = batch_size, shuffle = true, drop_last = true}))
  local test_loader = train.torch.prepare_data_loader(data.DataLoader(test_set, {batch_size = 4 * batch_size}),
    {padding = false})  -- each image once

  local model = train.torch.prepare_model(VisionTransformer{
    image_size = 32, patch_size = 4, num_layers = 12, num_heads = 8, hidden_dim = 384, mlp_dim = 768, num_classes = 10,
  })
  local loss_fn = nn.CrossEntropyLoss()
  local optimizer = torch.optim.AdamW(model:parameters(),
    {lr = config.lr, weight_decay = 1e-2, fused = true, capturable = kind == 'cuda'})

  -- [2] The transform computes in float32, the model's products in bfloat16.
  local function forward(X, of_training)
    local images = (of_training and transform or test_transform)(X)
    return torch.autocast(kind, {dtype = 'bfloat16', enabled = kind == 'cuda'}, function() return model(images) end):float()
  end

  -- [3] After some steps one by one the GPU gets a whole step at once.
  local step = train.graph(function(X, y)
    local loss = loss_fn(forward(X, true), y)
    optimizer:zero_grad()
    loss:backward()
    optimizer:step()
    return loss
  end)

  for epoch = 0, config.epochs - 1 do
    local start = train.time.monotonic()
    if train.get_context():get_world_size() > 1 then train_loader.sampler:set_epoch(epoch) end
    model:train()
    -- [4] Only evaluation reads numbers.
    for X, y in train_loader do step(X, y) end
    model:eval()
    local loss, accuracy = evaluate(forward, test_loader, device)
    local seconds = train.time.monotonic() - start
    train.tempdir(function(folder)
      torch.save(train.torch.unwrap(model):state_dict(), folder .. '/model.pt')
      train.report({loss = loss, accuracy = accuracy, seconds = seconds},
        {checkpoint = train.Checkpoint.from_directory(folder)})
    end)
    if train.get_context():get_world_rank() == 0 then
      print(('epoch_num=%d loss=%.4f accuracy=%.4f seconds=%.2f'):format(epoch, loss, accuracy, seconds))
    end
  end
end

train.TorchTrainer{
  train_loop_per_worker = train_func_per_worker,
  train_loop_config = {
    lr = 1e-3, epochs = 1, batch_size_per_worker = 512, augment = false,
    dataset = 'cifar10', limit = 50000, test_limit = 10000, seed = 1,
  },
  scaling_config = train.ScalingConfig{num_workers = 1, use_gpu = torch.cuda.is_available()},
}:fit()
