-- The loss at each of the first steps of the VisionTransformer of examples/cifar_vit.lua, batch 64, on CIFAR-10 from
-- $RTRAIN_DATA, and the median seconds of a step. Prints "name<TAB>number" lines. Twin of peers/vit_curve.py: change both.
--
--   vit_curve.lua STEPS
local torch = require 'torch'
local clock = require 'events'
local data = require 'torch.utils.data'
local datasets, models, transforms = require 'vision.datasets', require 'vision.models', require 'vision.transforms'

local steps = tonumber(arg[1])
io.stdout:setvbuf 'line'
torch.manual_seed(0)
local model = models.VisionTransformer(32, 4, 12, 8, 384, 768, {num_classes = 10})
local loss_fn = torch.nn.CrossEntropyLoss()
local optimizer = torch.optim.AdamW(model:parameters(), {lr = 1e-3, weight_decay = 1e-2})
local transform = transforms.Compose{transforms.ToTensor(), transforms.Normalize({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5})}
local set = datasets.CIFAR10{train = true, transform = transform}
local loader = data.DataLoader(set, {batch_size = 64, shuffle = true})

torch.manual_seed(1)  -- for the order of the images
local times = {}
local start = clock.now()
for i, x, y in loader:enumerate() do
  if i == steps then break end
  local loss = loss_fn(model(x), y)
  optimizer:zero_grad()
  loss:backward()
  optimizer:step()
  io.write(('loss_%02d\t%.9g\n'):format(i, loss:item()))
  times[i + 1], start = clock.now() - start, clock.now()
end
table.sort(times)
io.write(('step\t%.6f\n'):format(times[math.ceil(#times / 2)]))
