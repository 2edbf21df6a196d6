"""Hangs and crashes: who is named, with which line, and how the run ends."""

import os
import signal

import pytest

# Two ranks that meet at every step; rank 1 does something else at step 20.
MEETING = """
local torch = require 'torch'
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    local rank = train.get_context():get_world_rank()
    local x = torch.ones(4)
    for step = 1, math.huge do
      torch.distributed.all_reduce(x, 'avg')
      if step == 10 then train.report{pid = require('ffi').C.getpid()} end
      if step == 20 and rank == 1 then
        @ODD@
      end
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'meeting'},
}:fit()
"""


def meeting(odd=""):
    prelude = "require('ffi').cdef 'int getpid(void);'\n"
    return MEETING.replace("local rank =", prelude + "    local rank =", 1).replace("@ODD@", odd)


@pytest.fixture
def impatient(rtrain):
    rtrain.env.update(RTRAIN_HANG_THRESHOLD_S="2", RTRAIN_BUSY_THRESHOLD_S="3")
    return rtrain


def stacks(rtrain):
    folders = sorted((rtrain.run_folder("meeting") / "diag").iterdir())
    return (folders[-1] / "stacks.txt").read_text()


def pid_of(rtrain, rank):
    with rtrain.database() as db:
        return db.execute("SELECT pid FROM workers WHERE rank = ?", (rank,)).fetchone()[0]


def test_F_009_stopped_worker_is_named_and_ends_the_run(impatient):
    running = impatient.started("run", impatient.script(meeting()))
    os.kill(pid_of(impatient, 1), signal.SIGSTOP)
    result = running.wait()
    assert result.returncode == 6, result.stderr
    assert "rank 1 (pid" in result.stderr and "is stopped (SIGSTOP)" in result.stderr
    assert "rank 0 waits in all_reduce" in result.stderr
    assert "stopped (SIGSTOP)" in stacks(impatient) and "train.lua:" in stacks(impatient)


def test_F_008_B_099_compiled_loop_is_named_with_its_line(impatient):
    text = meeting("local i = 0\n        while true do i = i + 1 end")
    line = 1 + text.lstrip("\n").split("while true do i")[0].count("\n")
    result = impatient.run(text)
    assert result.returncode == 6, result.stderr
    assert "rank 1 (pid" in result.stderr and "is busy" in result.stderr
    if impatient.json("env")["luajit_hooks_in_compiled_code"]:
        assert f"it is at {impatient.folder}/train.lua:{line}" in result.stderr or f"train.lua:{line}" in result.stderr
    assert "thread " in stacks(impatient) and "libtorch_cpu.so" in stacks(impatient)


def test_F_013_other_collective_is_refused_before_data_move(impatient):
    result = impatient.run(meeting("torch.distributed.all_gather(x)"))
    assert result.returncode == 1, result.stderr
    assert "the ranks disagree on collective" in result.stderr
    assert "all_gather(float32 [4])" in result.stderr and "all_reduce(float32 [4])" in result.stderr


def test_F_014_other_shape_is_refused_before_data_move(impatient):
    result = impatient.run(meeting("torch.distributed.all_reduce(torch.ones(8, {dtype = torch.float64}))"))
    assert result.returncode == 1, result.stderr
    assert "float64 [8]" in result.stderr and "float32 [4]" in result.stderr


def test_announced_work_is_no_hang(impatient):
    odd = "train.busy('evaluation', 60) os.execute('sleep 5') os.exit(7)"
    result = impatient.run(meeting(odd))
    assert "watchdog" not in result.stderr
    assert result.returncode == 5, result.stderr


def test_F_003_segmentation_fault_shows_where_it_was(impatient):
    result = impatient.run(meeting("require('ffi').cast('int*', 8)[0] = 1"))
    assert result.returncode == 5, result.stderr
    assert "SIGSEGV" in result.stderr and "train.lua:" in result.stderr
    with impatient.database() as db:
        error = db.execute("SELECT error FROM attempts").fetchone()[0]
    assert "[C]" in error
