-- torch/optim/adam.lua: Adam and AdamW.

local errors = require 'rtrain.errors'
local Optimizer = require('torch.optim.optimizer').Optimizer
local torch = require 'torch'

---Adam (Kingma and Ba 2015). Options: lr = 1e-3, betas = {0.9, 0.999}, eps = 1e-8, weight_decay = 0 (added to the
---gradient), amsgrad = false, maximize = false.
---@class optim.Adam: optim.Optimizer
---@overload fun(params: torch.Tensor[]|table[], options?: table): optim.Adam
local Adam = Optimizer:extend('Adam')
Adam._operator = '_fused_adam_'

local function options_of(weight_decay)
  return {{'lr', 1e-3}, {'betas', {0.9, 0.999}}, {'eps', 1e-8}, {'weight_decay', weight_decay}, {'amsgrad', false},
          {'maximize', false}}
end

---@param params torch.Tensor[]|table[] parameters, or groups {params = …, lr = …}
---@param options? table see above
function Adam:init(params, options) Optimizer.init(self, params, options_of(0), options) end

function Adam:_check_options(group)
  Optimizer._check_options(self, group)
  local betas = group.betas
  if type(betas) ~= 'table' or #betas ~= 2 then
    errors.raise('argument', 'Adam: betas is a list of two numbers')
  end
  for i, beta in ipairs(betas) do
    if type(beta) ~= 'number' or beta < 0 or beta >= 1 then
      errors.raise('argument', ('Adam: invalid beta parameter at index %d: %s'):format(i - 1, tostring(beta)))
    end
  end
end

local function start(state, param, amsgrad)
  state.step = torch.tensor(0, {dtype = 'float32', device = param.device})
  state.exp_avg = torch.zeros_like(param)
  state.exp_avg_sq = torch.zeros_like(param)
  if amsgrad then state.max_exp_avg_sq = torch.zeros_like(param) end
end

function Adam:_update(group, params, grads)
  local steps, averages, squares, largest = {}, {}, {}, {}
  for i, param in ipairs(params) do
    local state = self:_state_of(param)
    if state.step == nil then start(state, param, group.amsgrad) end
    steps[i], averages[i], squares[i] = state.step, state.exp_avg, state.exp_avg_sq
    if group.amsgrad then largest[i] = state.max_exp_avg_sq end
  end
  torch._foreach_add_(steps, 1)
  torch[self._operator](params, grads, averages, squares, largest, steps, {
    lr = group.lr, beta1 = group.betas[1], beta2 = group.betas[2], weight_decay = group.weight_decay, eps = group.eps,
    amsgrad = group.amsgrad, maximize = group.maximize,
  })
end

---Adam with decoupled weight decay (Loshchilov and Hutter 2019). Options as Adam's; weight_decay = 0.01.
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.Linear(2, 1)
---local optimizer = torch.optim.AdamW(layer:parameters(), {lr = 0.1, weight_decay = 0})
---layer(torch.ones(1, 2)):sum():backward()
---local before = layer.bias:item()
---optimizer:step()
---assert(math.abs(before - layer.bias:item() - 0.1) < 1e-6)  -- the first step is lr · sign(gradient)
---```
---@class optim.AdamW: optim.Adam
---@overload fun(params: torch.Tensor[]|table[], options?: table): optim.AdamW
local AdamW = Adam:extend('AdamW')
AdamW._operator = '_fused_adamw_'

---@param params torch.Tensor[]|table[] parameters, or groups {params = …, lr = …}
---@param options? table see above
function AdamW:init(params, options) Optimizer.init(self, params, options_of(0.01), options) end

return {Adam = Adam, AdamW = AdamW}
