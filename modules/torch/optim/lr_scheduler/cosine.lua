-- torch/optim/lr_scheduler/cosine.lua: schedules along a cosine.

local LRScheduler = require('torch.optim.lr_scheduler.scheduler').LRScheduler
local torch = require 'torch'
local virtual_ranks = require 'torch.distributed.virtual_ranks'

local cos, pi = math.cos, math.pi

local function closed_form(self, way)
  local out = torch.list{}
  for i, base in ipairs(self.base_lrs) do out[i] = self.eta_min + (base - self.eta_min) * (1 + cos(pi * way)) / 2 end
  return out
end

---Follows half a cosine from the first rate to eta_min over T_max epochs, then back (SGDR without restarts, Loshchilov
---and Hutter 2017, arXiv 1608.03983). Arguments: optimizer, T_max, {eta_min = 0, last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
---for _ = 1, 2 do optimizer:step() scheduler:step() end
---assert(math.abs(optimizer.param_groups[1].lr - 0.5) < 1e-12)
---```
---@class optim.CosineAnnealingLR: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, T_max: integer, ...: any): optim.CosineAnnealingLR
local CosineAnnealingLR = LRScheduler.define('CosineAnnealingLR', {'T_max', {'eta_min', 0}})

function CosineAnnealingLR:get_lr()
  local out, epoch, last, low = self:_of_groups('lr'), self.last_epoch, self.T_max, self.eta_min
  if self._is_initial then return out end
  if self._step_count == 1 and epoch > 0 then return self:_get_closed_form_lr() end
  local ratio = (1 + cos(pi * epoch / last)) / (1 + cos(pi * (epoch - 1) / last))
  local is_turn = (epoch - 1 - last) % (2 * last) == 0
  for i, lr in ipairs(out) do
    out[i] = is_turn and lr + (self.base_lrs[i] - low) * (1 - cos(pi / last)) / 2 or ratio * (lr - low) + low
  end
  return out
end

function CosineAnnealingLR:_get_closed_form_lr() return closed_form(self, self.last_epoch / self.T_max) end

---Follows half a cosine from the first rate to eta_min over T_0 epochs, then restarts from the first rate; each period
---is T_mult times as long as the last (SGDR, Loshchilov and Hutter 2017, arXiv 1608.03983). `step(epoch)` also accepts
---fractions of an epoch.
---Arguments: optimizer, T_0, {T_mult = 1, eta_min = 0, last_epoch = -1}.
---
---```lua
---local torch = require 'torch'
---local optimizer = torch.optim.SGD({torch.ones(1, {requires_grad = true})}, {lr = 1})
---local scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2, {T_mult = 2})
---local rates = {}
---for i = 1, 3 do
---  rates[i] = optimizer.param_groups[1].lr
---  optimizer:step()
---  scheduler:step()
---end
---assert(rates[1] == 1 and math.abs(rates[2] - 0.5) < 1e-12 and rates[3] == 1)
---```
---@class optim.CosineAnnealingWarmRestarts: optim.LRScheduler
---@overload fun(optimizer: optim.Optimizer, T_0: integer, ...: any): optim.CosineAnnealingWarmRestarts
local WarmRestarts = LRScheduler.define('CosineAnnealingWarmRestarts', {'T_0', {'T_mult', 1}, {'eta_min', 0}})

function WarmRestarts:_prepare(bound)
  if type(bound.T_0) ~= 'number' or bound.T_0 <= 0 or bound.T_0 % 1 ~= 0 then
    self:_raise('expected positive integer T_0, but got %s', tostring(bound.T_0))
  end
  if type(bound.T_mult) ~= 'number' or bound.T_mult < 1 or bound.T_mult % 1 ~= 0 then
    self:_raise('expected integer T_mult >= 1, but got %s', tostring(bound.T_mult))
  end
  self.T_0, self.T_i, self.T_mult, self.eta_min = bound.T_0, bound.T_0, bound.T_mult, bound.eta_min
  self.T_cur = bound.last_epoch
end

function WarmRestarts:get_lr() return closed_form(self, self.T_cur / self.T_i) end

-- Returns the place of an epoch: T_cur epochs into a period of T_i.
local function place(self, epoch)
  if epoch < self.T_0 then return epoch, self.T_0 end
  if self.T_mult == 1 then return epoch % self.T_0, self.T_0 end
  local periods = math.floor(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1) / math.log(self.T_mult))
  local start = self.T_0 * (self.T_mult ^ periods - 1) / (self.T_mult - 1)
  return epoch - start, self.T_0 * self.T_mult ^ periods
end

---Advances to the next epoch, or to the given one.
---@param epoch? number from 0; may have a fraction: `epoch + i / batches`
function WarmRestarts:step(epoch)
  if virtual_ranks.is_held() then return end
  if epoch == nil and self.last_epoch < 0 then epoch = 0 end
  if epoch == nil then
    epoch = self.last_epoch + 1
    self.T_cur = self.T_cur + 1
    if self.T_cur >= self.T_i then
      self.T_cur = self.T_cur % self.T_i
      self.T_i = self.T_i * self.T_mult
    end
  elseif type(epoch) ~= 'number' or epoch < 0 then
    self:_raise('expected non-negative epoch, but got %s', tostring(epoch))
  else
    self.T_cur, self.T_i = place(self, epoch)
  end
  self.last_epoch = math.floor(epoch)
  self:_set_rates(self:get_lr())
end

return {CosineAnnealingLR = CosineAnnealingLR, CosineAnnealingWarmRestarts = WarmRestarts}
