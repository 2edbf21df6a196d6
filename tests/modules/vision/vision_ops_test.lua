-- vision.ops: results that can be computed by hand; torchvision's numbers follow from the same formulas.
local lu = require 'luaunit'
local ops = require 'vision.ops'
local torch = require 'torch'

TestVisionOps = {}

local BOXES = torch.tensor {{0, 0, 10, 10}, {1, 1, 10, 10}, {20, 20, 30, 30}, {0, 0, 10, 9}}
local SCORES = torch.tensor {0.5, 0.9, 0.7, 0.6}

function TestVisionOps:test_suppression()
  lu.assertEquals(ops.nms(BOXES, SCORES, 0.5):tolist(), {1, 2})
  lu.assertEquals(ops.nms(BOXES, SCORES, 0.85):tolist(), {1, 2, 3})
  lu.assertEquals(ops.batched_nms(BOXES, SCORES, torch.tensor {0, 1, 0, 0}, 0.5):tolist(), {1, 2, 3})
  lu.assertEquals(#ops.nms(torch.zeros(0, 4), torch.zeros(0), 0.5), 0)
  lu.assertErrorMsgContains('one number for each of the 4 boxes', ops.nms, BOXES, torch.ones(3), 0.5)
end

function TestVisionOps:test_overlaps()
  local a, b = torch.tensor {{0, 0, 2, 2}}, torch.tensor {{1, 0, 3, 2}, {4, 0, 6, 2}}
  torch.testing.assert_close(ops.box_iou(a, b), torch.tensor {{1 / 3, 0}})
  torch.testing.assert_close(ops.generalized_box_iou(a, b), torch.tensor {{1 / 3, -1 / 3}})
  torch.testing.assert_close(ops.distance_box_iou(a, b), torch.tensor {{1 / 3 - 1 / 13, -16 / 40}})
  torch.testing.assert_close(ops.complete_box_iou(a, b), ops.distance_box_iou(a, b))
  for _, format in ipairs {'xyxy', 'xywh', 'cxcywh'} do
    local there = ops.box_convert(BOXES, 'xyxy', format)
    lu.assertTrue(torch.equal(ops.box_convert(there, format, 'xyxy'), BOXES))
    lu.assertTrue(torch.equal(ops.box_area(there, format), torch.tensor {100, 81, 100, 90}))
    torch.testing.assert_close(ops.box_iou(there, there, format), ops.box_iou(BOXES, BOXES))
  end
end

-- The image 10·y + x is linear, so interpolation between pixels is exact.
function TestVisionOps:test_regions()
  local x = (torch.arange(8):view(8, 1) * 10 + torch.arange(8)):float():view(1, 1, 8, 8)
  x.requires_grad = true
  local y = ops.roi_align(x, {torch.tensor {{1, 2, 5, 6}}}, 2, {sampling_ratio = 2, aligned = true})
  torch.testing.assert_close(y:detach(), torch.tensor {{{{26.5, 28.5}, {46.5, 48.5}}}})
  y:sum():backward()
  lu.assertAlmostEquals(x.grad:sum():item(), 4, 1e-5)
  local pooled = ops.roi_pool(x, torch.tensor {{0, 1, 2, 4, 5}}, {2, 2})
  lu.assertEquals(pooled:detach():view(-1):tolist(), {32, 34, 52, 54})
  lu.assertEquals(ops.roi_align(x, torch.zeros(0, 5), 3).shape[3], 3)
  lu.assertErrorMsgContains('a box is of image 1, and input has 1', ops.roi_pool, x, torch.tensor {{1, 0, 0, 2, 2}}, 2)
end

function TestVisionOps:test_masks_and_focal_loss()
  local masks = torch.zeros(2, 5, 6)
  masks[{0, torch.slice(2, 4), torch.slice(1, 4)}] = 1
  lu.assertEquals(ops.masks_to_boxes(masks):tolist(), {{1, 2, 3, 3}, {0, 0, 0, 0}})
  torch.testing.assert_close(ops.sigmoid_focal_loss(torch.zeros(1), torch.ones(1)), torch.tensor {0.25 * 0.25 * math.log(2)})
end

os.exit(lu.LuaUnit.run(), true)
