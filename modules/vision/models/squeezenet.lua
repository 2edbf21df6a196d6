-- vision/models/squeezenet.lua: SqueezeNet (Iandola et al. 2016).

local args = require 'base.args'
local builder = require 'vision.models.builder'
local class = require 'base.class'
local nn = require 'torch.nn'
local torch = require 'torch'

-- Reduces the channels by a 1 × 1 convolution, then expands them by parallel 1 × 1 and 3 × 3 convolutions.
local Fire = nn.Module:extend('Fire')

function Fire:init(inplanes, squeeze_planes, expand1x1_planes, expand3x3_planes)
  self.inplanes = inplanes
  self.squeeze = nn.Conv2d(inplanes, squeeze_planes, 1)
  self.squeeze_activation = nn.ReLU{inplace = true}
  self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, 1)
  self.expand1x1_activation = nn.ReLU{inplace = true}
  self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, 3, {padding = 1})
  self.expand3x3_activation = nn.ReLU{inplace = true}
end

function Fire:forward(x)
  x = self.squeeze_activation(self.squeeze(x))
  return torch.cat({self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))}, 1)
end

-- The stem's channels and kernel, then the planes of each Fire; 'M' is a pooling layer.
local LAYERS = {
  ['1_0'] = {stem = {96, 7}, 'M', {96, 16, 64}, {128, 16, 64}, {128, 32, 128}, 'M', {256, 32, 128}, {256, 48, 192},
             {384, 48, 192}, {384, 64, 256}, 'M', {512, 64, 256}},
  ['1_1'] = {stem = {64, 3}, 'M', {64, 16, 64}, {128, 16, 64}, 'M', {128, 32, 128}, {256, 32, 128}, 'M',
             {256, 48, 192}, {384, 48, 192}, {384, 64, 256}, {512, 64, 256}},
}

local function make_features(config)
  local channels, kernel = config.stem[1], config.stem[2]
  local layers = {nn.Conv2d(3, channels, kernel, {stride = 2}), nn.ReLU{inplace = true}}
  for _, layer in ipairs(config) do
    layers[#layers + 1] = layer == 'M' and nn.MaxPool2d(3, {stride = 2, ceil_mode = true})
      or Fire(layer[1], layer[2], layer[3], layer[3])
  end
  return nn.Sequential(layers)
end

---A network with few parameters: (N, 3, H, W) with H, W ≥ 21 ('1_0') or 17 ('1_1') → logits (N, num_classes). The names
---in state_dict and the initial parameters for a seed are torchvision's. Arguments: version = '1_0' (or '1_1', 2.4
---times less work), num_classes = 1000, dropout = 0.5.
---
---```lua
---local torch = require 'torch'
---local model = require('vision.models').SqueezeNet('1_1', 10)
---assert(model(torch.zeros(2, 3, 32, 32)).shape[2] == 10)
---```
---@class vision.SqueezeNet: nn.Module
---@overload fun(version?: string, num_classes?: integer, dropout?: number): vision.SqueezeNet
---@field features nn.Sequential
---@field classifier nn.Sequential its second module is the convolution that computes the classes
local SqueezeNet = nn.Module:extend('SqueezeNet')

local signature = args.signature('SqueezeNet', {{'version', '1_0'}, {'num_classes', 1000}, {'dropout', 0.5}})

local function initialize(self, final_conv)
  for _, module in ipairs(self:modules()) do
    if class.is(module, nn.Conv2d) then
      if module == final_conv then
        nn.init.normal_(module.weight, {mean = 0, std = 0.01})
      else
        nn.init.kaiming_uniform_(module.weight)
      end
      nn.init.zeros_(module.bias)
    end
  end
end

function SqueezeNet:init(...)
  local a = signature:bind(...)
  args.one_of('SqueezeNet: version', a.version, {'1_0', '1_1'})
  self.num_classes = a.num_classes
  self.features = make_features(LAYERS[a.version])
  local final_conv = nn.Conv2d(512, a.num_classes, 1)
  self.classifier = nn.Sequential(nn.Dropout(a.dropout), final_conv, nn.ReLU{inplace = true},
    nn.AdaptiveAvgPool2d{1, 1})
  initialize(self, final_conv)
end

function SqueezeNet:forward(x) return torch.flatten(self.classifier(self.features(x)), 1) end

local squeezenet = {SqueezeNet = SqueezeNet}

---SqueezeNet 1.0. Arguments: {num_classes = 1000, dropout = 0.5}; `weights` can only be nil.
squeezenet.squeezenet1_0 = builder('squeezenet1_0', SqueezeNet, {version = '1_0'})
---SqueezeNet 1.1, 2.4 times less work than 1.0; arguments as squeezenet1_0.
squeezenet.squeezenet1_1 = builder('squeezenet1_1', SqueezeNet, {version = '1_1'})

return squeezenet
