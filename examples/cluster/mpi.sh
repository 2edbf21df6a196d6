#!/bin/bash
# Written by `rtrain submit mpi`. `bash FILE` starts it; change what you like.
# One process on each node: it starts the workers of that node.

# By this name the nodes find each other: the first one writes its address and a fresh key, which only you can read, to
# ~/.local/state/rtrain/jobs, a folder that all nodes have to share.
export RTRAIN_JOB_ID="mpi-$(hostname)-$$"

# Open MPI: --bind-to none, else a process and all that it starts has one core; -x passes the variable on to the
# other nodes. MPICH passes all of them on.
case "$(mpirun --version 2>&1)" in
  *'Open MPI'*) options=(-n 2 -N 1 --host n0:1,n1:1 --bind-to none -x RTRAIN_JOB_ID) ;;
  *) options=(-n 2 -ppn 1 -hosts n0,n1) ;;
esac

# A request to end this script becomes one to save a checkpoint: mpirun gives SIGUSR1 to all processes.
mpirun "${options[@]}" \
  rtrain run train.lua &
mpirun=$!
trap 'kill -USR1 $mpirun' INT TERM HUP
wait $mpirun
status=$?
while kill -0 $mpirun 2>/dev/null; do
  wait $mpirun
  status=$?
done
exit $status
