-- The models of vision.models with numbers by formula, and what they say: as harness/vision.py does it.

local torch = require 'torch'
local fill = require 'harness.fill'
local models = require 'vision.models'
local ordered = require 'base.ordered'

local vision = {}

local PRIME = 2003

-- What a tensor of the state holds: rows of PRIME numbers one after the other, scaled by a power of two near 1 / √fan_in.
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

---ResNet-18 for images of one channel, as the MNIST example makes it.
function vision.resnet18_gray()
  local model = models.resnet18{num_classes = 10}
  model.conv1 = torch.nn.Conv2d(1, 64, 7, {stride = 2, padding = 3, bias = false})
  return model
end

---What the filled model says of a batch, in units of its largest logit, and the names of its state.
function vision.logits(model, x)
  fill_state(model):eval()
  local y = torch.no_grad(function() return model(x) end)
  return y / y:abs():max(), table.concat(ordered.keys(model:state_dict()), ' ')
end

return vision
