-- vision/models/mobilenetv2.lua: MobileNetV2 (Sandler et al. 2018).

local args = require 'base.args'
local builder = require 'vision.models.builder'
local errors = require 'base.errors'
local initialize = require 'vision.models.initialize'
local nn = require 'torch.nn'
local F = require 'torch.nn.functional'
local torch = require 'torch'

-- A size-preserving convolution (except for the stride), its norm and ReLU6.
local Conv2dNormActivation = nn.Sequential:extend('Conv2dNormActivation')

function Conv2dNormActivation:init(inplanes, planes, kernel_size, options)
  nn.Sequential.init(self,
    nn.Conv2d(inplanes, planes, kernel_size, {stride = options.stride or 1, padding = (kernel_size - 1) / 2,
                                              groups = options.groups or 1, bias = false}),
    options.norm_layer(planes), nn.ReLU6{inplace = true})
  self.out_channels = planes
end

-- Python's round(): rounds half to even.
local function round(x) return x + 2 ^ 52 - 2 ^ 52 end

-- Expands the channels, convolves each separately, and reduces the channels; with a shortcut if the shape does not
-- change.
local InvertedResidual = nn.Module:extend('InvertedResidual')

local residual_signature = args.signature('InvertedResidual', {'inp', 'oup', 'stride', 'expand_ratio', {'norm_layer'}})

function InvertedResidual:init(...)
  local a = residual_signature:bind(...)
  local norm_layer = a.norm_layer or nn.BatchNorm2d
  if a.stride ~= 1 and a.stride ~= 2 then
    errors.raise('argument', ('InvertedResidual: stride = %s: it is 1 or 2'):format(tostring(a.stride)))
  end
  self.stride, self.out_channels = a.stride, a.oup
  self.use_res_connect = a.stride == 1 and a.inp == a.oup
  local hidden_dim, layers = round(a.inp * a.expand_ratio), {}
  if a.expand_ratio ~= 1 then
    layers[1] = Conv2dNormActivation(a.inp, hidden_dim, 1, {norm_layer = norm_layer})
  end
  layers[#layers + 1] = Conv2dNormActivation(hidden_dim, hidden_dim, 3, {stride = a.stride, groups = hidden_dim,
                                                                         norm_layer = norm_layer})
  layers[#layers + 1] = nn.Conv2d(hidden_dim, a.oup, 1, {bias = false})
  layers[#layers + 1] = norm_layer(a.oup)
  self.conv = nn.Sequential(layers)
end

function InvertedResidual:forward(x)
  return self.use_res_connect and x + self.conv(x) or self.conv(x)
end

-- Returns the multiple of `divisor` nearest to x, at least 0.9 x.
local function make_divisible(x, divisor)
  local near = math.max(divisor, math.floor((x + divisor / 2) / divisor) * divisor)
  return near < 0.9 * x and near + divisor or near
end

-- Expansion, channels, number of blocks and stride of the first one, as in the paper's table.
local STAGES = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2},
                {6, 320, 1, 1}}

---A network for small machines: (N, 3, H, W) → logits (N, num_classes). The names in state_dict and the initial
---parameters for a seed are torchvision's. Arguments: num_classes = 1000, width_mult = 1 (factor for the channels of
---each layer), inverted_residual_setting (a list of {expansion, channels, blocks, stride}; default: the paper's),
---round_nearest = 8 (channels become multiples of it), block (function(inp, oup, stride, {expand_ratio, norm_layer})),
---norm_layer = nn.BatchNorm2d, dropout = 0.2.
---
---```lua
---local torch = require 'torch'
---local model = require('vision.models').MobileNetV2{num_classes = 10, width_mult = 0.25}
---assert(model:eval()(torch.zeros(2, 3, 32, 32)).shape[2] == 10)
---```
---@class vision.MobileNetV2: nn.Module
---@overload fun(num_classes?: integer, width_mult?: number, ...: any): vision.MobileNetV2
---@field features nn.Sequential
---@field classifier nn.Sequential
local MobileNetV2 = nn.Module:extend('MobileNetV2')

local signature = args.signature('MobileNetV2', {{'num_classes', 1000}, {'width_mult', 1},
  {'inverted_residual_setting', STAGES}, {'round_nearest', 8}, {'block', InvertedResidual}, {'norm_layer'},
  {'dropout', 0.2}})

local function check_setting(setting)
  if type(setting) == 'table' and type(setting[1]) == 'table' and #setting[1] == 4 then return end
  errors.raise('argument', 'MobileNetV2: inverted_residual_setting is a list of {expansion, channels, blocks, stride}')
end

local function make_features(a, last_channel)
  local norm_layer = a.norm_layer or nn.BatchNorm2d
  local channels = make_divisible(32 * a.width_mult, a.round_nearest)
  local features = {Conv2dNormActivation(3, channels, 3, {stride = 2, norm_layer = norm_layer})}
  for _, stage in ipairs(a.inverted_residual_setting) do
    local expansion, planes, blocks, stride = unpack(stage)
    planes = make_divisible(planes * a.width_mult, a.round_nearest)
    for i = 1, blocks do
      features[#features + 1] = a.block(channels, planes, i == 1 and stride or 1, {expand_ratio = expansion,
                                                                                   norm_layer = norm_layer})
      channels = planes
    end
  end
  features[#features + 1] = Conv2dNormActivation(channels, last_channel, 1, {norm_layer = norm_layer})
  return nn.Sequential(features)
end

function MobileNetV2:init(...)
  local a = signature:bind(...)
  check_setting(a.inverted_residual_setting)
  self.last_channel = make_divisible(1280 * math.max(1, a.width_mult), a.round_nearest)
  self.features = make_features(a, self.last_channel)
  self.classifier = nn.Sequential(nn.Dropout(a.dropout), nn.Linear(self.last_channel, a.num_classes))
  initialize(self, {linear = true})
end

function MobileNetV2:forward(x)
  return self.classifier(torch.flatten(F.adaptive_avg_pool2d(self.features(x), {1, 1}), 1))
end

local mobilenetv2 = {MobileNetV2 = MobileNetV2}

---MobileNetV2. Arguments: {num_classes = 1000 and the other keywords of MobileNetV2}; `weights` can only be nil.
mobilenetv2.mobilenet_v2 = builder('mobilenet_v2', MobileNetV2, {})

return mobilenetv2
