-- A convolutional network on JPEG files in folders, one for each class: rtrain run examples/image_folder.lua
--
-- Without data of your own, `shapes10` draws some into the folder first: `images` of ten kinds of shapes to train with
-- and a fifth as many to test with. Six epochs take about a minute on 2 cores and end above 0.9 test accuracy. Your own
-- files: --set root=FOLDER, with FOLDER/train and FOLDER/test that hold a folder of JPEG or PNG files for each class.
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'
local datasets, io, T = require 'vision.datasets', require 'vision.io', require 'vision.transforms'
local nn, F = torch.nn, torch.nn.functional

local SIZE = 24

-- FOLDER/train/<class>/<number>.jpg and FOLDER/test/…; the folder gets its name when it is complete.
local function draw_images(folder, images)
  local unfinished = folder .. '.unfinished'
  for _, part in ipairs {{'train', images}, {'test', images / 5}} do
    local set = datasets.shapes10 {n = part[2], train = part[1] == 'train', size = SIZE}
    local class_folder = unfinished .. '/' .. part[1] .. '/'
    for _, name in ipairs(set.classes) do assert(os.execute(("mkdir -p '%s%s'"):format(class_folder, name)) == 0) end
    for i = 0, #set - 1 do
      local image, label = set:get(i)
      local path = ('%s%s/%04d.jpg'):format(class_folder, set.classes[label + 1], i)
      io.write_jpeg(image:permute {2, 0, 1}, path, {quality = 95})
    end
  end
  assert(os.rename(unfinished, folder))
end

local function block(inputs, outputs)
  return nn.Sequential(nn.Conv2d(inputs, outputs, 3, {padding = 1, bias = false}), nn.BatchNorm2d(outputs), nn.ReLU())
end

local function make_net(num_classes)
  return nn.Sequential(block(3, 32), block(32, 32), nn.MaxPool2d(2), block(32, 64), nn.MaxPool2d(2), nn.Flatten(),
    nn.Linear(64 * (SIZE / 4) ^ 2, 128), nn.ReLU(), nn.Linear(128, num_classes))
end

local function make_loader(config, part, shuffle)
  local steps = {T.ToTensor(), T.Normalize({0.5, 0.5, 0.5}, {0.25, 0.25, 0.25})}
  if shuffle then table.insert(steps, 1, T.RandomHorizontalFlip()) end
  -- With `size` JPEG files are decoded straight to it, and a batch goes through the transforms in one pass.
  local set = datasets.ImageFolder(config.root .. '/' .. part, {transform = T.Compose(steps), size = SIZE})
  local options = {batch_size = config.batch_size, shuffle = shuffle, num_workers = 1, persistent_workers = true}
  -- All ranks train equally many steps; a test has each image once.
  return train.torch.prepare_data_loader(data.DataLoader(set, options), {padding = shuffle}), #set.classes
end

local function accuracy(model, loader)
  local correct, seen = 0, 0
  model:eval()
  torch.no_grad(function()
    for x, y in loader do
      correct = correct + model(x):argmax(1):eq(y):sum():item()
      seen = seen + y:size(0)
    end
  end)
  model:train()
  local sums = torch.distributed.all_reduce(torch.tensor {correct, seen})
  return (sums[0] / sums[1]):item()
end

local function train_func(config)
  if train.get_context():get_world_rank() == 0 and not os.rename(config.root, config.root) then
    draw_images(config.root, config.images)
  end
  train.collective.barrier()  -- the others wait for the images
  torch.manual_seed(config.seed)
  local train_loader, num_classes = make_loader(config, 'train', true)
  local test_loader = make_loader(config, 'test', false)
  local model = train.torch.prepare_model(make_net(num_classes))
  local optimizer = torch.optim.Adam(model:parameters())
  local schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, config.lr, {total_steps = config.epochs * #train_loader})
  for epoch = 0, config.epochs - 1 do
    if train_loader.sampler.set_epoch then train_loader.sampler:set_epoch(epoch) end
    local loss
    for x, y in train_loader do
      loss = F.cross_entropy(model(x), y)
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
      schedule:step()
    end
    train.report {epoch = epoch, loss = loss:item(), accuracy = accuracy(model, test_loader)}
  end
end

local result = train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {root = 'shapes10-images', images = 5000, lr = 0.01, batch_size = 32, epochs = 6, seed = 1},
  scaling_config = train.ScalingConfig {num_workers = 2},
}:fit()
print(('test accuracy %.4f'):format(result.metrics.accuracy))
