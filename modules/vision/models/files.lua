-- vision/models/files.lua: the models in each file: names of classes begin with a capital, functions with a small
-- letter.

return {
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
