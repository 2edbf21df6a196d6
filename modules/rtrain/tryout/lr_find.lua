-- rtrain/tryout/lr_find.lua: makes the document of `rtrain check --lr`: the learning rate at which the loss falls
-- fastest, chosen like PyTorch Lightning's lr_find.

local errors = require 'base.errors'
local files = require 'rtrain.tryout.files'

local lr_find = {}

-- Lightning's constants: weight of the past in the average, the relative loss that ends the search, and the steps
-- skipped at both ends.
local PAST, DIVERGED, SKIP_BEGIN, SKIP_END = 0.98, 4, 10, 1
-- Relative to the loss: smaller changes are rounding errors.
local ROUNDING = 1e-9

---Returns the losses, averaged so that single batches do not decide, up to the loss at which training has diverged.
---@param steps {lr: number, loss: number}[]
---@return number[] smoothed
---
---```lua
---local smoothed = require('rtrain.tryout.lr_find').smoothed {{lr = 0.1, loss = 2}, {lr = 0.2, loss = 2}}
---assert(#smoothed == 2 and math.abs(smoothed[2] - 2) < 1e-12)
---```
function lr_find.smoothed(steps)
  local average, best, out = 0, math.huge, {}
  for i, step in ipairs(steps) do
    average = PAST * average + (1 - PAST) * step.loss
    local value = average / (1 - PAST ^ i)
    if value ~= value or value == math.huge then break end
    out[i] = value
    if i > 1 and value > DIVERGED * best then break end
    best = math.min(best, value)
  end
  return out
end

-- Computes an element of numpy.gradient of a list.
local function slope(values, i)
  if i == 1 then return values[2] - values[1] end
  if i == #values then return values[i] - values[i - 1] end
  return (values[i + 1] - values[i - 1]) / 2
end

---Returns the step at which the averaged loss falls fastest; nil if there are too few steps, or it falls nowhere.
---@param smoothed number[]
---@return integer? i
function lr_find.steepest(smoothed)
  local kept = {}
  for i = SKIP_BEGIN + 1, #smoothed - SKIP_END do kept[#kept + 1] = smoothed[i] end
  if #kept < 2 then return nil end
  local best
  for i = 1, #kept do
    if not best or slope(kept, i) < slope(kept, best) then best = i end
  end
  return slope(kept, best) < -ROUNDING * math.abs(kept[best]) and best + SKIP_BEGIN or nil
end

---@param folder string
---@param script string
---@return table document {script, suggestion, steps = {lr, loss, smoothed}}
---Raises code 'user' if no rank has finished a train function, no optimizer has stepped, or no learning rate lowers the
---loss.
function lr_find.document(folder, script)
  local steps = files.first(folder, script).steps
  if #steps == 0 then
    errors.raise('user', 'no optimizer made a step in the train function: check --lr changes the learning rate in step()')
  end
  if not steps[#steps].loss then
    errors.raise('user', 'the train function called no backward() of a loss with one number: check --lr looks at that loss')
  end
  local smoothed = lr_find.smoothed(steps)
  local i = lr_find.steepest(smoothed)
  if not i then
    errors.raise('user', #steps <= SKIP_BEGIN + SKIP_END + 1
      and ('the train function made %d steps: check --lr needs more, give it more epochs (--set epochs=N)'):format(#steps)
      or ('the loss falls at none of the learning rates from %g to %g: see --min-lr and --max-lr'):format(steps[1].lr,
        steps[#steps].lr))
  end
  local rows = {}
  for k, value in ipairs(smoothed) do rows[k] = {lr = steps[k].lr, loss = steps[k].loss, smoothed = value} end
  return {script = script, suggestion = steps[i].lr, steps = rows}
end

return lr_find
