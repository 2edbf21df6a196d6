-- torch/optim/lr_scheduler/swa.lua: a schedule that anneals to the constant rate of stochastic weight averaging.

local args = require 'base.args'
local LRScheduler = require('torch.optim.lr_scheduler.scheduler').LRScheduler
local Rates = require 'torch.optim.rates'
local torch = require 'torch'

---Changes the rate from its current value to swa_lr in anneal_epochs epochs, then keeps it (Izmailov et al. 2018, arXiv
---1803.05407).
---Arguments: optimizer, swa_lr (a number, or a list with one for each group), {anneal_epochs = 10,
---anneal_strategy = 'cos' or 'linear', last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.swa_utils.SWALR(optimizer, 0.5, {anneal_epochs = 2, anneal_strategy = 'linear'})
---optimizer:step()
---scheduler:step()
---assert(optimizer.param_groups[1].lr == 0.75)
---```
---@class optim.SWALR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, swa_lr: number|number[], ...: any): optim.SWALR
local SWALR = LRScheduler.define('SWALR', {'swa_lr', {'anneal_epochs', 10}, {'anneal_strategy', 'cos'}})

function SWALR:_prepare(bound)
  self._anneal_strategy = args.one_of('SWALR: anneal_strategy', bound.anneal_strategy, {'cos', 'linear'})
  if type(bound.anneal_epochs) ~= 'number' or bound.anneal_epochs < 0 or bound.anneal_epochs % 1 ~= 0 then
    self:_raise('anneal_epochs must be an integer from 0 on, got %s', tostring(bound.anneal_epochs))
  end
  self.anneal_epochs = bound.anneal_epochs
  for i, rate in ipairs(self:_per_group('swa_lr', bound.swa_lr)) do self.optimizer.param_groups[i].swa_lr = rate end
end

-- Returns the completed share of the annealing at a step.
local function share(self, step)
  local t = math.max(0, math.min(1, step / math.max(1, self.anneal_epochs)))
  return self._anneal_strategy == 'cos' and (1 - math.cos(math.pi * t)) / 2 or t
end

function SWALR:get_lr()
  local step, out = self._step_count - 1, torch.list{}
  if self.anneal_epochs == 0 then step = math.max(1, step) end
  local before, now = share(self, step - 1), share(self, step)
  for i, group in ipairs(self.optimizer.param_groups) do
    local first = before == 1 and group.swa_lr or (Rates.number(group.lr) - before * group.swa_lr) / (1 - before)
    out[i] = group.swa_lr * now + first * (1 - now)
  end
  return out
end

return {SWALR = SWALR}
