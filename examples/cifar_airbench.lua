-- A network made for 94 % on CIFAR-10 within seconds on a GPU: rtrain run examples/cifar_airbench.lua
--
-- After "94% on CIFAR-10 in 3.29 Seconds on a Single GPU" (Keller Jordan, 2024, https://arxiv.org/abs/2404.00498): a first
-- layer that whitens patches of the training images, convolutions that begin as identities, Nesterov SGD with a rate of its
-- own for biases, label smoothing, a triangular schedule, Lookahead, alternating flips, and evaluation over six views.
--
-- Images: $RTRAIN_DATA/cifar10; --set dataset=shapes10 needs no files. On a GPU everything is float16 and channels_last, and
-- the images stay there. On the CPU the same program computes in float32 and channels_last, slowly; a taste of it:
--   rtrain run examples/cifar_airbench.lua --set epochs=2 --set width=8 --set limit=2000 --set batch_size=100
-- With --set runs=20 the mean of twenty networks is the last line:
--
--   [rank 0] mean of 20 runs: accuracy …, … s
local torch = require 'torch'
local train = require 'rtrain'
local augmentation, datasets = require 'vision.augmentation', require 'vision.datasets'
local nn, F = torch.nn, torch.nn.functional

local SETS = {cifar10 = datasets.CIFAR10, shapes10 = datasets.shapes10}
local MEAN, STD = {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}

-- {images, normalized, in the network's dtype; labels}, on the device.
local function load_images(config, is_train, device, dtype)
  local set = assert(SETS[config.dataset], "--set dataset: 'cifar10' or 'shapes10'"){train = is_train}
  local count = math.min(is_train and config.limit or config.test_limit, #set)
  local bytes = set.data:narrow(0, 0, count):to(device):movedim(-1, 1)
  return {augmentation.Normalize(MEAN, STD, {dtype = dtype})(bytes), set.targets:narrow(0, 0, count):to(device)}
end

-- Convolutions pass their input on at first, as far as there are channels for it.
local function conv(from, to)
  local layer = nn.Conv2d(from, to, 3, {padding = 1, bias = false})
  torch.no_grad(function() nn.init.dirac_(layer.weight:narrow(0, 0, math.min(from, to))) end)
  return layer
end

-- Without a scale, and fast to follow the batches.
local function batch_norm(width)
  local norm = nn.BatchNorm2d(width, {eps = 1e-12, momentum = 0.4})
  norm.weight:requires_grad_(false)
  return norm
end

local function block(from, to)
  return nn.Sequential(conv(from, to), nn.MaxPool2d(2), batch_norm(to), nn.GELU(), conv(to, to), batch_norm(to), nn.GELU())
end

local Net = nn.Module:extend 'Net'

function Net:init(width)
  self.whiten = nn.Conv2d(3, 24, 2)
  self.whiten.weight:requires_grad_(false)
  self.blocks = nn.Sequential(block(24, width), block(width, 4 * width), block(4 * width, 4 * width), nn.MaxPool2d(3))
  self.head = nn.Linear(4 * width, 10, {bias = false})
end

function Net:forward(x)
  return self.head(self.blocks(F.gelu(self.whiten(x))):flatten(1)) / 9
end

-- Both signs of the 12 principal directions of 2 × 2 patches, each with variance 1.
local function whiten(net, images)
  local patches = images:float():unfold(2, 2, 1):unfold(3, 2, 1):movedim(1, 3):reshape(-1, 12)
  local values, vectors = torch.linalg.eigh(patches.T:matmul(patches) / patches:size(0))
  local filters = (vectors / torch.sqrt(values + 5e-4)).T:reshape(12, 3, 2, 2)
  torch.no_grad(function() net.whiten.weight:copy_(torch.cat({filters, -filters})) end)
end

-- SGD whose weight decay does not depend on the rate; lr and decay are given for 1024 images at momentum 0.
local function make_optimizer(net, config)
  local scale = 1024 * (1 + 1 / (1 - config.momentum))
  local lr, decay = config.lr / scale, config.weight_decay * config.batch_size / scale
  local biases, others = {}, {}
  for name, param in net:named_parameters() do
    if param.requires_grad and name ~= 'whiten.bias' then table.insert(name:match 'bias' and biases or others, param) end
  end
  local bias_lr = lr * config.bias_scaler
  return torch.optim.SGD({
    {params = biases, lr = bias_lr, weight_decay = decay / bias_lr},
    {params = others, lr = lr, weight_decay = decay / lr},
    {params = {net.whiten.bias}, lr = lr, weight_decay = decay / lr},
  }, {momentum = config.momentum, nesterov = true})
end

-- From 0.2 of the peak up to it in 23 % of the steps, and down to 0.07 of it.
local function triangle(step, steps)
  local peak = math.floor(0.23 * steps)
  if step < peak then return 0.2 + 0.8 * step / peak end
  return 1 - 0.93 * (step - peak) / math.max(1, steps - peak)
end

-- The slow copy of Lookahead goes towards the network, which goes on from it.
local function look_ahead(slow, state, decay)
  for i, value in ipairs(state) do value:copy_(slow[i]:lerp_(value, 1 - decay)) end
end

local function floating_state(net)
  local state = {}
  for _, value in require('base.ordered').items(net:state_dict()) do
    if value:is_floating_point() then state[#state + 1] = value end
  end
  return state
end

-- An epoch's images: every image is mirrored in every second epoch, and moved by up to two pixels.
local function augmented(images, epoch, first)
  local mirrored = first:eq(epoch % 2):view(-1, 1, 1, 1)
  return augmentation.RandomCrop(32, {padding = 2, padding_mode = 'reflect'})(torch.where(mirrored, images:flip{3}, images))
end

-- The mean over an image, its mirror image, and both moved by a pixel up left and down right.
local function evaluate(net, images, labels)
  local function both(x) return net(x) + net(x:flip{3}) end
  local correct = torch.zeros(1, {device = labels.device})
  net:eval()
  torch.no_grad(function()
    for start = 0, #images - 1, 2000 do
      local count = math.min(2000, #images - start)
      local x = images:narrow(0, start, count):contiguous{memory_format = 'channels_last'}
      local padded = F.pad(x, {1, 1, 1, 1}, 'reflect')
      local moved = both(padded[{'...', torch.slice(0, 32), torch.slice(0, 32)}])
        + both(padded[{'...', torch.slice(2, 34), torch.slice(2, 34)}])
      correct:add_((2 * both(x) + moved):argmax(1):eq(labels:narrow(0, start, count)):sum())
    end
  end)
  return correct:item() / #images
end

local function train_network(config, images, labels)
  local net = Net(config.width):to{device = images.device, dtype = images.dtype, memory_format = 'channels_last'}
  net:apply(function(module) if module.running_mean then module:float() end end)
  whiten(net, images:narrow(0, 0, math.min(5000, #images)))
  local optimizer, state, slow = make_optimizer(net, config), floating_state(net), {}
  for i, value in ipairs(state) do slow[i] = value:clone() end
  local rates = {}
  for i, group in ipairs(optimizer.param_groups) do rates[i] = group.lr end
  local in_epoch = math.floor(#images / config.batch_size)
  local step, steps = 0, math.ceil(config.epochs * in_epoch)
  local first = torch.rand(#images, {device = images.device}):lt(0.5)
  for epoch = 0, math.ceil(config.epochs) - 1 do
    local inputs, order = augmented(images, epoch, first), torch.randperm(#images, {device = images.device})
    net:train()
    for batch = 0, math.min(in_epoch, steps - step) - 1 do
      local rows = order:narrow(0, batch * config.batch_size, config.batch_size)
      local x = inputs:index_select(0, rows):contiguous{memory_format = 'channels_last'}
      local loss = F.cross_entropy(net(x), labels:index_select(0, rows), {label_smoothing = 0.2, reduction = 'sum'})
      for i, group in ipairs(optimizer.param_groups) do group.lr = rates[i] * triangle(step, steps) end
      if epoch >= 3 then optimizer.param_groups[3].lr = 0 end
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
      step = step + 1
      if step % 5 == 0 then look_ahead(slow, state, 0.95 ^ 5 * (step / steps) ^ 3) end
    end
  end
  look_ahead(slow, state, 1)
  return net
end

local function train_func(config)
  local device = train.torch.get_device()
  torch.backends.cudnn.benchmark = true
  local dtype = device == 'cpu' and 'float32' or 'float16'
  local images, labels = unpack(load_images(config, true, device, dtype))
  local test_images, test_labels = unpack(load_images(config, false, device, dtype))
  local total, seconds = 0, {}
  for run = 1, config.runs do
    torch.manual_seed(config.seed + run)
    local start = train.time.monotonic()
    local accuracy = evaluate(train_network(config, images, labels), test_images, test_labels)
    seconds[run] = train.time.monotonic() - start
    total = total + accuracy
    train.report{accuracy = accuracy, seconds = seconds[run]}
  end
  table.sort(seconds)
  print(('mean of %d runs: accuracy %.4f; median %.2f s'):format(config.runs, total / config.runs,
    seconds[math.ceil(config.runs / 2)]))
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {
    epochs = 9.9, batch_size = 1024, lr = 11.5, momentum = 0.85, weight_decay = 0.0153, bias_scaler = 64, width = 64,
    runs = 1, dataset = 'cifar10', limit = 50000, test_limit = 10000, seed = 0,
  },
  scaling_config = train.ScalingConfig{num_workers = 1, use_gpu = torch.cuda.is_available()},
}:fit()
