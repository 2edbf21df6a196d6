-- Seconds of training steps on CIFAR-10 from $RTRAIN_DATA, with a loader that makes the batches or with the same
-- batches made in advance: the VisionTransformer of the examples (normalized images, batch 64) and ResNet-18 (cropped,
-- mirrored and normalized images, batch 128). Prints "name<TAB>number" lines.
--
--   cifar_epoch.lua loader|premade VIT_STEPS RESNET_STEPS
local torch = require 'torch'
local clock = require 'events'
local data = require 'torch.utils.data'
local datasets, models, transforms = require 'vision.datasets', require 'vision.models', require 'vision.transforms'
local F = torch.nn.functional

local premade = arg[1] == 'premade'

local function make_loader(batch_size, steps, ...)
  local steps_of_transform = {...}
  steps_of_transform[#steps_of_transform + 1] = transforms.ToTensor()
  steps_of_transform[#steps_of_transform + 1] = transforms.Normalize({0.4914, 0.4822, 0.4465}, {0.247, 0.2435, 0.2616})
  local set = datasets.CIFAR10{train = true, transform = transforms.Compose(steps_of_transform)}
  local some = data.Subset(set, torch.randperm(#set):narrow(0, 0, math.min(#set, batch_size * steps)))
  return data.DataLoader(some, {batch_size = batch_size, shuffle = true, drop_last = true, num_workers = 1})
end

local function batches_of(loader)
  if not premade then return loader end
  local batches = {}
  for x, y in loader do batches[#batches + 1] = {x, y} end
  local i = 0
  return function()
    i = i + 1
    if batches[i] then return batches[i][1], batches[i][2] end
  end
end

local function epoch(name, model, optimizer, batches)
  local start = clock.now()
  for x, y in batches do
    optimizer:zero_grad()
    F.cross_entropy(model(x), y):backward()
    optimizer:step()
  end
  io.write(('%s\t%.6f\n'):format(name, clock.now() - start))
end

torch.manual_seed(0)
local vit_steps, resnet_steps = tonumber(arg[2]), tonumber(arg[3])
local vit = models.VisionTransformer(32, 4, 12, 8, 384, 768, {num_classes = 10})
epoch('vit', vit, torch.optim.AdamW(vit:parameters(), {lr = 1e-3}), batches_of(make_loader(64, vit_steps)))
local resnet = models.resnet18{num_classes = 10}
epoch('resnet18', resnet, torch.optim.SGD(resnet:parameters(), {lr = 0.1, momentum = 0.9}),
  batches_of(make_loader(128, resnet_steps, transforms.RandomCrop(32, {padding = 4}), transforms.RandomHorizontalFlip())))
