-- torch/optim/sgd.lua: stochastic gradient descent.

local errors = require 'rtrain.errors'
local Optimizer = require('torch.optim.optimizer').Optimizer
local torch = require 'torch'

---Stochastic gradient descent. Options: lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0, nesterov = false,
---maximize = false.
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
---@overload fun(params: torch.Tensor[]|table[], options?: table): optim.SGD
local SGD = Optimizer:extend('SGD')

---@param params torch.Tensor[]|table[] parameters, or groups {params = …, lr = …}
---@param options? table see above
function SGD:init(params, options)
  Optimizer.init(self, params, {{'lr', 1e-3}, {'momentum', 0}, {'dampening', 0}, {'weight_decay', 0},
    {'nesterov', false}, {'maximize', false}}, options)
end

function SGD:_check_options(group)
  Optimizer._check_options(self, group)
  if group.nesterov and (group.momentum <= 0 or group.dampening ~= 0) then
    errors.raise('argument', 'SGD: Nesterov momentum requires a momentum and zero dampening')
  end
end

local function fused(group, params, grads, buffers, is_first_step)
  if #params == 0 then return end
  torch._fused_sgd_(params, grads, buffers, {
    weight_decay = group.weight_decay, momentum = group.momentum, lr = group.lr, dampening = group.dampening,
    nesterov = group.nesterov, maximize = group.maximize, is_first_step = is_first_step,
  })
end

function SGD:_update(group, params, grads)
  if group.momentum == 0 then return fused(group, params, grads, {}, false) end
  -- A first step sets the buffer to the gradient; parameters join at different steps (unfrozen, unused before).
  local first, later = {params = {}, grads = {}, buffers = {}}, {params = {}, grads = {}, buffers = {}}
  for i, param in ipairs(params) do
    local state = self:_state_of(param)
    local list = state.momentum_buffer ~= nil and later or first
    if list == first then state.momentum_buffer = torch.empty_like(param) end
    local n = #list.params + 1
    list.params[n], list.grads[n], list.buffers[n] = param, grads[i], state.momentum_buffer
  end
  fused(group, first.params, first.grads, first.buffers, true)
  fused(group, later.params, later.grads, later.buffers, false)
end

return {SGD = SGD}
