-- rtrain/virtual/init.lua: begins the virtual ranks of a run in a worker (ScalingConfig.virtual_workers).

local errors = require 'base.errors'
local registry = require 'torch.distributed.virtual_ranks'
local seeds = require 'base.seed'
local session = require 'rtrain.session'

local virtual = {}

-- Returns the seed of a run whose script sets none: that of all its processes and attempts.
local function seed_of(name)
  local seed = 0
  for i = 1, #name do seed = seeds.mixed(seed, name:byte(i)) end
  return seed
end

---Begins the virtual ranks, if the run has any, and seeds the generators.
---@param state table of the session
---@param count integer|nil ScalingConfig.virtual_workers
---@param rebalances boolean|nil whether the controller may move some of them
function virtual.begin(state, count, rebalances)
  if count == nil then return end
  if state.kind ~= 'torch' then
    errors.raise('config', 'ScalingConfig.virtual_workers: only the workers of a TorchTrainer have virtual ranks')
  end
  state.virtual = require 'rtrain.virtual.ranks'(count, function()
    local context = session.get('virtual_workers').context
    return context.world_rank, context.world_size, context.shares
  end, rebalances)
  registry.set(state.virtual)
  local seed = seed_of(state.context.experiment_name)
  require('torch').manual_seed(seed)
  math.randomseed(seed)
end

---Ends them.
function virtual.finish() registry.set(nil) end

---Returns the number of parts into which data are divided, of which a rank has one or several: of the virtual ranks, or
---of the ranks.
---@param state table of the session
---@return integer
function virtual.num_parts(state) return state.virtual and state.virtual.count or state.context.world_size end

---Raises code 'unsupported' for a function that virtual ranks do not have.
---@param state table|nil of the session; nil outside of a train function
---@param what string the function
---@param reason string
function virtual.refuse(state, what, reason)
  if not (state and state.virtual) then return end
  errors.raise('unsupported', ('%s with ScalingConfig.virtual_workers: %s'):format(what, reason))
end

return virtual
