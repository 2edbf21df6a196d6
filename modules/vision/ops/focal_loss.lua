-- vision/ops/focal_loss.lua: sigmoid_focal_loss.

local args = require 'base.args'
local errors = require 'base.errors'
local checks = require 'torch.functions.checks'
local torch = require 'torch'

local focal_loss = {}
local defined = args.definer(focal_loss)

---Computes the focal loss of RetinaNet (Lin et al. 2017), in which well classified examples have less weight.
---Arguments: inputs (logits), targets (0 or 1, same shape, floating-point), alpha = 0.25 (weight of targets 1; -1: no
---weights), gamma = 2, reduction = 'none', 'mean' or 'sum'.
---PyTorch equivalent: torchvision.ops.sigmoid_focal_loss.
---
---```lua
---local torch, ops = require 'torch', require 'vision.ops'
---local loss = ops.sigmoid_focal_loss(torch.tensor {4, -4}, torch.tensor {1, 1}, {reduction = 'none'})
---assert(loss[0]:item() < 1e-4 and loss[1]:item() > 0.9)
---```
defined('sigmoid_focal_loss', {'inputs', 'targets', {'alpha', 0.25}, {'gamma', 2}, {'reduction', 'none'}}, function(p)
  local inputs = checks.tensor('sigmoid_focal_loss: inputs', p.inputs)
  local targets = checks.tensor('sigmoid_focal_loss: targets', p.targets)
  if p.alpha ~= -1 and not (p.alpha >= 0 and p.alpha <= 1) then
    errors.raise('argument', ('sigmoid_focal_loss: alpha is in [0, 1], or -1, not %s'):format(tostring(p.alpha)))
  end
  args.one_of('sigmoid_focal_loss: reduction', p.reduction, {'none', 'mean', 'sum'})
  local probability = inputs:sigmoid()
  local of_target = probability * targets + (1 - probability) * (1 - targets)
  local loss = torch.nn.functional.binary_cross_entropy_with_logits(inputs, targets, {reduction = 'none'})
    * (1 - of_target) ^ p.gamma
  if p.alpha >= 0 then loss = (p.alpha * targets + (1 - p.alpha) * (1 - targets)) * loss end
  if p.reduction == 'none' then return loss end
  return p.reduction == 'mean' and loss:mean() or loss:sum()
end)

return focal_loss
