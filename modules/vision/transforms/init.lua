-- vision/transforms/init.lua: what is done to an image before it is put into a batch, as torchvision.transforms: the same
-- names, arguments, numbers and draws from the random generator. image.lua says what an image is.

local V2 = 'it is a name of torchvision.transforms.v2: these are the transforms of torchvision.transforms'

return require 'rtrain.namespace'('vision.transforms', {
  files = {
    {'vision.transforms.compose', 'Compose', 'RandomApply', 'RandomChoice', 'RandomOrder', 'Lambda'},
    {'vision.transforms.conversion', 'ToTensor', 'PILToTensor', 'ToPILImage', 'ConvertImageDtype'},
    {'vision.transforms.normalization', 'Normalize', 'LinearTransformation'},
    {'vision.transforms.resize', 'Resize'},
    {'vision.transforms.pad', 'Pad'},
    {'vision.transforms.crop', 'CenterCrop', 'RandomCrop', 'RandomResizedCrop', 'FiveCrop', 'TenCrop'},
    {'vision.transforms.flip', 'RandomHorizontalFlip', 'RandomVerticalFlip'},
    {'vision.transforms.warp', 'RandomRotation', 'RandomAffine', 'RandomPerspective', 'ElasticTransform'},
    {'vision.transforms.color', 'ColorJitter', 'Grayscale', 'RandomGrayscale'},
    {'vision.transforms.tone', 'RandomInvert', 'RandomPosterize', 'RandomSolarize', 'RandomAutocontrast', 'RandomEqualize',
     'RandomAdjustSharpness'},
    {'vision.transforms.blur', 'GaussianBlur'},
    {'vision.transforms.erasing', 'RandomErasing'},
    {'vision.transforms.autoaugment', 'AutoAugment', 'AutoAugmentPolicy', 'RandAugment', 'TrivialAugmentWide', 'AugMix'},
    {'vision.transforms.interpolation', 'InterpolationMode'},
    {'vision.transforms.batch', 'batched', 'identity'},
  },
  modules = {functional = 'vision.transforms.functional'},
  later = {
    v2 = 'use vision.transforms itself', ToImage = 'use PILToTensor', ToDtype = 'use ConvertImageDtype',
    MixUp = V2, CutMix = V2, JPEG = V2, RandomIoUCrop = V2, RandomZoomOut = V2, RandomPhotometricDistort = V2,
    RandomShortestSize = V2, RandomResize = V2, ScaleJitter = V2, RandomChannelPermutation = V2, GaussianNoise = V2,
    RGB = V2, Identity = 'leave it out', Scale = 'use Resize', RandomSizedCrop = 'use RandomResizedCrop',
  },
})
