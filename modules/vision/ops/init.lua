-- vision/ops: torchvision.ops: boxes, and pooling of the regions in them.

return require 'base.namespace'('vision.ops', {
  files = {
    {'vision.ops.boxes', 'box_convert', 'box_area', 'box_iou', 'generalized_box_iou', 'distance_box_iou', 'complete_box_iou',
     'masks_to_boxes', 'clip_boxes_to_image', 'remove_small_boxes'},
    {'vision.ops.nms', 'nms', 'batched_nms'},
    {'vision.ops.roi', 'roi_align', 'roi_pool'},
    {'vision.ops.focal_loss', 'sigmoid_focal_loss'},
  },
})
