-- vision/models/convnet.lua: ConvNet, the small network of the MNIST examples.

local args = require 'base.args'
local nn = require 'torch.nn'
local F = require 'torch.nn.functional'
local torch = require 'torch'

---Two convolutions and two linear layers for images of 28 × 28: (N, 1, 28, 28) → log-probabilities (N, num_classes),
---for nn.NLLLoss. The names in state_dict are those of the network in PyTorch's MNIST example. Arguments:
---num_classes = 10.
---
---```lua
---local torch = require 'torch'
---local model = require('vision.models').ConvNet():eval()
---local y = model(torch.zeros(2, 1, 28, 28))
---assert(y.shape[2] == 10 and math.abs(y:exp():sum(1)[0]:item() - 1) < 1e-5)
---```
---@class vision.ConvNet: nn.Module
---@overload fun(num_classes?: integer): vision.ConvNet
---@field conv1 nn.Conv2d 1 → 32 channels, 3 × 3
---@field conv2 nn.Conv2d 32 → 64 channels, 3 × 3
---@field fc1 nn.Linear 9216 → 128
---@field fc2 nn.Linear 128 → num_classes
local ConvNet = nn.Module:extend('ConvNet')

local signature = args.signature('ConvNet', {{'num_classes', 10}})

function ConvNet:init(...)
  local a = signature:bind(...)
  self.conv1 = nn.Conv2d(1, 32, 3, 1)
  self.conv2 = nn.Conv2d(32, 64, 3, 1)
  self.dropout1 = nn.Dropout(0.25)
  self.dropout2 = nn.Dropout(0.5)
  self.fc1 = nn.Linear(9216, 128)
  self.fc2 = nn.Linear(128, a.num_classes)
end

function ConvNet:forward(x)
  x = F.relu(self.conv2(F.relu(self.conv1(x))))
  x = self.dropout1(F.max_pool2d(x, 2))
  x = self.dropout2(F.relu(self.fc1(torch.flatten(x, 1))))
  return F.log_softmax(self.fc2(x), 1)
end

return {ConvNet = ConvNet}
