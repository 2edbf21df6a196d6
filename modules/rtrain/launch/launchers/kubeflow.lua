-- rtrain/launch/launchers/kubeflow.lua: Kubeflow, and torchrun's settings as variables, such as PET_NNODES. One process
-- a pod.

local kubeflow = {name = 'kubeflow', rule = 'PET_NNODES is set'}

---@param getenv fun(name: string): string?
---@param facts Facts
---@return boolean
function kubeflow.detect(getenv, facts) return facts:has 'PET_NNODES' end

-- With 'auto', 'cpu' and 'gpu' the run chooses the number.
local function state_workers(facts)
  local text = facts:get 'PET_NPROC_PER_NODE'
  if text and not (text == 'auto' or text == 'cpu' or text == 'gpu') then
    facts:integer('workers_per_node', 'PET_NPROC_PER_NODE', 1)
  end
end

---@param getenv fun(name: string): string?
---@param facts Facts
function kubeflow.allocation(getenv, facts)
  if (facts:get 'PET_NNODES' or ''):find '^%d+:%d+$' then
    facts:refuse('PET_NNODES', 'a job whose number of nodes changes is not supported: give one number')
  end
  local num_nodes = facts:needed_integer('num_nodes', 'PET_NNODES', 1)
  if num_nodes > 1 then
    facts:needed_integer('node_rank', {'PET_NODE_RANK', 'JOB_COMPLETION_INDEX', 'RANK'}, 0)
  end
  state_workers(facts)
  local addr, name = facts:get {'PET_MASTER_ADDR', 'MASTER_ADDR'}
  if addr then
    facts:set('master', {addr = addr, port = facts:integer('port', {'PET_MASTER_PORT', 'MASTER_PORT'}, 1)}, facts:shown(name))
  elseif num_nodes > 1 then
    facts:missing 'PET_MASTER_ADDR'
  end
  facts:text('job_id', {'RTRAIN_JOB_ID', 'PET_RDZV_ID', 'PET_MASTER_ADDR', 'MASTER_ADDR'})
end

return kubeflow
