-- vision/utils/init.lua: utilities to view images, as torchvision.utils.
return require 'base.namespace'('vision.utils', {
  files = {
    {'vision.utils.grid', 'make_grid', 'save_image'},
    {'vision.utils.boxes', 'draw_bounding_boxes'},
  },
  absent = {draw_segmentation_masks = true, draw_keypoints = true, flow_to_image = true},
})
