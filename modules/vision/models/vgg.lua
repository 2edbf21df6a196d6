-- vision/models/vgg.lua: VGG (Simonyan and Zisserman 2015).

local args = require 'base.args'
local builder = require 'vision.models.builder'
local initialize = require 'vision.models.initialize'
local nn = require 'torch.nn'
local torch = require 'torch'

---Convolutions of 3 × 3, then three linear layers: (N, 3, H, W) with H, W ≥ 32 → logits (N, num_classes). The names in
---state_dict and the initial parameters for a seed are torchvision's. Arguments: features (a module that returns 512
---channels), {num_classes = 1000, init_weights = true (false: the default initialization of each layer), dropout =
---0.5}.
---
---To use another classifier, set the field: `model.classifier = nn.Linear(512 * 7 * 7, 10)` has 123 million parameters
---less.
---@class vision.VGG: nn.Module
---@overload fun(features: nn.Module, options?: table): vision.VGG
---@field features nn.Module
---@field classifier nn.Sequential
local VGG = nn.Module:extend('VGG')

local signature = args.signature('VGG', {'features', {'num_classes', 1000}, {'init_weights', true}, {'dropout', 0.5}})

function VGG:init(...)
  local a = signature:bind(...)
  self.features = a.features
  self.avgpool = nn.AdaptiveAvgPool2d{7, 7}
  self.classifier = nn.Sequential(
    nn.Linear(512 * 7 * 7, 4096), nn.ReLU{inplace = true}, nn.Dropout(a.dropout),
    nn.Linear(4096, 4096), nn.ReLU{inplace = true}, nn.Dropout(a.dropout),
    nn.Linear(4096, a.num_classes))
  if a.init_weights then initialize(self, {linear = true}) end
end

function VGG:forward(x)
  return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))
end

-- Convolutions of each stage; a stage ends with a pooling. The letters are the paper's.
local STAGES = {
  A = {{64}, {128}, {256, 256}, {512, 512}, {512, 512}},
  B = {{64, 64}, {128, 128}, {256, 256}, {512, 512}, {512, 512}},
  D = {{64, 64}, {128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 512, 512}},
  E = {{64, 64}, {128, 128}, {256, 256, 256, 256}, {512, 512, 512, 512}, {512, 512, 512, 512}},
}

local function make_features(stages, batch_norm)
  local layers, inplanes = {}, 3
  local function add(layer) layers[#layers + 1] = layer end
  for _, stage in ipairs(stages) do
    for _, planes in ipairs(stage) do
      add(nn.Conv2d(inplanes, planes, 3, {padding = 1}))
      if batch_norm then add(nn.BatchNorm2d(planes)) end
      add(nn.ReLU{inplace = true})
      inplanes = planes
    end
    add(nn.MaxPool2d(2, 2))
  end
  return nn.Sequential(layers)
end

local function variant(name, letter, batch_norm)
  return builder(name, VGG, {features = function() return make_features(STAGES[letter], batch_norm) end})
end

local vgg = {VGG = VGG}

---VGG with 11 layers. Arguments: {num_classes = 1000, init_weights = true, dropout = 0.5}; `weights` can only be nil.
vgg.vgg11 = variant('vgg11', 'A', false)
---VGG with 11 layers and a batch norm after each convolution; arguments as vgg11.
vgg.vgg11_bn = variant('vgg11_bn', 'A', true)
---VGG with 13 layers; arguments as vgg11.
vgg.vgg13 = variant('vgg13', 'B', false)
---VGG with 13 layers and batch norms; arguments as vgg11.
vgg.vgg13_bn = variant('vgg13_bn', 'B', true)
---VGG with 16 layers; arguments as vgg11.
vgg.vgg16 = variant('vgg16', 'D', false)
---VGG with 16 layers and batch norms; arguments as vgg11.
vgg.vgg16_bn = variant('vgg16_bn', 'D', true)
---VGG with 19 layers; arguments as vgg11.
vgg.vgg19 = variant('vgg19', 'E', false)
---VGG with 19 layers and batch norms; arguments as vgg11.
vgg.vgg19_bn = variant('vgg19_bn', 'E', true)

return vgg
