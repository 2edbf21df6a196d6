-- rtrain/session/replicas.lua: warns if each rank of a run trains a separate model without exchanging anything.
--
-- It checks the first step of an optimizer; if there were collectives before, that optimizer's second step. Then it
-- stops.

local hooks = require 'torch.optim.hooks'
local shards = require 'torch.tensor.shards'
local warnings = require 'base.warnings'

local replicas = {}

local is_watching = false

local function warn(world_size)
  warnings.warn(('no gradient was exchanged between the ranks before this step: each of the %d trains a model of its own. '
    .. 'Write model = train.torch.prepare_model(model), and give the optimizer that one\'s parameters'):format(world_size))
end

-- Whether fully_shard exchanges the gradients of a parameter, maybe in groups whose collectives nobody counts.
local function is_sharded(optimizer)
  for _, group in ipairs(optimizer.param_groups) do
    if shards.any(group.params) then return true end
  end
  return false
end

---Begins to watch the train function's optimizers.
---@param state table state of the session
function replicas.begin(state)
  local context = state.context
  if state.kind ~= 'torch' or context.world_size == 1 or state.is_joining or context.world_rank ~= 0 then return end
  local num_collectives = require('rtrain._elastic').num_collectives
  -- Weak, so that what is serialized meanwhile does not take the script's objects for those of a module.
  local first, before = setmetatable({}, {__mode = 'k'}), nil
  is_watching = true
  hooks.watch_steps(function(optimizer)
    if is_sharded(optimizer) then return replicas.finish() end
    local count = num_collectives()
    if before == nil then first[optimizer], before = true, 0 elseif not first[optimizer] then return end
    local is_alone, is_decided = count == before, before > 0
    before = count
    if is_alone or is_decided then replicas.finish() end
    if is_alone then warn(context.world_size) end
  end)
end

---Stops watching: the script wants a model for each rank, exchanges gradients in a hook of its optimizer, or has ended.
function replicas.finish()
  if is_watching then hooks.watch_steps(nil) end
  is_watching = false
end

return replicas
