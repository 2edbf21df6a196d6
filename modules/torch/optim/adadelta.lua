-- torch/optim/adadelta.lua: Adadelta.

local errors = require 'rtrain.errors'
local Optimizer = require('torch.optim.optimizer').Optimizer
local torch = require 'torch'

---Adadelta (Zeiler 2012). Options: lr = 1, rho = 0.9, eps = 1e-6, weight_decay = 0, maximize = false.
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.Linear(2, 1)
---local optimizer = torch.optim.Adadelta(layer:parameters(), {lr = 1})
---layer(torch.ones(1, 2)):sum():backward()
---optimizer:step()
---```
---@class optim.Adadelta: optim.Optimizer
---@overload fun(params: torch.Tensor[]|table[], options?: table): optim.Adadelta
local Adadelta = Optimizer:extend('Adadelta')

---@param params torch.Tensor[]|table[] parameters, or groups {params = …, lr = …}
---@param options? table see above
function Adadelta:init(params, options)
  Optimizer.init(self, params, {{'lr', 1}, {'rho', 0.9}, {'eps', 1e-6}, {'weight_decay', 0},
    {'maximize', false}}, options)
end

function Adadelta:_check_options(group)
  Optimizer._check_options(self, group)
  if type(group.rho) ~= 'number' or group.rho < 0 or group.rho > 1 then
    errors.raise('argument', ('Adadelta: invalid rho: %s'):format(tostring(group.rho)))
  end
end

local function update_one(group, param, grad, state)
  if state.step == nil then
    state.step = torch.tensor(0, {dtype = 'float32', device = param.device})
    state.square_avg = torch.zeros_like(param)
    state.acc_delta = torch.zeros_like(param)
  end
  state.step:add_(1)
  if group.maximize then grad = grad:neg() end
  if group.weight_decay ~= 0 then grad = grad:add(param, {alpha = group.weight_decay}) end
  local square_avg, acc_delta, rho, eps = state.square_avg, state.acc_delta, group.rho, group.eps
  square_avg:mul_(rho):addcmul_(grad, grad, {value = 1 - rho})
  local std = square_avg:add(eps):sqrt_()
  local delta = acc_delta:add(eps):sqrt_():div_(std):mul_(grad)
  acc_delta:mul_(rho):addcmul_(delta, delta, {value = 1 - rho})
  param:add_(delta, {alpha = -group.lr})
  -- Of the size of the parameter: worth giving back before the collector comes.
  std:release()
  delta:release()
end

function Adadelta:_update(group, params, grads)
  for i, param in ipairs(params) do update_one(group, param, grads[i], self:_state_of(param)) end
end

return {Adadelta = Adadelta}
