-- The models of vision.models with weights computed by formula, and their logits: the Lua side of harness/vision.py.

local torch = require 'torch'
local fill = require 'harness.fill'
local models = require 'vision.models'
local ordered = require 'base.ordered'

local vision = {}

local PRIME = 2003

-- Returns the values of a tensor in the state: repeated rows of PRIME numbers, scaled by a power of two near 1 /
-- √fan_in.
local function numbers(name, value, place)
  local is_var = name:match 'running_var$' ~= nil
  local row = fill.tensor({PRIME}, is_var and 'positive' or 'signed_unit', 'float32', place)
  local count = value:numel()
  local fan_in = value:dim() > 1 and count / value:size(0) or 1
  local scale = is_var and 1 or 2 ^ -math.ceil(math.log(fan_in, 2) / 2)
  return row:repeat_(math.floor(count / PRIME) + 1):narrow(0, 0, count):view(value:size()) * scale
end

local function fill_state(model)
  local place = 299
  torch.no_grad(function()
    for name, value in ordered.items(model:state_dict()) do
      place = place + 1
      if value:is_floating_point() then value:copy_(numbers(name, value, place)) end
    end
  end)
  return model
end

---Returns ResNet-18 for images of one channel, as the MNIST example creates it.
function vision.resnet18_gray()
  local model = models.resnet18{num_classes = 10}
  model.conv1 = torch.nn.Conv2d(1, 64, 7, {stride = 2, padding = 3, bias = false})
  return model
end

---Returns the logits of the filled model for a batch, in units of the largest logit, and the names of its state.
function vision.logits(model, x)
  fill_state(model):eval()
  local y = torch.no_grad(function() return model(x) end)
  return y / y:abs():max(), table.concat(ordered.keys(model:state_dict()), ' ')
end

return vision
