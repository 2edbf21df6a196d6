-- rtrain/launch/launchers/torchrun.lua: torchrun and other programs that set its variables: RANK, WORLD_SIZE,
-- MASTER_ADDR.

local slurm_job = require 'rtrain.launch.slurm_job'

local torchrun = {name = 'torchrun', rule = 'RANK, WORLD_SIZE and MASTER_ADDR are set'}

---@param getenv fun(name: string): string?
---@param facts Facts
---@return boolean
function torchrun.detect(getenv, facts)
  -- Kubeflow's operator sets RANK for a pod, which is a node: only a process of torchrun also has LOCAL_RANK.
  if facts:has 'PET_NNODES' and not facts:has 'LOCAL_RANK' then return false end
  return facts:has('RANK', 'WORLD_SIZE', 'MASTER_ADDR')
end

local function state_nodes(facts)
  local world_size, on_node = facts.values.world_size, facts.values.tasks_on_node
  local num_nodes = facts:integer('num_nodes', 'GROUP_WORLD_SIZE', 1)
  if num_nodes == nil then
    if world_size % on_node ~= 0 then
      facts:refuse('WORLD_SIZE', ('not a multiple of LOCAL_WORLD_SIZE = %d: each node has as many processes'):format(on_node))
    end
    facts:set('num_nodes', world_size / on_node, 'WORLD_SIZE / LOCAL_WORLD_SIZE')
  end
  if facts:integer('node_rank', 'GROUP_RANK', 0) == nil then
    facts:set('node_rank', math.floor(facts.values.rank / on_node), 'RANK / LOCAL_WORLD_SIZE')
  end
end

-- The job is one torchrun; for a torchrun in a Slurm job the job's name is put in front.
local function state_job(facts)
  local parts = {}
  for _, name in ipairs {'TORCHELASTIC_RUN_ID', 'MASTER_ADDR', 'MASTER_PORT'} do
    local value = facts:get(name)
    if value and value ~= 'none' then parts[#parts + 1] = value end
  end
  slurm_job.state(facts)
  local field = facts.values.job_id and 'step_id' or 'job_id'
  facts:set(field, table.concat(parts, '_'), 'TORCHELASTIC_RUN_ID, MASTER_ADDR and MASTER_PORT')
  facts:integer('restart_count', {'TORCHELASTIC_RESTART_COUNT', 'SLURM_RESTART_COUNT'}, 0)
end

---@param getenv fun(name: string): string?
---@param facts Facts
function torchrun.allocation(getenv, facts)
  facts:needed_integer('world_size', 'WORLD_SIZE', 1)
  facts:needed_integer('rank', 'RANK', 0)
  if facts:integer('tasks_on_node', 'LOCAL_WORLD_SIZE', 1) == nil then
    facts:set('tasks_on_node', 1, 'LOCAL_WORLD_SIZE is not set')
  elseif facts.values.tasks_on_node > 1 and not facts:has 'LOCAL_RANK' then
    facts:missing 'LOCAL_RANK'
  end
  facts:integer('local_rank', 'LOCAL_RANK', 0)
  state_nodes(facts)
  state_job(facts)
  local addr = facts:get 'MASTER_ADDR'
  if addr then facts:set('master', {addr = addr, port = facts:whole('MASTER_PORT', 1)}, facts:shown 'MASTER_ADDR') end
end

return torchrun
