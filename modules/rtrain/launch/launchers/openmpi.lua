-- rtrain/launch/launchers/openmpi.lua: mpirun of Open MPI, versions 4 and 5.
--
-- Version 4 states the number of nodes (OMPI_MCA_orte_num_nodes), version 5 does not. Neither states the number of the
-- process's node, or the address of the first process.

local mpi_hosts = require 'rtrain.launch.mpi_hosts'
local mpi_script = require 'rtrain.launch.submit.mpi_script'
local program = require 'rtrain.launch.submit.program'
local slurm_job = require 'rtrain.launch.slurm_job'

local openmpi = {name = 'openmpi', rule = 'OMPI_COMM_WORLD_SIZE is set'}

---@param getenv fun(name: string): string?
---@param facts Facts
---@return boolean
function openmpi.detect(getenv, facts) return facts:has 'OMPI_COMM_WORLD_SIZE' end

---@param getenv fun(name: string): string?
---@param facts Facts
function openmpi.allocation(getenv, facts)
  facts:needed_integer('world_size', 'OMPI_COMM_WORLD_SIZE', 1)
  facts:needed_integer('rank', 'OMPI_COMM_WORLD_RANK', 0)
  facts:needed_integer('tasks_on_node', 'OMPI_COMM_WORLD_LOCAL_SIZE', 1)
  facts:needed_integer('local_rank', 'OMPI_COMM_WORLD_LOCAL_RANK', 0)
  facts:integer('num_nodes', {'RTRAIN_NNODES', 'OMPI_MCA_orte_num_nodes'}, 1)
  mpi_hosts.state(facts)
  slurm_job.state(facts)
  local start = {'PMIX_NAMESPACE', 'OMPI_MCA_ess_base_jobid'}
  if facts.values.job_id then
    facts:text('step_id', start)
  else
    facts:text('job_id', {'RTRAIN_JOB_ID', unpack(start)})
  end
end

openmpi.submit_options = {
  'nodes', 'ntasks_per_node', 'num_workers', 'name', 'storage', 'set', 'option', 'hosts', 'hostfile',
}

openmpi.needs_storage = 'any'  -- mpirun on a login node starts the others with their own environment

openmpi.render = mpi_script.render

---Runs the job in the foreground, as this process: mpirun has no queue.
---@param spec SubmitSpec
---@param text string
---@return string[] words the program that replaces this process
---Errors: 'environment' without mpirun.
function openmpi.submit(spec, text)
  program.run({'mpirun', '--version'}, nil, 'submit where Open MPI or MPICH is installed')
  return {'/bin/bash', '-c', text, 'rtrain-submit'}
end

return openmpi
