-- vision/models/init.lua: models of images, as torchvision.models. Each file is read when its first model is used.

return require 'rtrain.namespace'('vision.models', {
  files = {
    {'vision.models.resnet', 'ResNet', 'BasicBlock', 'Bottleneck', 'resnet18', 'resnet34', 'resnet50', 'resnet101',
     'resnet152', 'resnext50_32x4d', 'resnext101_32x8d', 'resnext101_64x4d', 'wide_resnet50_2', 'wide_resnet101_2'},
    {'vision.models.convnet', 'ConvNet'},
    {'vision.models.vision_transformer', 'VisionTransformer', 'vit_b_16', 'vit_b_32', 'vit_l_16', 'vit_l_32',
     'vit_h_14'},
  },
})
