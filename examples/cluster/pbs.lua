-- A site's own launcher: PBS (OpenPBS, PBS Professional). Written from its documents, not tried on a PBS of any site.
--
--   rtrain submit examples/cluster/pbs.lua train.lua --nodes 2 --cpus-per-task 8
--
-- RTRAIN_LAUNCHER=/where/it/is/pbs.lua makes every rtrain ask it first; where `detect` says no, rtrain's own launchers are
-- asked. The fields that `allocation` may state are those of rtrain.launch.allocation; what is wrong in a variable that is
-- read by `facts` becomes an error with its name and value, and `rtrain env` shows where each value comes from.

local program = require 'rtrain.launch.submit.program'
local script = require 'rtrain.launch.submit.script'
local shell = require 'rtrain.launch.submit.shell'

local THIS_FILE = ...

local pbs = {name = 'pbs'}

-- The job's script (below) has set RTRAIN_NNODES: another script of PBS may start tasks that are not one run.
function pbs.detect(getenv) return getenv 'PBS_JOBID' ~= nil and getenv 'RTRAIN_NNODES' ~= nil end

function pbs.allocation(getenv, facts)
  facts:needed_integer('num_nodes', 'RTRAIN_NNODES', 1)
  facts:needed_integer('node_rank', 'PBS_NODENUM', 0)
  facts:text('job_id', 'PBS_JOBID')
  facts:set('is_batch', true, 'PBS_JOBID=' .. getenv 'PBS_JOBID')
  facts:set('master', {addr = getenv 'RTRAIN_MASTER_ADDR'}, 'the first node of PBS_NODEFILE')
end

local TEXT = [[
#!/bin/bash
#PBS -N %s
#PBS -l select=%d:%smpiprocs=1
#PBS -l place=scatter
%s#PBS -j oe
#PBS -r y

%s
# pbsdsh starts one process on each node. It gives them little of the environment: what they need is named.
master=$(head -n 1 "$PBS_NODEFILE")
pbsdsh -- env PATH="$PATH" HOME="$HOME" \
  RTRAIN_LAUNCHER=%s RTRAIN_NNODES=%d RTRAIN_MASTER_ADDR="$master" \
  RTRAIN_SECRET_FILE="$RTRAIN_SECRET_FILE" \
  bash -c 'cd "$1" && shift && exec "$@"' pbs "$PBS_O_WORKDIR" \
  %s
]]

-- What `rtrain submit --dry-run` prints.
function pbs.render(spec)
  local resources = ('ncpus=%d:'):format(spec.cpus_per_task or 1)
  if spec.gpus_per_node then resources = resources .. ('ngpus=%d:'):format(spec.gpus_per_node) end
  local more = spec.time and ('#PBS -l walltime=%s\n'):format(spec.time) or ''
  for _, option in ipairs(spec.option) do more = ('%s#PBS %s\n'):format(more, option) end
  return TEXT:format(spec.job_name, spec.nodes, resources, more, script.secret '$PBS_JOBID', shell.word(THIS_FILE),
    spec.nodes, spec.command)
end

function pbs.submit(_, text)
  local job = program.run({'qsub'}, text, 'submit where PBS is installed')
  io.write(('submitted job %s\n  its place in the queue   qstat %s\n'):format(job, job))
end

return pbs
