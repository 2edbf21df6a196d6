-- rtrain/launch/launchers/mpich.lua: mpiexec of MPICH and of Intel MPI (Hydra), and other launchers that set PMI_RANK
-- and PMI_SIZE.

local mpi_hosts = require 'rtrain.launch.mpi_hosts'
local slurm_job = require 'rtrain.launch.slurm_job'

local mpich = {name = 'mpich', rule = 'PMI_SIZE is set'}

---In a shell that srun has started, the PMI variables are those of the shell.
---@param getenv fun(name: string): string?
---@param facts Facts
---@return boolean
function mpich.detect(getenv, facts)
  return facts:has 'PMI_SIZE' and (facts:has 'MPI_LOCALNRANKS' or not slurm_job.is_shell(facts))
end

-- MPICH gives a job no name. On one node the parent process identifies the job.
local function state_job(facts)
  slurm_job.state(facts)
  if facts.values.job_id or facts:text('job_id', {'RTRAIN_JOB_ID', 'PMI_JOBID'}) then return end
  if facts.values.num_nodes == 1 then
    facts:set('job_id', ('parent-%d'):format(facts:parent()), 'the process that started this one')
  else
    facts:refuse('PMI_SIZE', 'MPICH gives its jobs no name by which the nodes find each other: set RTRAIN_JOB_ID, as in '
      .. 'RTRAIN_JOB_ID=$$ mpiexec -ppn 1 … rtrain run …')
  end
end

---@param getenv fun(name: string): string?
---@param facts Facts
function mpich.allocation(getenv, facts)
  local world_size = facts:needed_integer('world_size', 'PMI_SIZE', 1)
  facts:needed_integer('rank', 'PMI_RANK', 0)
  local sizes = {'MPI_LOCALNRANKS', 'PMI_LOCAL_SIZE'}
  if facts:integer('tasks_on_node', sizes, 1) == nil then
    if world_size > 1 then facts:missing(sizes) end
    facts:set('tasks_on_node', 1, 'PMI_SIZE')
  end
  facts:integer('local_rank', {'MPI_LOCALRANKID', 'PMI_LOCAL_RANK'}, 0)
  facts:integer('num_nodes', 'RTRAIN_NNODES', 1)
  mpi_hosts.state(facts)
  state_job(facts)
end

return mpich
