-- torch/optim/sgd.lua: stochastic gradient descent.

local Fused = require('torch.optim.fused').Fused
local options = require 'torch.optim.options'
local Rates = require 'torch.optim.rates'
local torch = require 'torch'

---Stochastic gradient descent. With the gradient g, momentum μ and dampening τ: b = μ·b + (1 - τ)·g (the first b is g),
---θ = θ - lr·b; `nesterov` (Sutskever et al. 2013): θ = θ - lr·(g + μ·b).
---
---Options: lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0 (added to g), nesterov = false, {maximize, foreach,
---differentiable, fused}. Dense gradients use one fused kernel. With `fused = true` the kernel also does the unscaling
---for a GradScaler; `fused = false` uses the operators of Python's default, as 16-bit parameters on the CPU always do.
---Sparse gradients are allowed without weight_decay and nesterov.
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.Linear(2, 1)
---local optimizer = torch.optim.SGD(layer:parameters(), {lr = 0.1, momentum = 0.9})
---layer(torch.ones(1, 2)):sum():backward()
---local before = layer.bias:item()
---optimizer:step()
---assert(math.abs(before - layer.bias:item() - 0.1) < 1e-6)
---```
---@class optim.SGD: optim.Optimizer
---@overload fun(params: optim.Params, lr?: number, ...: any): optim.SGD
local SGD = Fused:extend('SGD')

SGD._options = options.new('SGD', {
  options.lr, {'momentum', 0, options.not_negative, 'momentum value'}, {'dampening', 0, options.number},
  options.weight_decay, {'nesterov', false, options.boolean}, options.maximize, options.foreach, options.differentiable,
  options.fused,
})

local NONE = {scalars = {}, tensors = {}}
local MOMENTUM = {scalars = {}, tensors = {'momentum_buffer'}}

function SGD:_check_group(group)
  Fused._check_group(self, group)
  if group.nesterov and (group.momentum <= 0 or group.dampening ~= 0) then
    require('base.errors').raise('argument', 'SGD: Nesterov momentum requires a momentum and zero dampening')
  end
end

function SGD:_names(group) return group.momentum == 0 and NONE or MOMENTUM end

-- The first step sets the buffer to the gradient; parameters may join at different steps (after being frozen or
-- unused).
function SGD:_start(state, _, param)
  if state.momentum_buffer then return end
  state.momentum_buffer = torch.empty_like(param)
  self._unset = self._unset or setmetatable({}, {__mode = 'k'})
  self._unset[state] = true
end

local function is_unset(self, state) return state and self._unset and self._unset[state] or false end

function SGD:_kind(state) return is_unset(self, state) and 'unset' or 'set' end

local function mark_set(self, batch)
  if self.found_inf and self.found_inf:item() > 0 then return end
  for _, state in ipairs(batch.states) do self._unset[state] = nil end
end

local LISTS = {'momentum_buffer'}

-- On the CPU, LibTorch's kernel for 16 bits changes only the elements after the last whole vector; the others stay
-- unchanged. Operators do its work instead, including the work for a GradScaler.
function SGD:_update_halves(group, batch, grads)
  if self.found_inf and self.found_inf:item() > 0 then return end
  if self.grad_scale then torch._foreach_div_(grads, self.grad_scale:item()) end
  self:_update_plain(group, batch, grads)
end

function SGD:_update_dense(group, batch, grads)
  if self._has_halves(batch) then return self:_update_halves(group, batch, grads) end
  local is_first_step = is_unset(self, batch.states[1])
  local params, gradients, buffers = self._kernel_lists(batch, grads, LISTS)
  torch._fused_sgd_(params, gradients, buffers, {
    weight_decay = group.weight_decay, momentum = group.momentum, lr = self:_lr_argument(group, batch.device),
    dampening = group.dampening, nesterov = group.nesterov, maximize = group.maximize,
    is_first_step = is_first_step, grad_scale = self.grad_scale,
    found_inf = self.found_inf,
  })
  if is_first_step then mark_set(self, batch) end
end

function SGD:_update_plain(group, batch, grads)
  local is_first_step = is_unset(self, batch.states[1])
  local gradients, buffers = self._plain_gradients(group, batch, grads), batch.lists.momentum_buffer
  if group.momentum ~= 0 then
    if is_first_step then
      torch._foreach_copy_(buffers, gradients)
      mark_set(self, batch)
    else
      self._multiply(batch, buffers, group.momentum)
      torch._foreach_add_(buffers, gradients, {alpha = 1 - group.dampening})
    end
    gradients = group.nesterov and torch._foreach_add(gradients, buffers, {alpha = group.momentum}) or buffers
  end
  torch._foreach_add_(batch.params, gradients, {alpha = -Rates.number(group.lr)})
end

local function sparse_step(self, group, param, grad, state)
  if group.maximize then grad = grad:neg() end
  if group.weight_decay ~= 0 then grad = grad:add(param, {alpha = group.weight_decay}) end
  if group.momentum ~= 0 then
    if is_unset(self, state) then
      state.momentum_buffer, self._unset[state] = grad:clone(), nil
    else
      state.momentum_buffer:mul_(group.momentum):add_(grad, {alpha = 1 - group.dampening})
    end
    grad = group.nesterov and grad:add(state.momentum_buffer, {alpha = group.momentum}) or state.momentum_buffer
  end
  param:add_(grad, {alpha = -Rates.number(group.lr)})
end

function SGD:_update_sparse(group, batch, grads)
  for i, param in ipairs(batch.params) do sparse_step(self, group, param, grads[i], batch.states[i]) end
end

return {SGD = SGD}
