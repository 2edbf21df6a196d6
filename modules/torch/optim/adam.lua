-- torch/optim/adam.lua: Adam and AdamW.

local Fused = require('torch.optim.fused').Fused
local options = require 'torch.optim.options'
local Rates = require 'torch.optim.rates'
local torch = require 'torch'

---Adam (Kingma and Ba 2015, arXiv 1412.6980; AMSGrad: Reddi et al. 2018). With the gradient g:
---m = β₁·m + (1 - β₁)·g, v = β₂·v + (1 - β₂)·g², θ = θ - lr·m̂ / (√v̂ + ε), m̂ = m / (1 - β₁^t),
---v̂ = v / (1 - β₂^t); `amsgrad` takes the largest v so far.
---
---Options: lr = 1e-3, betas = {0.9, 0.999}, eps = 1e-8, weight_decay = 0 (added to g), amsgrad = false, {foreach, maximize,
---capturable, differentiable, fused, decoupled_weight_decay = false}. A step is one fused kernel. With `fused = true`
---the kernel also does the unscaling for a GradScaler; `fused = false` uses the operators of Python's default.
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.Linear(2, 1)
---local optimizer = torch.optim.Adam(layer:parameters(), 0.01, {amsgrad = true})
---layer(torch.ones(1, 2)):sum():backward()
---optimizer:step()
---assert(optimizer.state[layer.weight].max_exp_avg_sq:ne(0):all():item())
---```
---@class optim.Adam: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.Adam
local Adam = Fused:extend('Adam')

local KEYS = {'lr', 'betas', 'eps', 'weight_decay', 'amsgrad', 'maximize', 'foreach', 'capturable', 'differentiable',
              'fused', 'decoupled_weight_decay'}
local AMSGRAD = {'amsgrad', false, options.boolean}

Adam._options = options.new('Adam', {
  options.lr, options.betas, options.eps, options.weight_decay, AMSGRAD, options.foreach, options.maximize,
  options.capturable, options.differentiable, options.fused, {'decoupled_weight_decay', false, options.boolean},
}, KEYS)

local STEP = {'step'}
local PLAIN = {scalars = STEP, tensors = {'exp_avg', 'exp_avg_sq'}}
local WITH_LARGEST = {scalars = STEP, tensors = {'exp_avg', 'exp_avg_sq', 'max_exp_avg_sq'}}
local LISTS = {'exp_avg', 'exp_avg_sq', 'max_exp_avg_sq'}

function Adam:_names(group) return group.amsgrad and WITH_LARGEST or PLAIN end

function Adam:_start(state, group, param)
  state.step = self._kernel_step(state.step, param)
  for _, name in ipairs(self:_names(group).tensors) do state[name] = state[name] or torch.zeros_like(param) end
end

function Adam:_update_dense(group, batch, grads)
  batch:count_step()
  local params, gradients, averages, squares, largest = self._kernel_lists(batch, grads, LISTS)
  local kernel = group.decoupled_weight_decay and torch._fused_adamw_ or torch._fused_adam_
  kernel(params, gradients, averages, squares, largest, batch.lists.step, {
    lr = self:_lr_argument(group, batch.device), beta1 = group.betas[1], beta2 = group.betas[2],
    weight_decay = group.weight_decay, eps = group.eps, amsgrad = group.amsgrad, maximize = group.maximize,
    grad_scale = self.grad_scale, found_inf = self.found_inf,
  })
  self:_uncount_skipped(batch)
end

function Adam:_update_plain(group, batch, grads)
  batch:count_step()
  local beta1, beta2, rate = group.betas[1], group.betas[2], Rates.number(group.lr)
  if group.decoupled_weight_decay and group.weight_decay ~= 0 then
    self._multiply(batch, batch.params, 1 - rate * group.weight_decay)
  end
  local params, gradients, averages, squares, largest =
    self._kernel_lists(batch, self._plain_gradients(group, batch, grads), LISTS)
  torch._foreach_lerp_(averages, gradients, 1 - beta1)
  self._multiply(batch, squares, beta2)
  torch._foreach_addcmul_(squares, gradients, gradients, 1 - beta2)
  if group.amsgrad then torch._foreach_maximum_(largest, squares) end
  local corrections, sizes = {}, {}
  for i, count in ipairs(self._counts(batch)) do
    corrections[i], sizes[i] = math.sqrt(1 - beta2 ^ count), -(rate / (1 - beta1 ^ count))
  end
  local roots = torch._foreach_sqrt(group.amsgrad and largest or squares)
  torch._foreach_div_(roots, corrections)
  torch._foreach_add_(roots, group.eps)
  torch._foreach_addcdiv_(params, averages, roots, sizes)
end

---Adam with decoupled weight decay (Loshchilov and Hutter 2019, arXiv 1711.05101): θ = θ·(1 - lr·weight_decay) before
---Adam's step. Options as Adam's; weight_decay = 0.01.
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
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.AdamW
local AdamW = Adam:extend('AdamW')

-- As in Python, its groups have the field although it is not an argument.
AdamW._options = options.new('AdamW', {
  options.lr, options.betas, options.eps, options.with(options.weight_decay, 1e-2), AMSGRAD, options.maximize,
  options.foreach, options.capturable, options.differentiable, options.fused,
}, KEYS, {decoupled_weight_decay = true})

return {Adam = Adam, AdamW = AdamW}
