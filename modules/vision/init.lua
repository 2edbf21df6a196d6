-- vision/init.lua: data sets, files, transforms, models and operators for images, as in torchvision; and augmentation
-- of batches.
return require 'base.namespace'('vision', {
  modules = {datasets = 'vision.datasets', io = 'vision.io', transforms = 'vision.transforms', models = 'vision.models',
             augmentation = 'vision.augmentation', utils = 'vision.utils', ops = 'vision.ops'},
})
