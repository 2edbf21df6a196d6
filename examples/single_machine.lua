-- VisionTransformer on CIFAR-10, one process, no Train API: rtrain exec examples/single_machine.lua
--
-- Ray equivalent: step 1 of "Distributing your PyTorch Training Code with Ray Train and Ray Data", the plain loop that
-- cifar_vit.lua and cifar_vit_data.lua distribute.
--
-- Images: $RTRAIN_DATA/cifar10; --download fetches them from the mirror $RTRAIN_DATA_URL, and `rtrain exec
-- examples/single_machine.lua dataset=shapes10` needs no files. Shorter:
-- limit=2000 test_limit=1000. One epoch of all 50,000 images is about 25 minutes on 2 cores and ends with:
--
--   {accuracy = 0.3…, epoch_num = 0, loss = 1.7…}
local torch = require 'torch'
local DataLoader = require('torch.utils.data').DataLoader
local Subset = require('torch.utils.data').Subset
local datasets, transforms = require 'vision.datasets', require 'vision.transforms'
local VisionTransformer = require('vision.models').VisionTransformer
local nn = torch.nn

-- What the command line may change: rtrain exec examples/single_machine.lua epochs=2 …
local config = {lr = 1e-3, epochs = 1, batch_size = 512, dataset = 'cifar10', download = 0, limit = 50000, test_limit = 10000,
                seed = 1}
for _, text in ipairs(arg) do
  local name, value = (text == '--download' and 'download=1' or text):match '^([%w_]+)=(.+)$'
  assert(name and config[name], 'unknown option ' .. text)
  config[name] = tonumber(value) or value
end

local SETS = {cifar10 = datasets.CIFAR10, shapes10 = datasets.shapes10}

local function first(set, limit) return Subset(set, torch.arange(math.min(limit, #set))) end

local function get_dataloaders(batch_size)
  -- Transform to normalize the input images.
  local transform = transforms.Compose {transforms.ToTensor(), transforms.Normalize({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5})}
  local Images = assert(SETS[config.dataset], "dataset: 'cifar10' or 'shapes10'")
  local training_data = Images {train = true, download = config.download == 1, transform = transform}
  local testing_data = Images {train = false, download = config.download == 1, transform = transform}

  -- Create data loaders.
  local train_dataloader = DataLoader(first(training_data, config.limit), {batch_size = batch_size, shuffle = true})
  local test_dataloader = DataLoader(first(testing_data, config.test_limit), {batch_size = batch_size})
  return train_dataloader, test_dataloader
end

local function train_func()
  torch.manual_seed(config.seed)
  local train_dataloader, valid_dataloader = get_dataloaders(config.batch_size)

  local model = VisionTransformer {
    image_size = 32,   -- CIFAR-10 image size is 32x32
    patch_size = 4,    -- Patch size is 4x4
    num_layers = 12,   -- Number of transformer layers
    num_heads = 8,     -- Number of attention heads
    hidden_dim = 384,  -- Hidden size (can be adjusted)
    mlp_dim = 768,     -- MLP dimension (can be adjusted)
    num_classes = 10,  -- CIFAR-10 has 10 classes
  }
  local device = torch.cuda.is_available() and 'cuda' or 'cpu'
  model:to(device)

  local loss_fn = nn.CrossEntropyLoss()
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = config.lr, weight_decay = 1e-2})

  -- Model training loop.
  for epoch = 0, config.epochs - 1 do
    model:train()
    for X, y in train_dataloader do
      X, y = X:to(device), y:to(device)
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
        X, y = X:to(device), y:to(device)
        local pred = model(X)
        local loss = loss_fn(pred, y)

        valid_loss = valid_loss + loss:item()
        num_total = num_total + y.shape[1]
        num_correct = num_correct + pred:argmax(1):eq(y):sum():item()
      end
    end)

    valid_loss = valid_loss / #valid_dataloader
    local accuracy = num_correct / num_total
    print {epoch_num = epoch, loss = valid_loss, accuracy = accuracy}
  end
end

train_func()
