-- rtrain/launch/submit/slurm_script.lua: the batch script of `rtrain submit slurm`.

local duration = require 'rtrain.launch.submit.duration'
local script = require 'rtrain.launch.submit.script'
local shell = require 'rtrain.launch.submit.shell'

local slurm_script = {}

local LONGEST_NOTICE_S = 120

-- Returns the seconds before the time limit at which the job is notified: enough for a checkpoint, but a small part of
-- a short job.
local function notice_of(spec)
  if spec.time == nil then return LONGEST_NOTICE_S end
  return math.max(1, math.min(LONGEST_NOTICE_S, math.floor(duration.seconds(spec.time) / 4)))
end

-- '0-11%4': twelve tasks, four at a time.
local function array_of(spec)
  if spec.sweep == nil then return nil end
  return ('0-%d%s'):format(#spec.sweep.trials - 1, spec.sweep.jobs and '%' .. spec.sweep.jobs or '')
end

-- Returns a list of {option, value, comment}; an option without a value is left out.
local function directives_of(spec)
  local shape = spec.ntasks_per_node == 1 and 'One process on each node: it starts the workers of that node.'
    or 'Each process is one rank; with 1 rtrain starts the workers itself, and restarts them.'
  return {
    {'job-name', spec.job_name},
    {'nodes', spec.nodes},
    {'ntasks-per-node', spec.ntasks_per_node, shape},
    {'gpus-per-node', spec.gpus_per_node},
    {'cpus-per-task', spec.cpus_per_task or '', 'Without --cpus-per-task Slurm gives a process one core, unless the '
      .. 'partition has another default.'},
    {'time', spec.time},
    {'partition', spec.partition},
    {'array', array_of(spec), 'A task for each trial.'},
    {'output', spec.sweep and '%x-%A_%a.out' or '%x-%j.out', 'All output, named by the job and its number; a job that starts '
      .. 'again writes behind it.'},
    {'open-mode', 'append'},
    {'requeue', true, 'After a preemption or the loss of a node Slurm starts the job again with the same number, and '
      .. 'the run goes on.'},
    {'signal', 'USR2@' .. notice_of(spec), 'Before the time limit each process gets a signal: the run saves a '
      .. 'checkpoint and ends with status 75;\n# then the job starts again.'},
  }
end

local function directive_lines(spec)
  local lines = {}
  for _, directive in ipairs(directives_of(spec)) do
    local name, value, comment = unpack(directive, 1, 3)
    if value ~= nil and comment then lines[#lines + 1] = '# ' .. comment end
    if value == true then
      lines[#lines + 1] = '#SBATCH --' .. name
    elseif value ~= nil and value ~= '' then
      lines[#lines + 1] = ('#SBATCH --%s=%s'):format(name, shell.word(tostring(value)))
    end
  end
  for _, option in ipairs(spec.option) do lines[#lines + 1] = '#SBATCH ' .. option end
  return table.concat(lines, '\n')
end

-- Returns the lines that choose the words that a task adds to the command.
local function trial_lines(spec)
  local lines = {'case $SLURM_ARRAY_TASK_ID in'}
  for i, trial in ipairs(spec.sweep.trials) do
    lines[#lines + 1] = ('  %d) trial=(%s) ;;'):format(i - 1, shell.command(trial.settings))
  end
  lines[#lines + 1] = 'esac\n'
  return table.concat(lines, '\n')
end

-- Since Slurm 22.05 srun does not inherit --cpus-per-task of the job.
local function srun_line(spec)
  local cpus = spec.cpus_per_task and (' --cpus-per-task=%d'):format(spec.cpus_per_task) or ''
  return ('srun --kill-on-bad-exit=1 --ntasks-per-node=%d%s \\\n  %s'):format(spec.ntasks_per_node, cpus, spec.command)
end

---@param spec SubmitSpec
---@return string text
---Errors: 'config' for a wrong time.
function slurm_script.render(spec)
  local parts = {
    '#!/bin/bash',
    '# Written by `rtrain submit slurm`. `sbatch FILE` submits it; change what you like.',
    directive_lines(spec),
    '',
  }
  if spec.sweep then parts[#parts + 1] = trial_lines(spec) end
  if spec.nodes * spec.ntasks_per_node > 1 then parts[#parts + 1] = script.secret '$SLURM_JOB_ID' end
  parts[#parts + 1] = '# --kill-on-bad-exit: when one process fails, Slurm ends the others at once.'
  parts[#parts + 1] = srun_line(spec)
  return table.concat(parts, '\n') .. '\n'
end

return slurm_script
