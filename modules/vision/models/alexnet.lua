-- vision/models/alexnet.lua: AlexNet in its one-column form (Krizhevsky 2014).

local args = require 'base.args'
local builder = require 'vision.models.builder'
local nn = require 'torch.nn'
local torch = require 'torch'

local function features()
  return nn.Sequential(
    nn.Conv2d(3, 64, 11, {stride = 4, padding = 2}), nn.ReLU{inplace = true}, nn.MaxPool2d(3, 2),
    nn.Conv2d(64, 192, 5, {padding = 2}), nn.ReLU{inplace = true}, nn.MaxPool2d(3, 2),
    nn.Conv2d(192, 384, 3, {padding = 1}), nn.ReLU{inplace = true},
    nn.Conv2d(384, 256, 3, {padding = 1}), nn.ReLU{inplace = true},
    nn.Conv2d(256, 256, 3, {padding = 1}), nn.ReLU{inplace = true}, nn.MaxPool2d(3, 2))
end

---Five convolutions and three linear layers: (N, 3, H, W) with H, W ≥ 63 → logits (N, num_classes). The names in state_dict
---and the initial parameters for a seed are torchvision's. Arguments: num_classes = 1000, dropout = 0.5.
---@class vision.AlexNet: nn.Module
---@overload fun(num_classes?: integer, dropout?: number): vision.AlexNet
---@field features nn.Sequential the convolutions
---@field classifier nn.Sequential the linear layers
local AlexNet = nn.Module:extend('AlexNet')

local signature = args.signature('AlexNet', {{'num_classes', 1000}, {'dropout', 0.5}})

function AlexNet:init(...)
  local a = signature:bind(...)
  self.features = features()
  self.avgpool = nn.AdaptiveAvgPool2d{6, 6}
  self.classifier = nn.Sequential(
    nn.Dropout(a.dropout), nn.Linear(256 * 6 * 6, 4096), nn.ReLU{inplace = true},
    nn.Dropout(a.dropout), nn.Linear(4096, 4096), nn.ReLU{inplace = true},
    nn.Linear(4096, a.num_classes))
end

function AlexNet:forward(x)
  return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))
end

local alexnet = {AlexNet = AlexNet}

---AlexNet. Arguments: {num_classes = 1000, dropout = 0.5}; `weights` can only be nil.
alexnet.alexnet = builder('alexnet', AlexNet, {})

return alexnet
