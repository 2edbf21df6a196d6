-- vision/augmentation/init.lua: random changes of whole batches of images, computed on the device of the images.
--
-- For images that stay on the device during training. Each sample of the batch gets its own draw, as in
-- kornia.augmentation, from which the names are taken; torchvision's transforms draw once for each call, so they change
-- all samples of a batch equally. All operators run on the images' device: none waits for it, and a CUDA graph may
-- contain them.

return require 'base.namespace'('vision.augmentation', {
  files = {
    {'vision.augmentation.crop', 'RandomCrop'},
    {'vision.augmentation.flip', 'RandomHorizontalFlip', 'RandomVerticalFlip'},
    {'vision.augmentation.cutout', 'RandomCutout'},
    {'vision.augmentation.normalize', 'Normalize'},
    {'vision.transforms.compose', 'Compose'},
  },
})
