-- Networks under autocast, sequences of a GradScaler, weight averages: the Lua side of harness/amp.py.

local ordered = require 'base.ordered'
local torch = require 'torch'

local F = torch.nn.functional

local amp = {}

---Runs forward under autocast and then backward.
---@param dtype string
---@param x torch.Tensor
---@param y torch.Tensor
---@param ... torch.Tensor first weights
---@return torch.Tensor ... hidden, output, loss, gradients
function amp.network(dtype, x, y, ...)
  local params = {...}
  for i, value in ipairs(params) do params[i] = value:clone():requires_grad_() end
  local hidden, out, loss = torch.autocast('cpu', {dtype = dtype}, function()
    local hidden = F.linear(x, params[1], params[2])
    local out = F.linear(F.gelu(hidden), params[3], params[4])
    return hidden, out, F.mse_loss(out, y) + F.cross_entropy(out, torch.tensor{0LL, 1LL, 1LL, 0LL})
  end)
  loss:backward()
  return hidden:detach(), out:detach(), loss:detach(), params[1].grad, params[2].grad, params[3].grad, params[4].grad
end

local function contains(list, item)
  for _, other in ipairs(list) do
    if other == item then return true end
  end
  return false
end

---Makes eight steps with a GradScaler.
---@param spec table {optimizer, options, scaler, infs, clip, reset}
---@param x torch.Tensor
---@return any[] scale and parameter after each step, the names of the state and its growth tracker
function amp.scaling(spec, x)
  local param, options = x:clone():requires_grad_(), {lr = 0.125}
  for name, value in next, spec.options or {} do options[name] = value end
  local optimizer = torch.optim[spec.optimizer]({param}, options)
  local scaler, out = torch.amp.GradScaler('cpu', spec.scaler), {}
  for step = 0, 7 do
    optimizer:zero_grad()
    local loss = ((param * param):sum() + param:sum()) * (contains(spec.infs, step) and math.huge or 1)
    scaler:scale(loss):backward()
    if spec.clip then
      scaler:unscale_(optimizer)
      torch.nn.utils.clip_grad_norm_({param}, 0.5)
    end
    scaler:step(optimizer)
    scaler:update(step == spec.reset and 3 or nil)
    out[#out + 1] = scaler:get_scale()
    out[#out + 1] = param:detach():clone()
  end
  local state = scaler:state_dict()
  out[#out + 1] = table.concat(ordered.keys(state), ' ')
  out[#out + 1] = state._growth_tracker
  return out
end

---Returns the state of an average after four steps.
---@param make fun(model: nn.Module, u: table): optim.AveragedModel
---@param x torch.Tensor the layer's first weight
---@param y torch.Tensor the input
---@return any[] the names in its state_dict and the tensors
function amp.average(make, x, y)
  local model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
  local weight = model[1].weight:detach()
  weight:copy_(x)
  model[1].bias:detach():zero_()
  local averaged = make(model, torch.optim.swa_utils)
  for step = 0, 3 do
    model(y + step)
    weight:mul_(0.5):add_(step)
    averaged:update_parameters(model)
  end
  local state = averaged:state_dict()
  local names = ordered.keys(state)
  local out = {table.concat(names, ' ')}
  for _, name in ipairs(names) do out[#out + 1] = state[name] end
  return out
end

return amp
