-- Fifty learning rates of a scheduler, whose state_dict a new scheduler takes over halfway: the Lua side of
-- harness/schedules.py.

local ordered = require 'base.ordered'
local torch = require 'torch'
local training = require 'harness.training'

local schedules = {}

local STEPS = 50

local function make_optimizer(kind)
  local groups = {{params = {torch.ones(1, {requires_grad = true})}},
                  {params = {torch.ones(2, {requires_grad = true})}, lr = 0.25}}
  if kind == 'adam' then return torch.optim.Adam(groups, {lr = 0.5}) end
  return torch.optim.SGD(groups, {lr = 0.5, momentum = kind == 'momentum' and 0.75 or 0})
end

local function count(map)
  local n = 0
  for _ in next, map do n = n + 1 end
  return n
end

local function value_text(value)
  if type(value) ~= 'table' then return training.scalar(value) end
  if type(value[1]) == 'table' then return ('maps:%d'):format(#value) end
  if getmetatable(value) ~= torch._list_meta then return ('map:%d'):format(count(value)) end
  return training.scalar(value)
end

local function layout(scheduler)
  local state, fields = scheduler:state_dict(), {}
  local names = ordered.keys(state)
  table.sort(names)
  for i, name in ipairs(names) do fields[i] = name .. '=' .. value_text(state[name]) end
  return table.concat(fields, ' ')
end

local function metric(step) return (step * 37 % 11) / 8 + 10 / (step + 1) end

local function advance(scheduler, step, at)
  if at == 'metric' then
    scheduler:step(metric(step))
  elseif at then
    scheduler:step(at[step % #at + 1])
  else
    scheduler:step()
  end
end

---Returns the rates of a scheduler.
---@param make fun(o: optim.Optimizer, s: table): optim.LRScheduler
---@param kind string 'sgd', 'momentum' or 'adam'
---@param at? number[]|string the epochs to step to, or 'metric'
---@return any ... the rates of the first group, those of the second, the momenta, the dictionary
function schedules.rates(make, kind, at)
  local optimizer = make_optimizer(kind)
  local scheduler, seen = make(optimizer, torch.optim.lr_scheduler), {}
  for step = 0, STEPS - 1 do
    local first, second = optimizer.param_groups[1], optimizer.param_groups[2]
    seen[step + 1] = {first.lr, second.lr, kind == 'adam' and first.betas[1] or first.momentum}
    optimizer:step()
    advance(scheduler, step, at)
    if step == STEPS / 2 and not at then
      local old, state = scheduler, optimizer:state_dict()
      optimizer = make_optimizer(kind)
      scheduler = make(optimizer, torch.optim.lr_scheduler)
      scheduler:load_state_dict(old:state_dict())
      optimizer:load_state_dict(state)
    end
  end
  local values = torch.tensor(seen, {dtype = 'float64'})
  local out = {values:select(1, 0):split(20), values:select(1, 1)}
  if kind ~= 'sgd' then out[#out + 1] = values:select(1, 2) end
  out[#out + 1] = layout(scheduler)
  return out
end

return schedules
