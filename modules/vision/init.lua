-- vision/init.lua: data sets and transforms of images, as torchvision.
return require 'rtrain.namespace'('vision', {
  modules = {datasets = 'vision.datasets', transforms = 'vision.transforms'},
  later = {models = true},
})
