-- torch/optim/adagrad.lua: Adagrad.

local Optimizer = require('torch.optim.optimizer').Optimizer
local torch = require 'torch'

---Adagrad (Duchi et al. 2011). Options: lr = 1e-2, lr_decay = 0, weight_decay = 0, initial_accumulator_value = 0,
---eps = 1e-10, maximize = false.
---@class optim.Adagrad: optim.Optimizer
---@overload fun(params: torch.Tensor[]|table[], options?: table): optim.Adagrad
local Adagrad = Optimizer:extend('Adagrad')

---@param params torch.Tensor[]|table[] parameters, or groups {params = …, lr = …}
---@param options? table see above
function Adagrad:init(params, options)
  Optimizer.init(self, params, {{'lr', 1e-2}, {'lr_decay', 0}, {'eps', 1e-10}, {'weight_decay', 0},
    {'initial_accumulator_value', 0}, {'maximize', false}}, options)
end

function Adagrad:_init_group(group)
  for _, param in ipairs(group.params) do
    local state = self:_state_of(param)
    state.step = torch.tensor(0, {dtype = 'float32', device = param.device})
    state.sum = torch.full_like(param, group.initial_accumulator_value, {requires_grad = false})
  end
end

function Adagrad:_update(group, params, grads)
  local sums, steps = {}, {}
  for i, param in ipairs(params) do
    local state = self.state[param]
    sums[i], steps[i] = state.sum, state.step
  end
  torch._foreach_add_(steps, 1)
  torch._fused_adagrad_(params, grads, sums, steps, {lr = group.lr, lr_decay = group.lr_decay,
    weight_decay = group.weight_decay, eps = group.eps, maximize = group.maximize})
end

return {Adagrad = Adagrad}
