-- vision/models/resnet.lua: residual networks (He et al. 2016), wide ones and ResNeXt.

local args = require 'base.args'
local builder = require 'vision.models.builder'
local class = require 'base.class'
local errors = require 'base.errors'
local initialize = require 'vision.models.initialize'
local nn = require 'torch.nn'
local torch = require 'torch'

local function conv1x1(inplanes, planes, stride)
  return nn.Conv2d(inplanes, planes, 1, {stride = stride, bias = false})
end

-- The padding preserves the size.
local function conv3x3(inplanes, planes, stride, groups, dilation)
  return nn.Conv2d(inplanes, planes, 3, {stride = stride, padding = dilation, groups = groups, dilation = dilation,
                                         bias = false})
end

local BLOCK_PARAMETERS = {'inplanes', 'planes', {'stride', 1}, {'downsample'}, {'groups', 1}, {'base_width', 64},
                          {'dilation', 1}, {'norm_layer'}}

---Two 3 × 3 convolutions around a shortcut: (N, inplanes, H, W) → (N, planes, H / stride, W / stride). Arguments:
---inplanes, planes, {stride = 1, downsample (a module for the shortcut), groups = 1, base_width = 64, dilation = 1,
---norm_layer = nn.BatchNorm2d}; groups, base_width and dilation accept only these values here.
---@class vision.BasicBlock: nn.Module
---@overload fun(inplanes: integer, planes: integer, options?: table): vision.BasicBlock
---@field expansion integer 1: channels of the output, in units of planes
local BasicBlock = nn.Module:extend('BasicBlock')
BasicBlock.expansion = 1

local basic_signature = args.signature('BasicBlock', BLOCK_PARAMETERS)

function BasicBlock:init(...)
  local a = basic_signature:bind(...)
  local norm_layer = a.norm_layer or nn.BatchNorm2d
  if a.groups ~= 1 or a.base_width ~= 64 or a.dilation ~= 1 then
    errors.raise('argument', ('BasicBlock: groups = %s, base_width = %s, dilation = %s: it has only 1, 64 and 1: use '
      .. 'Bottleneck'):format(tostring(a.groups), tostring(a.base_width), tostring(a.dilation)))
  end
  self.conv1 = conv3x3(a.inplanes, a.planes, a.stride, 1, 1)
  self.bn1 = norm_layer(a.planes)
  self.relu = nn.ReLU{inplace = true}
  self.conv2 = conv3x3(a.planes, a.planes, 1, 1, 1)
  self.bn2 = norm_layer(a.planes)
  self.downsample = a.downsample
  self.stride = a.stride
end

function BasicBlock:forward(x)
  local out = self.relu(self.bn1(self.conv1(x)))
  out = self.bn2(self.conv2(out))
  local shortcut = self.downsample and self.downsample(x) or x
  return self.relu(out:add_(shortcut))
end

---Convolutions of 1 × 1, 3 × 3 and 1 × 1 around a shortcut: (N, inplanes, H, W) → (N, 4 · planes, H / stride, W / stride);
---the 3 × 3 convolution has the stride. Arguments: inplanes, planes, {stride = 1, downsample (a module for the
---shortcut), groups = 1, base_width = 64 (channels of a group for 64 planes), dilation = 1, norm_layer =
---nn.BatchNorm2d}.
---@class vision.Bottleneck: nn.Module
---@overload fun(inplanes: integer, planes: integer, options?: table): vision.Bottleneck
---@field expansion integer 4: channels of the output, in units of planes
local Bottleneck = nn.Module:extend('Bottleneck')
Bottleneck.expansion = 4

local bottleneck_signature = args.signature('Bottleneck', BLOCK_PARAMETERS)

function Bottleneck:init(...)
  local a = bottleneck_signature:bind(...)
  local norm_layer = a.norm_layer or nn.BatchNorm2d
  local width = math.floor(a.planes * (a.base_width / 64)) * a.groups
  local outplanes = a.planes * self.expansion
  self.conv1 = conv1x1(a.inplanes, width, 1)
  self.bn1 = norm_layer(width)
  self.conv2 = conv3x3(width, width, a.stride, a.groups, a.dilation)
  self.bn2 = norm_layer(width)
  self.conv3 = conv1x1(width, outplanes, 1)
  self.bn3 = norm_layer(outplanes)
  self.relu = nn.ReLU{inplace = true}
  self.downsample = a.downsample
  self.stride = a.stride
end

function Bottleneck:forward(x)
  local out = self.relu(self.bn1(self.conv1(x)))
  out = self.relu(self.bn2(self.conv2(out)))
  out = self.bn3(self.conv3(out))
  local shortcut = self.downsample and self.downsample(x) or x
  return self.relu(out:add_(shortcut))
end

---A residual network: (N, 3, H, W) → logits (N, num_classes). The names in state_dict and the initial parameters for a
---seed are torchvision's. Arguments: block (BasicBlock or Bottleneck), layers (blocks of each of the four stages),
---{num_classes = 1000, zero_init_residual = false (true: each block is initially its shortcut), groups = 1,
---width_per_group = 64, replace_stride_with_dilation = {false, false, false} (for the last three stages), norm_layer =
---nn.BatchNorm2d}.
---
---To use another stem, set the field: for one channel `model.conv1 = nn.Conv2d(1, 64, 7, {stride = 2, padding = 3, bias
---= false})`.
---
---```lua
---local torch = require 'torch'
---local models = require 'vision.models'
---local model = models.ResNet(models.BasicBlock, {1, 1, 1, 1}, {num_classes = 10})
---assert(model(torch.zeros(2, 3, 32, 32)).shape[2] == 10)
---assert(model:state_dict()['layer2.0.downsample.0.weight'].shape[1] == 128)
---```
---@class vision.ResNet: nn.Module
---@overload fun(block: table, layers: integer[], options?: table): vision.ResNet
---@field conv1 nn.Conv2d the stem, 3 → 64 channels, 7 × 7, stride 2
---@field fc nn.Linear from the pooled features to num_classes
local ResNet = nn.Module:extend('ResNet')

local signature = args.signature('ResNet', {'block', 'layers', {'num_classes', 1000}, {'zero_init_residual', false},
  {'groups', 1}, {'width_per_group', 64}, {'replace_stride_with_dilation', {false, false, false}}, {'norm_layer'}})

local function check_list(name, value, count)
  if type(value) == 'table' and #value == count then return end
  errors.raise('argument', ('ResNet: %s is a list of %d values'):format(name, count))
end

-- Returns the blocks of one stage, and updates `self.inplanes` and `self.dilation` for the next stage.
local function make_stage(self, a, planes, index)
  local stride, first_dilation = index == 1 and 1 or 2, self.dilation
  if index > 1 and a.replace_stride_with_dilation[index - 1] then
    self.dilation, stride = self.dilation * stride, 1
  end
  local outplanes = planes * a.block.expansion
  local downsample
  if stride ~= 1 or self.inplanes ~= outplanes then
    downsample = nn.Sequential(conv1x1(self.inplanes, outplanes, stride), a.norm_layer(outplanes))
  end
  local blocks = {}
  for i = 1, a.layers[index] do
    local first = i == 1
    blocks[i] = a.block(self.inplanes, planes, {
      stride = first and stride or 1, downsample = first and downsample or nil, groups = a.groups,
      base_width = a.width_per_group, dilation = first and first_dilation or self.dilation, norm_layer = a.norm_layer,
    })
    self.inplanes = outplanes
  end
  return nn.Sequential(blocks)
end

-- Initializes each block to its shortcut.
local function zero_last_norms(self)
  for _, module in ipairs(self:modules()) do
    local last = class.is(module, Bottleneck) and module.bn3 or class.is(module, BasicBlock) and module.bn2
    if last and last.weight ~= nil then nn.init.zeros_(last.weight) end
  end
end

function ResNet:init(...)
  local a = signature:bind(...)
  check_list('layers', a.layers, 4)
  check_list('replace_stride_with_dilation', a.replace_stride_with_dilation, 3)
  a.norm_layer = a.norm_layer or nn.BatchNorm2d
  self.inplanes, self.dilation = 64, 1
  self.groups, self.base_width = a.groups, a.width_per_group
  self.conv1 = nn.Conv2d(3, 64, 7, {stride = 2, padding = 3, bias = false})
  self.bn1 = a.norm_layer(64)
  self.relu = nn.ReLU{inplace = true}
  self.maxpool = nn.MaxPool2d(3, {stride = 2, padding = 1})
  self.layer1 = make_stage(self, a, 64, 1)
  self.layer2 = make_stage(self, a, 128, 2)
  self.layer3 = make_stage(self, a, 256, 3)
  self.layer4 = make_stage(self, a, 512, 4)
  self.avgpool = nn.AdaptiveAvgPool2d{1, 1}
  self.fc = nn.Linear(512 * a.block.expansion, a.num_classes)
  initialize(self)
  if a.zero_init_residual then zero_last_norms(self) end
end

function ResNet:forward(x)
  x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
  x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
  return self.fc(torch.flatten(self.avgpool(x), 1))
end

local function variant(name, block, layers, options)
  local preset = {block = block, layers = layers}
  for key, value in next, options or {} do preset[key] = value end
  return builder(name, ResNet, preset)
end

local resnet = {ResNet = ResNet, BasicBlock = BasicBlock, Bottleneck = Bottleneck}

---ResNet-18. Arguments: {num_classes = 1000 and the other keywords of ResNet}; `weights` can only be nil.
---
---```lua
---local model = require('vision.models').resnet18{num_classes = 10}
---local count = 0
---for _, parameter in ipairs(model:parameters()) do count = count + parameter:numel() end
---assert(count == 11181642)
---```
resnet.resnet18 = variant('resnet18', BasicBlock, {2, 2, 2, 2})
---ResNet-34; arguments as resnet18.
resnet.resnet34 = variant('resnet34', BasicBlock, {3, 4, 6, 3})
---ResNet-50; arguments as resnet18. The stride is in the 3 × 3 convolution, as in torchvision.
resnet.resnet50 = variant('resnet50', Bottleneck, {3, 4, 6, 3})
---ResNet-101; arguments as resnet18.
resnet.resnet101 = variant('resnet101', Bottleneck, {3, 4, 23, 3})
---ResNet-152; arguments as resnet18.
resnet.resnet152 = variant('resnet152', Bottleneck, {3, 8, 36, 3})
---ResNeXt-50 with 32 groups of 4 channels (Xie et al. 2017); arguments as resnet18.
resnet.resnext50_32x4d = variant('resnext50_32x4d', Bottleneck, {3, 4, 6, 3}, {groups = 32, width_per_group = 4})
---ResNeXt-101 with 32 groups of 8 channels; arguments as resnet18.
resnet.resnext101_32x8d = variant('resnext101_32x8d', Bottleneck, {3, 4, 23, 3}, {groups = 32, width_per_group = 8})
---ResNeXt-101 with 64 groups of 4 channels; arguments as resnet18.
resnet.resnext101_64x4d = variant('resnext101_64x4d', Bottleneck, {3, 4, 23, 3}, {groups = 64, width_per_group = 4})
---ResNet-50 with inner convolutions twice as wide (Zagoruyko and Komodakis 2016); arguments as resnet18.
resnet.wide_resnet50_2 = variant('wide_resnet50_2', Bottleneck, {3, 4, 6, 3}, {width_per_group = 128})
---ResNet-101 with inner convolutions twice as wide; arguments as resnet18.
resnet.wide_resnet101_2 = variant('wide_resnet101_2', Bottleneck, {3, 4, 23, 3}, {width_per_group = 128})

return resnet
