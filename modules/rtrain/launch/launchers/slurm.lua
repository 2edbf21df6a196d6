-- rtrain/launch/launchers/slurm.lua: Slurm: a process that srun has started.

local errors = require 'base.errors'
local host_list = require 'rtrain.launch.host_list'
local program = require 'rtrain.launch.submit.program'
local run_name = require 'rtrain.launch.run_name'
local shell = require 'rtrain.launch.submit.shell'
local slurm_job = require 'rtrain.launch.slurm_job'
local slurm_script = require 'rtrain.launch.submit.slurm_script'
local slurm_wait = require 'rtrain.launch.slurm_wait'
local texts = require 'rtrain.display.texts'

local slurm = {name = 'slurm', rule = 'SLURM_JOB_ID and SLURM_STEP_ID are set, and the step is not a shell'}

---@param getenv fun(name: string): string?
---@param facts Facts
---@return boolean
function slurm.detect(getenv, facts) return slurm_job.is_task(facts) end

-- States the nodes of the step, which may be a part of those of the job.
local function state_hosts(facts)
  facts:needed_integer('num_nodes', {'SLURM_STEP_NUM_NODES', 'SLURM_NNODES', 'SLURM_JOB_NUM_NODES'}, 1)
  facts:needed_integer('node_rank', 'SLURM_NODEID', 0)
  local hosts = facts:parsed('hosts', {'SLURM_STEP_NODELIST', 'SLURM_JOB_NODELIST', 'SLURM_NODELIST'}, host_list.expand,
    "a list of nodes such as 'n[0-3,7],m1'")
  if hosts then facts:set('master', {addr = hosts[1]}, facts.origins.hosts) end
end

local function state_tasks(facts)
  local values = facts.values
  facts:needed_integer('world_size', {'SLURM_STEP_NUM_TASKS', 'SLURM_NTASKS'}, 1)
  facts:needed_integer('rank', 'SLURM_PROCID', 0)
  facts:needed_integer('local_rank', 'SLURM_LOCALID', 0)
  local name = {'SLURM_STEP_TASKS_PER_NODE', 'SLURM_TASKS_PER_NODE'}
  local counts = facts:parsed('tasks_on_node', name, host_list.counts, "numbers of processes such as '2(x2),1'")
  if counts == nil then
    facts:set('tasks_on_node', math.ceil(values.world_size / values.num_nodes), 'SLURM_NTASKS / SLURM_NNODES')
    return
  end
  if counts[values.node_rank + 1] == nil then
    facts:refuse(select(2, facts:get(name)), ('it has no number for node %d of %d'):format(values.node_rank, values.num_nodes))
  end
  facts:set('tasks_on_node', counts[values.node_rank + 1], facts.origins.tasks_on_node)
  for _, count in ipairs(counts) do
    if count ~= counts[1] then
      return facts:warn(('%s: the nodes have different numbers of processes; --ntasks-per-node gives each the same'):format(
        facts.origins.tasks_on_node))
    end
  end
end

-- The resources of the step belong to this job alone: Slurm has allotted them.
local function state_resources(facts)
  facts:integer('cores', 'SLURM_CPUS_ON_NODE', 1)
  local has_gpus = facts:get {'SLURM_STEP_GPUS', 'SLURM_JOB_GPUS', 'SLURM_GPUS_ON_NODE'}
  if has_gpus then facts:devices() end
end

---@param getenv fun(name: string): string?
---@param facts Facts
function slurm.allocation(getenv, facts)
  state_hosts(facts)
  state_tasks(facts)
  facts:text('job_id', 'SLURM_JOB_ID')
  facts:text('step_id', 'SLURM_STEP_ID')
  slurm_job.state(facts)
  state_resources(facts)
end

slurm.submit_options = {
  'nodes', 'ntasks_per_node', 'gpus_per_node', 'cpus_per_task', 'num_workers', 'time', 'name', 'storage', 'partition', 'set',
  'option', 'wait', 'sweep', 'grid', 'space', 'random', 'seed', 'jobs',
}

slurm.render = slurm_script.render

-- `rtrain ls` waits for the answer.
local ANSWER_S = 5

---@param job string
---@return boolean? gone whether it has ended or was cancelled; nil if Slurm does not answer
function slurm.is_gone(job)
  local ok, answer = pcall(program.run, {'squeue', '-h', '-j', job, '-o', '%T'}, nil, 'ask where Slurm is installed', ANSWER_S)
  if ok then return answer == '' end
  return tostring(answer):find('Invalid job id', 1, true) and true or nil
end

local FOLLOW = [[
submitted job %s
  its place in the queue   squeue --job %s; rtrain ls
  output                   tail -F %s
  the run                  rtrain show %s
  save, and start again    scancel --signal=USR2 %s
  end                      scancel %s
]]

local FOLLOW_SWEEP = [[
submitted job %s: %s of the sweep %s
  their place in the queue squeue --job %s
  output                   tail -F %s
  the trials               rtrain ls --tag %s
  their curves             rtrain plot --tag %s METRIC
  save, and start again    scancel --signal=USR2 %s
  end                      scancel %s
]]

local function submitted_sweep(spec, job)
  local sweep = spec.sweep
  for i, trial in ipairs(sweep.trials) do spec.record(trial.name, ('%s_%d'):format(job, i - 1), trial.words) end
  local output, tag = shell.word(spec.job_name) .. ('-%s_*.out'):format(job), shell.word(sweep.tag)
  io.write(FOLLOW_SWEEP:format(job, texts.counted(#sweep.trials, 'trial'), sweep.name, job, output, tag, tag, job, job))
end

---Submits a batch script and prints the job's number and how to follow it. With `spec.wait` it follows the job.
---@param spec SubmitSpec
---@param text string
---@return integer? code exit code of the job
---Errors: 'environment' without sbatch, and if it refuses the script.
function slurm.submit(spec, text)
  local output = program.run({'sbatch', '--parsable'}, text, 'submit where Slurm is installed')
  local job = (output:match '[^\n]*$'):match '^(%d+)'
  if job == nil then errors.raise('environment', 'sbatch has given no number of a job: ' .. output) end
  if spec.sweep then return submitted_sweep(spec, job) end
  local run = spec.name or run_name.of_job(spec.script, {engine = 'slurm', job_id = job, step_id = '0'}, 1)
  spec.record(run, job)
  local path = ('%s-%s.out'):format(spec.job_name, job)
  io.write(FOLLOW:format(job, job, shell.word(path), shell.word(run), job, job))
  if spec.wait then return slurm_wait.wait(job, path, slurm.is_gone) end
end

return slurm
