-- torch/optim/adagrad.lua: Adagrad.

local Fused = require('torch.optim.fused').Fused
local errors = require 'base.errors'
local options = require 'torch.optim.options'
local Rates = require 'torch.optim.rates'
local torch = require 'torch'

---Adagrad (Duchi et al. 2011). With the gradient g: s = s + g², θ = θ - lr / (1 + (t - 1)·lr_decay)·g / (√s + ε).
---
---Options: lr = 1e-2, lr_decay = 0, weight_decay = 0 (added to g), initial_accumulator_value = 0 (the first s),
---eps = 1e-10, foreach, {maximize, differentiable, fused}. Dense gradients use one fused kernel (`fused = false`: the
---operators of Python's default); sparse gradients (of an Embedding) change only their rows.
---
---```lua
---local torch = require 'torch'
---local x = torch.tensor({1}, {requires_grad = true})
---local optimizer = torch.optim.Adagrad({x}, {lr = 0.1})
---torch.sum(x * 3):backward()
---optimizer:step()
---assert(math.abs(x:item() - 0.9) < 1e-6)  -- the first step is lr · sign(g)
---```
---@class optim.Adagrad: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.Adagrad
local Adagrad = Fused:extend('Adagrad')

Adagrad._options = options.new('Adagrad', {
  options.with(options.lr, 1e-2), {'lr_decay', 0, options.not_negative, 'lr_decay value'}, options.weight_decay,
  {'initial_accumulator_value', 0, options.not_negative, 'initial_accumulator_value value'},
  options.with(options.eps, 1e-10), options.foreach, options.maximize, options.differentiable, options.fused,
}, {'lr', 'lr_decay', 'eps', 'weight_decay', 'initial_accumulator_value', 'foreach', 'maximize', 'differentiable', 'fused'})

local NAMES = {scalars = {'step'}, tensors = {'sum'}}

function Adagrad:_names() return NAMES end

function Adagrad:_start(state, group, param)
  state.step = self._kernel_step(state.step, param)
  if state.sum then return end
  state.sum = torch.zeros_like(param)
  -- For a complex parameter both parts have a sum.
  local parts = param:is_complex() and torch.view_as_real(state.sum) or state.sum
  parts:fill_(group.initial_accumulator_value)
end

-- As in Python the state exists before the first step.
function Adagrad:_init_group(group)
  for _, param in ipairs(group.params) do self:_start(self:_state_of(param), group, param) end
end

local LISTS = {'sum'}

function Adagrad:_update_dense(group, batch, grads)
  batch:count_step()
  local params, gradients, sums = self._kernel_lists(batch, grads, LISTS)
  torch._fused_adagrad_(params, gradients, sums, batch.lists.step, {
    lr = self:_lr_argument(group, batch.device), lr_decay = group.lr_decay, weight_decay = group.weight_decay, eps = group.eps,
    maximize = group.maximize, grad_scale = self.grad_scale, found_inf = self.found_inf,
  })
  self:_uncount_skipped(batch)
end

function Adagrad:_update_plain(group, batch, grads)
  batch:count_step()
  local params, gradients, sums = self._kernel_lists(batch, self._plain_gradients(group, batch, grads), LISTS)
  torch._foreach_addcmul_(sums, gradients, gradients, 1)
  local roots, rates = torch._foreach_sqrt(sums), {}
  torch._foreach_add_(roots, group.eps)
  for i, count in ipairs(self._counts(batch)) do
    rates[i] = -(Rates.number(group.lr) / (1 + (count - 1) * group.lr_decay))
  end
  torch._foreach_addcdiv_(params, gradients, roots, rates)
end

local function with_values(grad, values)
  return torch.sparse_coo_tensor(grad:_indices(), values, grad:size())
end

local function sparse_step(group, param, grad, state)
  local rate = Rates.number(group.lr) / (1 + (state.step:item() - 1) * group.lr_decay)
  grad = (group.maximize and grad:neg() or grad):coalesce()
  local values = grad:_values()
  state.sum:add_(with_values(grad, values:pow(2)))
  local std = state.sum:sparse_mask(grad):_values():sqrt_():add_(group.eps)
  param:add_(with_values(grad, values / std), {alpha = -rate})
end

function Adagrad:_update_sparse(group, batch, grads)
  if group.weight_decay ~= 0 then
    errors.raise('argument', 'Adagrad: weight_decay is not compatible with sparse gradients')
  end
  batch:count_step()
  for i, param in ipairs(batch.params) do sparse_step(group, param, grads[i], batch.states[i]) end
end

return {Adagrad = Adagrad}
