-- vision/transforms/functional/init.lua: torchvision.transforms.functional: transforms with explicit parameters.

return require 'base.namespace'('vision.transforms.functional', {
  files = {
    {'vision.transforms.functional.conversion', 'to_tensor', 'pil_to_tensor', 'to_pil_image', 'convert_image_dtype',
     'get_dimensions', 'get_image_size', 'get_image_num_channels'},
    {'vision.transforms.functional.normalization', 'normalize'},
    {'vision.transforms.functional.resize', 'resize'},
    {'vision.transforms.functional.pad', 'pad'},
    {'vision.transforms.functional.crop', 'crop', 'center_crop', 'resized_crop', 'five_crop', 'ten_crop', 'hflip',
     'vflip'},
    {'vision.transforms.functional.warp', 'rotate', 'affine', 'perspective', 'elastic_transform'},
    {'vision.transforms.functional.color', 'rgb_to_grayscale', 'adjust_brightness', 'adjust_contrast',
     'adjust_saturation', 'adjust_hue', 'adjust_gamma'},
    {'vision.transforms.functional.tone', 'invert', 'posterize', 'solarize', 'autocontrast', 'equalize'},
    {'vision.transforms.functional.blur', 'gaussian_blur', 'adjust_sharpness'},
    {'vision.transforms.functional.erase', 'erase'},
    {'vision.transforms.interpolation', 'InterpolationMode'},
  },
  absent = {to_grayscale = 'use rgb_to_grayscale(img, num_output_channels)'},
})
