"""Hangs and crashes: which rank and line are named, and how the run ends; rtrain stack."""

import json
import mmap
import os
import pathlib
import re
import signal

import pytest

from conftest import RTRAIN, wait_until

# Two ranks call a collective at every step; at step 20, rank 1 creates the file `odd` and then does something else.
MEETING = """
local torch = require 'torch'
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    local rank = train.get_context():get_world_rank()
    local x = torch.ones(4)
    train.collective.barrier()
    for step = 1, math.huge do
      torch.distributed.all_reduce(x, 'avg')
      if step == 10 then train.report{pid = require('ffi').C.getpid()} end
      if step == 20 and rank == 1 then
        io.open('odd', 'w'):close()
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
    return rtrain.pids("meeting")[rank]


# fault: SIGSTOP of a worker
def test_stopped_worker_is_named_and_ends_the_run(impatient):
    running = impatient.started("run", impatient.script(meeting()))
    os.kill(pid_of(impatient, 1), signal.SIGSTOP)
    result = running.wait()
    assert result.returncode == 6, result.stderr
    assert "rank 1 (pid" in result.stderr and "is stopped (SIGSTOP)" in result.stderr
    assert "rank 0 waits in all_reduce" in result.stderr
    assert "stopped (SIGSTOP)" in stacks(impatient) and "train.lua:" in stacks(impatient)


def test_stacks_that_cannot_be_saved_are_told_and_change_nothing(impatient):
    running = impatient.started("run", impatient.script(meeting()))
    (impatient.run_folder("meeting") / "diag").write_text("in the way")
    os.kill(pid_of(impatient, 1), signal.SIGSTOP)
    result = running.wait()
    assert result.returncode == 6, result.stderr
    assert "rank 1 (pid" in result.stderr and "is stopped (SIGSTOP)" in result.stderr
    assert re.search(r"^rtrain: the stacks are not saved: .*diag.*: Not a directory$", result.stderr, re.M), (
        result.stderr
    )
    assert impatient.json("show", "meeting")["status"] == "ERRORED"


# fault: the disk fails, or is full, under the stacks of a hang
@pytest.mark.parametrize("error, text", [("EIO", "Input/output error"), ("ENOSPC", "No space left on device")])
def test_stacks_that_a_disk_does_not_take_leave_no_half_file(impatient, error, text):
    impatient.fail_calls(f"write:1:short:path=/diag/,write:1+:{error}:path=/diag/")
    running = impatient.started("run", impatient.script(meeting()))
    os.kill(pid_of(impatient, 1), signal.SIGSTOP)
    result = running.wait()
    assert result.returncode == 6, result.stderr
    assert re.search(rf"^rtrain: the stacks are not saved: .*/diag/.*\.txt.*: {text}$", result.stderr, re.M), (
        result.stderr
    )
    folder = impatient.run_folder("meeting") / "diag"
    assert [path for path in folder.rglob("*") if path.is_file()] == []


# behaviour: a rank stuck outside of a collective
# fault: endless Lua loop
def test_compiled_loop_is_named_with_its_line(impatient):
    text = meeting("local i = 0\n        while true do i = i + 1 end")
    line = 1 + text.lstrip("\n").split("while true do i")[0].count("\n")
    result = impatient.run(text)
    assert result.returncode == 6, result.stderr
    assert "rank 1 (pid" in result.stderr and "is busy" in result.stderr
    if impatient.json("env")["luajit_hooks_in_compiled_code"]:
        assert f"it is at {impatient.folder}/train.lua:{line}" in result.stderr or f"train.lua:{line}" in result.stderr
    assert "thread " in stacks(impatient) and "libtorch_cpu.so" in stacks(impatient)


# fault: a slow rank
def test_a_slow_rank_is_named_with_a_table_and_left_alone(impatient):
    """Rank 1 is four times as slow as the other rank, until the watchdog reports it."""
    running = impatient.start(
        "run",
        impatient.script("""
        local torch = require 'torch'
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            local rank = train.get_context():get_world_rank()
            local x = torch.ones(4)
            local stop = torch.zeros(1)
            while stop:item() == 0 do
              os.execute(rank == 1 and 'sleep 0.4' or 'sleep 0.1')
              torch.distributed.all_reduce(x, 'avg')
              if io.open 'named' then stop = stop + 1 end
              torch.distributed.all_reduce(stop)
            end
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          run_config = train.RunConfig{name = 'meeting'},
        }:fit()
        """),
    )
    try:
        wait_until(lambda: not running.running or "is slower than the others" in running.stderr, 60, "the warning")
        (impatient.folder / "named").touch()
        result = running.wait()
    finally:
        running.kill()
    assert result.returncode == 0, result.stderr
    warnings = [line for line in result.stderr.splitlines() if "watchdog" in line]
    assert len(warnings) == 1, result.stderr
    assert f"rank 1 (pid {pid_of(impatient, 1)}) is slower than the others, which wait for it" in warnings[0]
    waiting = {int(rank): int(share) for rank, share in re.findall(r"rank (\d+) (\d+) %", warnings[0])}
    assert waiting.keys() == {0, 1} and waiting[0] > 50 and waiting[1] < 10, warnings
    assert "train.lua:" in stacks(impatient)


# fault: different collectives
def test_other_collective_is_refused_before_data_move(rtrain):
    result = rtrain.run(meeting("torch.distributed.all_gather(x)"))
    assert result.returncode == 1, result.stderr
    assert "the ranks disagree on collective" in result.stderr
    assert "all_gather(float32 [4])" in result.stderr and "all_reduce(float32 [4])" in result.stderr


# fault: different shapes or dtypes
def test_other_shape_is_refused_before_data_move(rtrain):
    result = rtrain.run(meeting("torch.distributed.all_reduce(torch.ones(8, {dtype = torch.float64}))"))
    assert result.returncode == 1, result.stderr
    assert "float64 [8]" in result.stderr and "float32 [4]" in result.stderr


def test_announced_work_is_no_hang(impatient):
    odd = "train.busy('evaluation', 60) os.execute('sleep 5') os.exit(7)"
    result = impatient.run(meeting(odd))
    assert "watchdog" not in result.stderr
    assert result.returncode == 5, result.stderr


def is_sanitized():
    with pathlib.Path(RTRAIN).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as binary:
        return any(binary.find(name) >= 0 for name in (b"__asan_init", b"__tsan_init"))


# fault: SIGSEGV in native code
@pytest.mark.skipif(is_sanitized(), reason="a sanitizer takes the fatal signals itself")
def test_segmentation_fault_shows_where_it_was(rtrain):
    result = rtrain.run(meeting("require('ffi').cast('int*', 8)[0] = 1"))
    assert result.returncode == 5, result.stderr
    assert "SIGSEGV" in result.stderr and "train.lua:" in result.stderr
    with rtrain.database() as db:
        error = db.execute("SELECT error FROM attempts").fetchone()[0]
    assert "[C]" in error


# fault: SIGABRT
@pytest.mark.skipif(is_sanitized(), reason="a sanitizer takes the fatal signals itself")
def test_abort_in_another_thread_shows_where_it_was(rtrain):
    odd = """
        local ffi = require 'ffi'
        ffi.cdef 'int pthread_create(void*, void*, void*, void*); void abort(void);'
        ffi.C.pthread_create(ffi.new 'long[1]', nil, ffi.cast('void*', ffi.C.abort), nil)
        os.execute 'sleep 30'"""
    result = rtrain.run(meeting(odd))
    assert result.returncode == 5, result.stderr
    assert "rank 1" in result.stderr and "SIGABRT" in result.stderr
    with rtrain.database() as db:
        error = db.execute("SELECT error FROM attempts").fetchone()[0]
    assert "abort" in error


# fault: a loader that sleeps
def test_stuck_loader_is_named_as_data(impatient):
    odd = """
        local Slow = torch.utils.data.Dataset:extend 'Slow'
        function Slow:len() return 1 end
        function Slow:get() os.execute 'sleep 30' return 1 end
        for _ in torch.utils.data.DataLoader(Slow(), {num_workers = 1}) do end"""
    running = impatient.start("run", impatient.script(meeting(odd)))
    wait_until(lambda: "watchdog: rank 1" in running.stderr, message="the verdict")
    assert "waits for data in " in running.stderr
    assert "is busy" not in running.stderr
    impatient("stop", "meeting", "--now")
    assert running.wait().returncode == 130


# fault: one collective too many
def test_extra_collective_of_a_rank_is_found_with_its_number(rtrain):
    text = meeting("torch.distributed.all_reduce(x, 'avg')")
    first = "torch.distributed.all_reduce(x, 'avg')\n"
    result = rtrain.run(text.replace(first, first + "      torch.distributed.broadcast(x, 0)\n", 1))
    assert result.returncode == 1, result.stderr
    assert "the ranks disagree on collective 42" in result.stderr
    assert "rank 0 calls broadcast from 0(float32 [4])" in result.stderr
    assert "rank 1 calls all_reduce(float32 [4])" in result.stderr


# behaviour: time-out of a collective
def test_collective_whose_peer_never_comes_ends_with_a_timeout(rtrain):
    text = meeting("train.busy('another thing', 60) os.execute 'sleep 60'")
    config = "torch_config = train.TorchConfig{timeout_s = 3},\n  run_config ="
    result = rtrain.run(text.replace("run_config =", config, 1))
    assert result.returncode == 6, result.stderr
    assert "rank 0" in result.stderr and "all_reduce" in result.stderr and "timeout_s" in result.stderr


# behaviour: heartbeats come in their interval
def test_heartbeats_go_on_while_the_train_function_computes(rtrain):
    rtrain.env["RTRAIN_WORKER_HEALTH_CHECK_TIMEOUT_S"] = "3"
    result = rtrain.run(meeting("local till = os.time() + 5 repeat until os.time() >= till os.exit(7)"))
    assert result.returncode == 5, result.stderr
    assert "heartbeat" not in result.stderr


# behaviour: a silent worker
def test_worker_whose_control_thread_is_stuck_ends_the_run(rtrain):
    if not rtrain("env", "--fault-points").stdout:
        pytest.skip("built with -DRTRAIN_FAULT_POINTS=OFF")
    rtrain.env.update(RTRAIN_WORKER_HEALTH_CHECK_TIMEOUT_S="3", RTRAIN_FAULT="worker.beat:3:sleep=60000:rank=1")
    result = rtrain.run(meeting())
    assert result.returncode == 6, result.stderr
    assert "rank 1 (pid" in result.stderr and "has shown no heartbeat" in result.stderr


# --- rtrain stack ---


def wait_for_odd(rtrain):
    wait_until((rtrain.folder / "odd").exists, message="what rank 1 does alone")


def stack_of(rtrain, rank):
    result = rtrain("stack", "meeting", "--rank", str(rank), "--json")
    assert result.returncode == 0, result.stderr
    (stack,) = json.loads(result.stdout)["ranks"]
    assert stack["rank"] == rank and stack["pid"] == pid_of(rtrain, rank) and stack["phase"] == "running"
    return stack


def test_stack_shows_busy_waiting_and_stopped_workers(rtrain):
    running = rtrain.started("run", rtrain.script(meeting("while true do x:add(1) end")))
    wait_for_odd(rtrain)
    wait_until(lambda: stack_of(rtrain, 0)["state"].startswith("waits in all_reduce"), message="the wait")
    waiting = stack_of(rtrain, 0)
    assert any("train.lua:" in line for line in waiting["lua"])
    assert waiting["collectives"][-1]["operation"] == "all_reduce"
    assert {"rtrain-control"} < {thread["name"] for thread in waiting["threads"]}
    busy = stack_of(rtrain, 1)
    assert busy["state"].startswith("busy")
    assert busy["threads"] and all(thread["frames"] for thread in busy["threads"])
    os.kill(pid_of(rtrain, 1), signal.SIGSTOP)
    text = rtrain("stack", "meeting").stdout
    assert "run meeting, attempt 1, RUNNING" in text
    assert f"rank 0 (pid {pid_of(rtrain, 0)}, running) waits in all_reduce" in text
    assert f"rank 1 (pid {pid_of(rtrain, 1)}, running) stopped (SIGSTOP)" in text
    lines = text.splitlines()
    first = lines[1 + next(i for i, line in enumerate(lines) if line.startswith("rank 0"))]
    assert "/train.lua:" in first and "rtrain://" not in text and "thread " not in text
    native = rtrain("stack", "meeting", "--native").stdout
    assert "  thread rtrain-control (" in native and "rtrain://" in native
    unknown = rtrain("stack", "meeting", "--rank", "2")
    assert unknown.returncode == 2 and "the group has the ranks 0 to 1" in unknown.stderr
    assert rtrain("stop", "meeting", "--now").returncode == 0
    assert running.wait().returncode == 130
    over = rtrain("stack", "meeting")
    assert over.returncode == 2 and "is over: ABORTED" in over.stderr


def test_stack_names_the_wait_in_the_controllers_collective(rtrain):
    barrier = "train.collective.barrier()"
    running = rtrain.started("run", rtrain.script(meeting(barrier)))
    wait_until(lambda: stack_of(rtrain, 1)["state"].startswith(f"waits in {barrier}"), message="the barrier")
    assert rtrain("stop", "meeting", "--now").returncode == 0
    running.wait()


# fault: SIGSTOP of a worker
def test_a_verdict_that_comes_after_the_end_of_its_attempt_is_dropped(rtrain):
    """Rank 0 dies when it is asked for its stack. Rank 1 is stopped and cannot answer, so the verdict waits longer than
    the attempt lasts, and is due while the next attempt is delayed (the delay grows with each failure before)."""
    rtrain.env.update(RTRAIN_HANG_THRESHOLD_S="2", RTRAIN_FAULT="channel.read:2:kill:rank=0:attempt=4")
    result = rtrain.run("""
        local files, train = require 'files', require 'rtrain'
        train.DataParallelTrainer{
          train_loop_per_worker = function()
            local rank = train.get_context():get_world_rank()
            local count = 'attempts-' .. rank
            local attempt = files.exists(count) and tonumber(files.read(count)) + 1 or 1
            files.write(count, attempt)
            train.collective.barrier()
            if attempt < 4 and rank == 0 then os.exit(7) end
            if attempt == 4 and rank == 1 then os.execute 'kill -STOP $PPID' end
            train.collective.barrier()
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          run_config = train.RunConfig{name = 'late', failure_config = train.FailureConfig{max_failures = -1}},
        }:fit()
        """)
    assert result.returncode == 0, result.stderr
    assert rtrain.statuses("late") == ["ERRORED"] * 4 + ["FINISHED"]
    assert "the run hangs" not in result.stderr, "the verdict's attempt was over"
