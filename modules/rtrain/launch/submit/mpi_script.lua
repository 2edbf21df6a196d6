-- rtrain/launch/submit/mpi_script.lua: the script of `rtrain submit mpi`, for Open MPI and MPICH.

local errors = require 'base.errors'
local shell = require 'rtrain.launch.submit.shell'

local mpi_script = {}

-- Returns the options that name the nodes, for Open MPI and for MPICH. Open MPI also takes the number of processes of a
-- node.
local function hosts_of(spec)
  if spec.hosts and spec.hostfile then errors.raise('usage', 'submit mpi: --hosts or --hostfile, not both') end
  if spec.hostfile then
    local file = shell.word(spec.hostfile)
    return ' --hostfile ' .. file, ' -f ' .. file
  end
  if spec.hosts == nil then return '', '' end
  local names, slots = {}, {}
  for name in spec.hosts:gmatch '[^,%s]+' do
    names[#names + 1] = shell.word(name)
    slots[#slots + 1] = ('%s:%d'):format(shell.word(name), spec.ntasks_per_node)
  end
  if #names ~= spec.nodes then
    errors.raise('usage', ('submit mpi: --hosts %s names %d nodes, --nodes is %d'):format(spec.hosts, #names, spec.nodes))
  end
  return ' --host ' .. table.concat(slots, ','), ' -hosts ' .. table.concat(names, ',')
end

local TEXT = [[
#!/bin/bash
# Written by `rtrain submit mpi`. `bash FILE` starts it; change what you like.
# %s

# By this name the nodes find each other: the first one writes its address and a fresh key, which only you can read, to
# ~/.local/state/rtrain/jobs, a folder that all nodes have to share.
export RTRAIN_JOB_ID="mpi-$(hostname)-$$"

# Open MPI: --bind-to none, else a process and all that it starts has one core; -x passes the variable on to the
# other nodes. MPICH passes all of them on.
case "$(mpirun --version 2>&1)" in
  *'Open MPI'*) options=(-n %d -N %d%s --bind-to none -x RTRAIN_JOB_ID) ;;
  *) options=(-n %d -ppn %d%s) ;;
esac

# A request to end this script becomes one to save a checkpoint: mpirun gives SIGUSR1 to all processes.
mpirun "${options[@]}"%s \
  %s &
mpirun=$!
trap 'kill -USR1 $mpirun' INT TERM HUP
wait $mpirun
status=$?
while kill -0 $mpirun 2>/dev/null; do
  wait $mpirun
  status=$?
done
exit $status
]]

---@param spec SubmitSpec
---@return string text
---Errors: 'usage' if `hosts` does not name as many as `nodes` says.
function mpi_script.render(spec)
  local openmpi, mpich = hosts_of(spec)
  local num = spec.nodes * spec.ntasks_per_node
  local shape = spec.ntasks_per_node == 1 and 'One process on each node: it starts the workers of that node.'
    or 'Each process is one rank; with one process on each node rtrain starts the workers itself, and restarts them.'
  local more = #spec.option > 0 and ' ' .. table.concat(spec.option, ' ') or ''
  return TEXT:format(shape, num, spec.ntasks_per_node, openmpi, num, spec.ntasks_per_node,
    mpich, more, spec.command)
end

return mpi_script
