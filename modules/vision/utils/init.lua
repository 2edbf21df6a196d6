-- vision/utils/init.lua: images to look at, as torchvision.utils.
return require 'base.namespace'('vision.utils', {
  files = {
    {'vision.utils.grid', 'make_grid', 'save_image'},
    {'vision.utils.boxes', 'draw_bounding_boxes'},
  },
  absent = {draw_segmentation_masks = true, draw_keypoints = true, flow_to_image = true},
})
