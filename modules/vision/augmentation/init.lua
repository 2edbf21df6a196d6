-- vision/augmentation/init.lua: random changes of whole batches of images, computed where the images lie.
--
-- For images that stay on the device during training. Each sample of the batch has a draw of its own, as in
-- kornia.augmentation, whose names these are; torchvision's transforms draw once a call, so a batch given to them is changed
-- as one. Everything is operators on the images' device: nothing waits for it, and a CUDA graph may hold it.

return require 'base.namespace'('vision.augmentation', {
  files = {
    {'vision.augmentation.crop', 'RandomCrop'},
    {'vision.augmentation.flip', 'RandomHorizontalFlip', 'RandomVerticalFlip'},
    {'vision.augmentation.cutout', 'RandomCutout'},
    {'vision.augmentation.normalize', 'Normalize'},
    {'vision.transforms.compose', 'Compose'},
  },
})
