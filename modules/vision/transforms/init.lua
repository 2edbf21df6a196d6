-- vision/transforms/init.lua: torchvision.transforms: transforms of an image before it is put into a batch.
--
-- Names, arguments, results and random draws are torchvision's; image.lua defines an image.

local ABSENT = {
  v2 = 'use vision.transforms itself', ToImage = 'use PILToTensor', ToDtype = 'use ConvertImageDtype',
  Identity = 'leave it out', Scale = 'use Resize', RandomSizedCrop = 'use RandomResizedCrop',
  GaussianNoise = 'use Lambda(function(x) return x + torch.randn_like(x) * sigma end)', RGB = 'use Lambda',
}
for name in ([[ClampBoundingBoxes ClampKeyPoints ConvertBoundingBoxFormat CutMix JPEG MixUp RandomChannelPermutation
    RandomIoUCrop RandomPhotometricDistort RandomResize RandomShortestSize RandomZoomOut SanitizeBoundingBoxes
    SanitizeKeyPoints ScaleJitter SetClampingMode ToPureTensor Transform UniformTemporalSubsample]]):gmatch '%S+' do
  ABSENT[name] = 'it is of torchvision.transforms.v2; these are the transforms of torchvision.transforms'
end

return require 'base.namespace'('vision.transforms', {
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
  absent = ABSENT,
})
