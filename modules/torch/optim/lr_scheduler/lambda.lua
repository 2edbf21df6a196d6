-- torch/optim/lr_scheduler/lambda.lua: schedules computed by a function of the epoch.

local LRScheduler = require('torch.optim.lr_scheduler.scheduler').LRScheduler
local torch = require 'torch'

-- Takes one function for all groups, or a list with one for each.
local function prepare(self, bound)
  self.lr_lambdas = self:_per_group('lr_lambda', bound.lr_lambda)
  for _, fn in ipairs(self.lr_lambdas) do
    local meta = debug.getmetatable(fn)
    if type(fn) ~= 'function' and not (meta and meta.__call) then
      self:_raise('lr_lambda should be a function, but got %s', type(fn))
    end
  end
end

---Uses the first rate times lr_lambda(epoch). Arguments: optimizer, lr_lambda (a function, or a list with one for each
---group), {last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, function(epoch) return 0.5 ^ epoch end)
---for _ = 1, 2 do optimizer:step() scheduler:step() end
---assert(optimizer.param_groups[1].lr == 0.25)
---```
---@class optim.LambdaLR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, lr_lambda: function|function[], ...: any): optim.LambdaLR
local LambdaLR = LRScheduler.define('LambdaLR', {'lr_lambda'})
LambdaLR._prepare = prepare

function LambdaLR:get_lr()
  local out = torch.list{}
  for i, base in ipairs(self.base_lrs) do out[i] = base * self.lr_lambdas[i](self.last_epoch) end
  return out
end

---Multiplies the current rate by lr_lambda(epoch), from epoch 1 on. Arguments: optimizer, lr_lambda (a function, or a
---list with one for each group), {last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, function() return 0.5 end)
---for _ = 1, 2 do optimizer:step() scheduler:step() end
---assert(optimizer.param_groups[1].lr == 0.25)
---```
---@class optim.MultiplicativeLR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, lr_lambda: function|function[], ...: any): optim.MultiplicativeLR
local MultiplicativeLR = LRScheduler.define('MultiplicativeLR', {'lr_lambda'})
MultiplicativeLR._prepare = prepare

function MultiplicativeLR:get_lr()
  local out = self:_of_groups('lr')
  if self._is_initial then return out end
  for i, lr in ipairs(out) do out[i] = lr * self.lr_lambdas[i](self.last_epoch) end
  return out
end

return {LambdaLR = LambdaLR, MultiplicativeLR = MultiplicativeLR}
