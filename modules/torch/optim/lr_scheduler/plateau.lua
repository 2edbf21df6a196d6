-- torch/optim/lr_scheduler/plateau.lua: a schedule that follows a metric.

local args = require 'base.args'
local LRScheduler = require('torch.optim.lr_scheduler.scheduler').LRScheduler
local Rates = require 'torch.optim.rates'
local torch = require 'torch'
local virtual_ranks = require 'torch.distributed.virtual_ranks'
local warnings = require 'base.warnings'

---Multiplies the rate by factor when the metric has not improved for more than `patience` epochs, then waits `cooldown`
---epochs. Improved means (mode 'min') below best·(1 - threshold), or with threshold_mode 'abs' below best - threshold.
---Arguments: optimizer, {mode = 'min' or 'max', factor = 0.1, patience = 10, threshold = 1e-4, threshold_mode = 'rel',
---cooldown = 0, min_lr = 0 (or a list with one for each group), eps = 1e-8 (smaller changes are not made)}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, 'min', {patience = 1, factor = 0.5})
---for _, loss in ipairs{3, 2, 2, 2} do
---  optimizer:step()
---  scheduler:step(loss)
---end
---assert(optimizer.param_groups[1].lr == 0.5)
---```
---@class optim.ReduceLROnPlateau: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, mode?: string, ...: any): optim.ReduceLROnPlateau
local ReduceLROnPlateau = LRScheduler:extend('ReduceLROnPlateau')
ReduceLROnPlateau._optional = {'default_min_lr'}

local SIGNATURE = args.signature('ReduceLROnPlateau', {'optimizer', {'mode', 'min'}, {'factor', 0.1}, {'patience', 10},
  {'threshold', 1e-4}, {'threshold_mode', 'rel'}, {'cooldown', 0}, {'min_lr', 0}, {'eps', 1e-8}})

---@param ... any see above
function ReduceLROnPlateau:init(...)
  local bound = SIGNATURE:bind(...)
  self:_check_optimizer(bound.optimizer)
  if bound.factor >= 1 then self:_raise('factor should be < 1, got %s', tostring(bound.factor)) end
  self.mode = args.one_of('ReduceLROnPlateau: mode', bound.mode, {'min', 'max'})
  self.threshold_mode = args.one_of('ReduceLROnPlateau: threshold_mode', bound.threshold_mode, {'rel', 'abs'})
  for _, name in ipairs{'optimizer', 'factor', 'patience', 'cooldown', 'threshold', 'eps'} do self[name] = bound[name] end
  self.min_lrs = self:_per_group('min_lr', bound.min_lr)
  if type(bound.min_lr) ~= 'table' then self.default_min_lr = bound.min_lr end
  self.last_epoch, self._last_lr = 0, self:_of_groups('lr')
  self.mode_worse = self.mode == 'min' and math.huge or -math.huge
  self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0
end

local function is_better(self, value)
  local sign = self.mode == 'min' and -1 or 1
  if self.threshold_mode == 'rel' then return sign * value > sign * (self.best * (1 + sign * self.threshold)) end
  return sign * value > sign * (self.best + sign * self.threshold)
end

-- Adds a lower bound for groups that were added later.
local function fit_min_lrs(self)
  local groups = self.optimizer.param_groups
  if #groups == #self.min_lrs then return end
  if self.default_min_lr == nil then
    self:_raise('the optimizer has %d param_groups now and had %d: set min_lrs, a list with one for each', #groups,
      #self.min_lrs)
  end
  self.min_lrs = self:_per_group('min_lr', self.default_min_lr)
end

local function reduce(self)
  fit_min_lrs(self)
  for i, group in ipairs(self.optimizer.param_groups) do
    local lr = Rates.number(group.lr)
    local new = math.max(lr * self.factor, self.min_lrs[i])
    if lr - new > self.eps then Rates.set(group, new) end
  end
end

---Processes the metric of an epoch.
---@param metrics number|torch.Tensor
---@param epoch? integer (discouraged, as in PyTorch)
function ReduceLROnPlateau:step(metrics, epoch)
  if virtual_ranks.is_held() then return end
  self:_check_graph()
  local value = torch.is_tensor(metrics) and metrics:item() or metrics
  if type(value) ~= 'number' then self:_raise('step needs the metric, a number, got %s', type(metrics)) end
  if epoch then warnings.warn('the epoch parameter of scheduler.step() is not needed') end
  self.last_epoch = epoch or self.last_epoch + 1
  if is_better(self, value) then
    self.best, self.num_bad_epochs = value, 0
  else
    self.num_bad_epochs = self.num_bad_epochs + 1
  end
  if self.cooldown_counter > 0 then self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0 end
  if self.num_bad_epochs > self.patience then
    reduce(self)
    self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
  end
  self._last_lr = self:_of_groups('lr')
end

return {ReduceLROnPlateau = ReduceLROnPlateau}
