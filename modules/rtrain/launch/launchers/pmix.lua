-- rtrain/launch/launchers/pmix.lua: PMIx without an mpirun that states more (prterun): one process a node.
--
-- PMIx states the number of processes only to programs that call its library, so RTRAIN_NNODES must state it.

local pmix = {name = 'pmix', rule = 'PMIX_RANK is set'}

---If srun sets it, also in a shell, Slurm's own variables take precedence.
---@param getenv fun(name: string): string?
---@param facts Facts
---@return boolean
function pmix.detect(getenv, facts) return facts:has 'PMIX_RANK' and not facts:has 'SLURM_STEP_ID' end

---@param getenv fun(name: string): string?
---@param facts Facts
function pmix.allocation(getenv, facts)
  local rank = facts:needed_integer('rank', 'PMIX_RANK', 0)
  local num_nodes = facts:integer('num_nodes', 'RTRAIN_NNODES', 1)
  if num_nodes == nil then
    facts:refuse('PMIX_RANK', 'PMIx does not tell how many processes there are: start one on each node and set RTRAIN_NNODES '
      .. 'to their number; RTRAIN_LAUNCHER=local trains on this node alone')
  end
  facts:set('world_size', num_nodes, facts.origins.num_nodes)
  facts:set('node_rank', rank, facts.origins.rank)
  facts:text('job_id', {'RTRAIN_JOB_ID', 'PMIX_NAMESPACE'})
end

return pmix
