-- rtrain/elastic/step_check.lua: compares replicas after steps of optimizers, in loops without train.elastic
-- (FailureConfig.verify_replicas).

local hooks = require 'torch.optim.hooks'
local session = require 'rtrain.session'

local step_check = {}

-- Returns the models of DistributedDataParallel that the optimizer changes, by name; nil if it changes another one.
local function replicas_of(optimizer)
  local ddp = package.loaded['torch.nn.parallel.distributed']
  if not ddp then return nil end
  local ordered = require 'base.ordered'
  local model_of, models = {}, ordered.new()
  for i, model in ipairs(ddp.all_made()) do
    local place = {name = i == 1 and 'model' or 'model' .. i, module = model.module}
    for _, param in ipairs(model:parameters()) do model_of[param] = place end
  end
  for _, group in ipairs(optimizer.param_groups) do
    for _, param in ipairs(group.params) do
      local found = model_of[param]
      if not found then return nil end
      models[found.name] = found.module
    end
  end
  return models
end

-- Returns what compares the models of an optimizer; false if it has none.
local function check_of(state, optimizer)
  local models = replicas_of(optimizer)
  if not models then return false end
  local check = require 'rtrain.elastic.replica_check'(models, require('base.ordered').new{{'optimizer', optimizer}},
    state.verify_replicas)
  return {replicas = check, steps = 0}
end

local function verify(state, check) check.replicas:verify(state.context, check.steps, 'step') end

---Begins to compare them, if the run asks for it.
---@param given table state of the session
function step_check.begin(given)
  if given.kind ~= 'torch' or (given.verify_replicas or 0) == 0 or given.context.world_size == 1 then return end
  -- Weak, so that what is serialized meanwhile does not take the script's objects for those of a module.
  local checks = setmetatable({}, {__mode = 'k'})
  hooks.watch_made(function(optimizer)
    local check = checks[optimizer]
    if check == nil then
      check = check_of(session.get('FailureConfig.verify_replicas'), optimizer)
      checks[optimizer] = check
    end
    if not check then return end
    check.steps = check.steps + 1
    if not check.replicas:is_due(check.steps) then return end
    local state = session.get('FailureConfig.verify_replicas')
    if state.has_elastic then return end
    if state.virtual then return state.virtual:quietly(verify, state, check) end
    verify(state, check)
  end)
end

---Ends that.
function step_check.finish() hooks.watch_made(nil) end

return step_check
