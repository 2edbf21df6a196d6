-- rtrain/tryout/lr_probe.lua: LrProbe: a rank of `rtrain check --lr`: sets a larger learning rate before each step of
-- the optimizers and records the loss (Smith 2017, "Cyclical Learning Rates for Training Neural Networks", section
-- 3.3).
--
-- The steps are those of the first optimizer that steps; other optimizers use its learning rate. Groups keep their
-- ratio to the first group of their optimizer. The train function ends after the last step, the same one on all ranks.

local class = require 'base.class'
local errors = require 'base.errors'
local files = require 'rtrain.tryout.files'
local loop_limit = require 'torch.utils.data.loop_limit'
local optim_hooks = require 'torch.optim.hooks'
local Rates = require 'torch.optim.rates'

---@class LrProbe
---@field num_steps integer
---@field on_step? fun(step: integer) called after each step
local LrProbe = class('LrProbe')

---@param asked {folder: string, steps: integer, min_lr: number, max_lr: number}
---@param rank integer
function LrProbe:init(asked, rank)
  self._folder, self.num_steps, self._min_lr, self._max_lr = asked.folder, asked.steps, asked.min_lr, asked.max_lr
  self._rank, self._steps, self._ratios = rank, {}, setmetatable({}, {__mode = 'k'})
end

-- Returns the learning rate of step i, from 1: the logarithms are evenly spaced.
function LrProbe:_lr_of(i) return self._min_lr * (self._max_lr / self._min_lr) ^ ((i - 1) / (self.num_steps - 1)) end

-- Returns the ratios of the groups, as the script has set them.
local function ratios_of(optimizer)
  local first, out = Rates.number(optimizer.param_groups[1].lr), {}
  for i, group in ipairs(optimizer.param_groups) do
    local lr = Rates.number(group.lr)
    out[i] = first and lr and first > 0 and lr / first or 1
  end
  return out
end

function LrProbe:_before_step(optimizer)
  self._first = self._first or optimizer
  self._ratios[optimizer] = self._ratios[optimizer] or ratios_of(optimizer)
  local lr = self:_lr_of(#self._steps + 1)
  for i, group in ipairs(optimizer.param_groups) do Rates.set(group, lr * (self._ratios[optimizer][i] or 1)) end
  if optimizer == self._first then self._lr = lr end
end

function LrProbe:_after_step(optimizer)
  if optimizer ~= self._first then return end
  table.insert(self._steps, {lr = self._lr, loss = self._loss})
  if self.on_step then self.on_step(#self._steps) end
  if #self._steps < self.num_steps then return end
  self._is_over = true
  errors.raise('interrupted', 'the train function ends here: it is only tried out')
end

---Drops reports.
function LrProbe:after_report() end

---Accepts any model.
function LrProbe:add_model() end

---Calls the train function and writes the learning rates and losses of its steps.
---@param fn function
---@param config? table
---@return any returned
function LrProbe:call(fn, config)
  files.write(self._folder, ('started-%d'):format(self._rank), {})
  loop_limit.watch(function()
    loop_limit.watch(nil)
    files.write(self._folder, ('loop-%d'):format(self._rank), {})
  end)
  require('torch._C').watch_losses(function(loss) self._loss = loss end, true)
  optim_hooks.watch_steps(function(optimizer) self:_before_step(optimizer) end,
    function(optimizer) self:_after_step(optimizer) end)
  local ok, returned = xpcall(fn, errors.wrap, config)
  optim_hooks.watch_steps(nil)
  loop_limit.watch(nil)
  require('torch._C').watch_losses(nil)
  if not ok and not self._is_over then error(returned, 0) end
  files.write(self._folder, ('rank-%d'):format(self._rank), {steps = self._steps})
  return ok and returned or nil
end

return LrProbe
