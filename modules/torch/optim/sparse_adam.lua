-- torch/optim/sparse_adam.lua: Adam for sparse gradients.

local errors = require 'base.errors'
local Optimizer = require('torch.optim.optimizer').Optimizer
local options = require 'torch.optim.options'
local Rates = require 'torch.optim.rates'
local torch = require 'torch'

---Adam for gradients that are sparse tensors, such as those of `nn.Embedding` with `sparse = true`: only the elements
---of the gradient change, including their moments; other moments do not decay.
---
---Options: lr = 1e-3, betas = {0.9, 0.999}, eps = 1e-8, maximize = false.
---
---```lua
---local torch = require 'torch'
---local weight = torch.zeros(3, 2, {requires_grad = true})
---weight.grad = torch.sparse_coo_tensor(torch.tensor {{1LL}}, torch.ones(1, 2), {3, 2})
---torch.optim.SparseAdam({weight}, {lr = 0.1}):step()
---assert(math.abs(weight[{1, 0}]:item() + 0.1) < 1e-6 and weight[{0, 0}]:item() == 0)
---```
---@class optim.SparseAdam: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.SparseAdam
local SparseAdam = Optimizer:extend('SparseAdam')

SparseAdam._options = options.new('SparseAdam', {
  {'lr', 1e-3, options.number_or_tensor(options.positive), 'learning rate'}, options.betas,
  {'eps', 1e-8, options.positive, 'epsilon value'},
  options.maximize,
})

local NAMES = {scalars = {}, tensors = {'exp_avg', 'exp_avg_sq'}}

function SparseAdam:_names() return NAMES end

function SparseAdam:_check_group(group)
  for i, param in ipairs(group.params) do
    local what = param.is_sparse and 'sparse' or param:is_complex() and 'complex'
    if what then
      errors.raise('argument', ('SparseAdam: parameter %d of the group is %s: it takes dense real ones'):format(i, what))
    end
  end
end

-- As in Python, `step` is a number here.
function SparseAdam:_start(state, _, param)
  state.step = torch.is_tensor(state.step) and state.step:item() or state.step or 0
  state.exp_avg = state.exp_avg or torch.zeros_like(param)
  state.exp_avg_sq = state.exp_avg_sq or torch.zeros_like(param)
end

local function with_values(grad, values)
  return torch.sparse_coo_tensor(grad:_indices(), values, grad:size())
end

-- Moves a moment towards `values` at the places of the gradient, and returns its new values there.
local function move(moment, grad, values, weight)
  local old = moment:sparse_mask(grad):_values()
  local change = values:sub(old):mul_(weight)
  moment:add_(with_values(grad, change))
  return change:add_(old)
end

local function update_one(group, param, grad, state)
  grad = (group.maximize and grad:neg() or grad):coalesce()
  local values, step = grad:_values(), state.step
  if values:numel() == 0 then return end
  local beta1, beta2 = group.betas[1], group.betas[2]
  local average = move(state.exp_avg, grad, values, 1 - beta1)
  local denominator = move(state.exp_avg_sq, grad, values:pow(2), 1 - beta2):sqrt_():add_(group.eps)
  local rate = Rates.number(group.lr) * math.sqrt(1 - beta2 ^ step) / (1 - beta1 ^ step)
  param:add_(with_values(grad, average:div_(denominator):mul_(-rate)))
end

function SparseAdam:_update(group, batch, grads)
  if not batch.sparse then
    errors.raise('argument', 'SparseAdam does not support dense gradients, please consider Adam instead')
  end
  for i, param in ipairs(batch.params) do
    local state = batch.states[i]
    state.step = state.step + 1
    update_one(group, param, grads[i], state)
  end
end

return {SparseAdam = SparseAdam}
