-- vision/models/init.lua: models of images, as torchvision.models. Each file is read when its first model is used.

local FILES = {
  {'vision.models.alexnet', 'AlexNet', 'alexnet'},
  {'vision.models.convnet', 'ConvNet'},
  {'vision.models.mobilenetv2', 'MobileNetV2', 'mobilenet_v2'},
  {'vision.models.resnet', 'ResNet', 'BasicBlock', 'Bottleneck', 'resnet18', 'resnet34', 'resnet50', 'resnet101',
   'resnet152', 'resnext50_32x4d', 'resnext101_32x8d', 'resnext101_64x4d', 'wide_resnet50_2', 'wide_resnet101_2'},
  {'vision.models.squeezenet', 'SqueezeNet', 'squeezenet1_0', 'squeezenet1_1'},
  {'vision.models.vgg', 'VGG', 'vgg11', 'vgg11_bn', 'vgg13', 'vgg13_bn', 'vgg16', 'vgg16_bn', 'vgg19', 'vgg19_bn'},
  {'vision.models.vision_transformer', 'VisionTransformer', 'vit_b_16', 'vit_b_32', 'vit_l_16', 'vit_l_32',
   'vit_h_14'},
}

local fields = {}
local models = require 'rtrain.namespace'('vision.models', {files = FILES}, fields)

-- Classes begin with a capital, functions that make a model do not.
local builders = {}
for _, file in ipairs(FILES) do
  for i = 2, #file do
    if file[i]:match '^%l' then builders[#builders + 1] = file[i] end
  end
end

local registry = require 'vision.models.registry'(models, builders)
fields.get_model, fields.list_models = registry.get_model, registry.list_models

return models
