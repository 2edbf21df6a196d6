-- vision/init.lua: data sets, transforms and models of images, as torchvision.
return require 'rtrain.namespace'('vision', {
  modules = {datasets = 'vision.datasets', transforms = 'vision.transforms', models = 'vision.models'},
})
