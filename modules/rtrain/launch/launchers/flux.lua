-- rtrain/launch/launchers/flux.lua: a task of Flux.
--
-- Flux states the numbers of nodes and tasks; with several tasks a node, it fills one node after the other.

local flux = {name = 'flux', rule = 'FLUX_TASK_RANK is set'}

---@param getenv fun(name: string): string?
---@param facts Facts
---@return boolean
function flux.detect(getenv, facts) return facts:has 'FLUX_TASK_RANK' end

---@param getenv fun(name: string): string?
---@param facts Facts
function flux.allocation(getenv, facts)
  local rank = facts:needed_integer('rank', 'FLUX_TASK_RANK', 0)
  local world_size = facts:needed_integer('world_size', 'FLUX_JOB_SIZE', 1)
  local num_nodes = facts:needed_integer('num_nodes', 'FLUX_JOB_NNODES', 1)
  if world_size % num_nodes ~= 0 then
    facts:refuse('FLUX_JOB_SIZE', ('on FLUX_JOB_NNODES = %d nodes: start as many tasks on each'):format(num_nodes))
  end
  local on_node = world_size / num_nodes
  facts:set('tasks_on_node', on_node, 'FLUX_JOB_SIZE / FLUX_JOB_NNODES')
  facts:needed_integer('local_rank', 'FLUX_TASK_LOCAL_ID', 0)
  facts:set('node_rank', math.floor(rank / on_node), 'FLUX_TASK_RANK / tasks of a node')
  facts:text('job_id', 'FLUX_JOB_ID')
  facts:set('is_batch', facts.values.job_id ~= nil, facts.origins.job_id or 'FLUX_JOB_ID is not set')
  if facts:get 'CUDA_DEVICE_ORDER' == 'PCI_BUS_ID' then facts:devices() end  -- set by its plug-in gpu-affinity
end

return flux
