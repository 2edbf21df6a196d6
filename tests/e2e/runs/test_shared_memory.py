"""One process of a run overwrites the memory that the run's processes share: the controller still obeys commands."""

import os
import pathlib
import random
import signal

import pytest

# Collectives of every kind, reports and commits, without end.
ENDLESS = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function()
    local rank = train.get_context():get_world_rank()
    local small, large = torch.ones(4), torch.ones(100000)
    local state = train.state {step = 0}
    train.elastic(state, function()
      while true do
        torch.distributed.all_reduce(small, 'avg')
        torch.distributed.all_reduce(large, 'avg')
        if rank == 0 then torch.distributed.send(small, 1) else torch.distributed.recv(small, 0) end
        state.step = state.step + 1
        state:commit()
        if state.step % 10 == 0 then train.report {step = state.step} end
      end
    end)
  end,
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {
    name = 'scribbled', failure_config = train.FailureConfig {max_failures = 0, preemption_grace_s = 2},
  },
}:fit()
"""
MOST_BYTES = 1 << 20  # upper limit of a group's segment: its counters and slots


def memory_of(pid, name):
    """Returns a descriptor of the process for the memory file of that name."""
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        if os.readlink(link).startswith(f"/memfd:{name}"):
            return os.open(link, os.O_RDWR)
    pytest.fail(f"process {pid} has no memory {name}")


def scribble(memory, what):
    size = min(os.fstat(memory).st_size, MOST_BYTES)
    if what == "ones":
        os.pwrite(memory, b"\xff" * size, 0)
        return
    bits = random.Random(1)
    for _ in range(300):
        os.pwrite(memory, bits.randbytes(64), bits.randrange(size - 64))


@pytest.mark.parametrize("what", ["ones", "random"])
@pytest.mark.parametrize("name", ["rtrain-progress", "rtrain-commits", "rtrain-group"])
def test_a_run_whose_shared_memory_is_written_over_ends_in_order(rtrain, name, what):
    running = rtrain.started("run", rtrain.script(ENDLESS), reports=2)
    memory = memory_of(rtrain.pids("scribbled")[1], name)
    try:
        scribble(memory, what)
    finally:
        os.close(memory)
    running.send(signal.SIGTERM)
    result = running.wait(60)
    assert result.returncode > 0 and result.returncode != 70, result.stderr
    assert rtrain.json("show", "scribbled")["status"] in ("ABORTED", "ERRORED", "PREEMPTED")
    rtrain.wait_for_processes()
