-- rtrain/launch/slurm_job.lua: the Slurm job around this process, whether or not srun started the process.
--
-- Seen with Slurm 22.05: a step inherits the name of the job ('interactive' under salloc, 'bash' under `srun --pty
-- bash`), so the name alone does not distinguish a shell from a step that was started in it. A shell started by srun
-- has SLURM_PTY_PORT; a step started in that shell has it too, but its number is above 0.

local shell = require 'rtrain.launch.submit.shell'

local slurm_job = {}

local FIRST_SPECIAL_STEP = 4294967280  -- this number and larger ones: the batch script's step, salloc's shell, …
local SHELLS = {bash = true, interactive = true, sh = true, zsh = true}

---Returns whether the step of this process is an interactive shell: `srun --pty bash`, or salloc's shell if the site
---runs it on a node.
---@param facts Facts
---@return boolean
function slurm_job.is_shell(facts)
  local step = facts:get 'SLURM_STEP_ID'
  if step == nil then return false end
  local number = tonumber(step)
  if number and number >= FIRST_SPECIAL_STEP then return true end
  if not SHELLS[facts:get 'SLURM_JOB_NAME' or ''] then return false end
  return number == 0 and facts:has 'SLURM_PTY_PORT' or facts:get 'SLURM_NTASKS' == '1'
end

---Returns whether an mpirun started this process in the job. On the other nodes srun started the daemons of mpirun,
---whose variables do not describe the processes of mpirun.
---@param facts Facts
---@return boolean
function slurm_job.is_of_mpirun(facts) return facts:has 'OMPI_COMM_WORLD_SIZE' or facts:has 'MPI_LOCALNRANKS' end

---Returns whether srun started this process as a task of a step.
---@param facts Facts
---@return boolean
function slurm_job.is_task(facts)
  return facts:has('SLURM_JOB_ID', 'SLURM_STEP_ID') and not slurm_job.is_shell(facts) and not slurm_job.is_of_mpirun(facts)
end

-- Slurm does not requeue a job that it is ending, such as a cancelled job.
local function state_commands(facts)
  local job, origin = shell.word(facts.values.job_id), facts.origins.job_id
  facts:set('time_left_command', ('squeue -h -j %s -O TimeLeft'):format(job), origin)
  facts:set('requeue_command', ('if [ "$(squeue -h -j %s -o %%T)" = RUNNING ]; then scontrol requeue %s; fi'):format(job, job),
    origin)
  facts:set('evict_command', 'scontrol update "NodeName=$host" "Reason=$reason"', origin)
end

---States the job's name and restarts, and the commands that query its remaining time and requeue it. An interactive
---shell does not count as a job of a scheduler.
---@param facts Facts
function slurm_job.state(facts)
  if not facts:has 'SLURM_JOB_ID' or slurm_job.is_shell(facts) or not facts:has 'SLURM_PROCID' then return end
  facts:text('job_id', 'SLURM_JOB_ID')
  if facts:integer('restart_count', 'SLURM_RESTART_COUNT', 0) == nil then
    facts:set('restart_count', 0, 'SLURM_RESTART_COUNT is not set')
  end
  facts:set('is_batch', true, facts:shown 'SLURM_JOB_ID')
  state_commands(facts)
end

---Warns if this process is in a Slurm job but is not a task of a step: it trains on this node alone.
---@param facts Facts
function slurm_job.warn_outside_step(facts)
  if not facts:has 'SLURM_JOB_ID' then return end
  local is_batch_script = facts:has 'SLURM_PROCID' and not slurm_job.is_shell(facts)
  local num_nodes = facts:whole({'SLURM_JOB_NUM_NODES', 'SLURM_NNODES'}, 1) or 1
  if is_batch_script and num_nodes == 1 then return end
  facts:warn(('%s with %d node%s, but srun has not started this process: it trains on this node alone. '
    .. 'On the nodes of the job: srun -K --ntasks-per-node=1 rtrain run …'):format(facts:shown 'SLURM_JOB_ID', num_nodes,
    num_nodes == 1 and '' or 's'))
end

return slurm_job
