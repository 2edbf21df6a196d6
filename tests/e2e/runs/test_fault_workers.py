"""Faults of workers: they die in the middle of a step, send invalid messages, run out of memory; and loss of power."""

import contextlib
import os
import re
import shutil
import signal
import subprocess

import pytest

import checker
from conftest import RTRAIN, Running, processes_of, wait_until

TRAINING = """
local files = require 'files'
local torch = require 'torch'
local train = require 'rtrain'
local nn = torch.nn

local function train_func()
  local rank = train.get_context():get_world_rank()
  torch.manual_seed(rank)
  local model = train.torch.prepare_model(nn.Linear(8, 4))
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1, momentum = 0.9})
  local first = 1
  local checkpoint = train.get_checkpoint()
  if checkpoint then
    checkpoint:with_directory(function(dir)
      local state = torch.load(dir .. '/state.pt')
      model:load_state_dict(state.model)
      optimizer:load_state_dict(state.optimizer)
      first = state.step + 1
    end)
  end
  for step = first, 6 do
    torch.manual_seed(100 * step + rank)
    local x = torch.randn(16, 8)
    local loss = model(x):pow(2):mean()
    if step == 4 and rank == @RANK@ and files.once 'lost' then os.execute 'kill -9 $PPID' end
    optimizer:zero_grad()
    loss:backward()
    optimizer:step()
    train.tempdir(function(dir)
      local options
      if rank == 0 and step % 2 == 0 then
        torch.save({model = model:state_dict(), optimizer = optimizer:state_dict(), step = step}, dir .. '/state.pt')
        options = {checkpoint = train.Checkpoint.from_directory(dir)}
      end
      train.report({step = step, loss = loss:item()}, options)
    end)
  end
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = '@NAME@', failure_config = train.FailureConfig{max_failures = 1}},
}:fit()
"""


def losses(rtrain, name, killed_rank):
    """Returns the loss of every rank at every step, and the output of the run."""
    result = rtrain.run_ok(TRAINING.replace("@RANK@", str(killed_rank)).replace("@NAME@", name))
    rows = rtrain.json("metrics", name, "--ranks")
    return [(row["index"], [(each["step"], each["loss"]) for each in row["ranks"]]) for row in rows], result.stderr


# fault: SIGKILL of a worker
# fault: SIGKILL of rank 0 in a collective
def test_a_rank_killed_in_the_middle_of_a_step_changes_no_number(rtrain):
    undisturbed, _ = losses(rtrain, "undisturbed", killed_rank=-1)
    assert len(undisturbed) == 6
    for rank in (1, 0):
        name = f"killed-{rank}"
        disturbed, stderr = losses(rtrain, name, killed_rank=rank)
        assert disturbed == undisturbed
        show = rtrain.json("show", name)
        assert rtrain.statuses(name) == ["ERRORED", "FINISHED"]
        lost = next(worker for worker in show["attempts"][0]["workers"] if worker["rank"] == rank)
        assert lost["signal"] in (9, "SIGKILL")
        # Reported before the exit status is known, which is the final cause; the consequences for the other rank are
        # not reported.
        who = f"rank {rank} (pid {lost['pid']})"
        told, cause = (
            stderr.find(f"{who} {text}") for text in ("has died: the other rank is being", "was killed by signal 9")
        )
        assert 0 <= told < cause, stderr
        assert f"rank {1 - rank} (" not in stderr
        assert [*show["attempts"][0]["error"]["ranks"]] == [str(rank)]
        (rtrain.folder / "lost").unlink()


# fault: Lua error in the train function
def test_the_same_error_twice_at_one_step_is_not_tried_a_third_time(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            train.report{}
            error{reason = 'a table'}
          end,
          scaling_config = train.ScalingConfig{num_workers = 1},
          run_config = train.RunConfig{name = 'wrong', failure_config = train.FailureConfig{max_failures = 5}},
        }:fit()
        """)
    assert result.returncode == 1
    assert "train.lua:5: error() was called with a table: {reason = 'a table'}" in result.stderr, result.stderr
    assert len(rtrain.json("show", "wrong")["attempts"]) == 2


TALKING = """
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    train.report{ok = true}
    train.collective.barrier()
    if train.get_context():get_world_rank() == 1 then
      local ffi = require 'ffi'
      ffi.cdef 'ssize_t write(int, const void *, size_t);'
      local bytes = @BYTES@
      ffi.C.write(3, bytes, #bytes)
    end
    while true do os.execute('sleep 0.05') end
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'talking'},
}:fit()
"""


@pytest.mark.parametrize(
    "bytes_",
    [
        "('\\255'):rep(64)",
        "'\\255\\255\\255\\127' .. ('x'):rep(4096)",
        "'\\1\\0\\0\\0\\193'",
        "'\\1\\0\\0\\0\\42'",
        "'\\0\\0\\0\\0'",
    ],
    ids=["noise", "longer than a frame may be", "no MessagePack", "a number", "nothing"],
)
# fault: damaged messages
def test_a_worker_that_talks_nonsense_is_ended(rtrain, bytes_):
    result = rtrain.run(TALKING.replace("@BYTES@", bytes_))
    assert result.returncode == 5, result.stdout + result.stderr
    assert "rank 1" in result.stderr and "not a message" in result.stderr, result.stderr
    assert rtrain.json("show", "talking")["status"] == "ERRORED"
    assert rtrain.reports("talking") == [{"ok": True}]


# fault: few file descriptors
def test_a_low_limit_of_open_files_is_raised_or_named(saver):
    assert saver.run(wrapper=("prlimit", "--nofile=24:1024")).returncode == 0
    checker.check_finished(saver.rtrain.storage, 2)
    saver.clear()
    result = saver.run(wrapper=("prlimit", "--nofile=40"))
    assert result.returncode == 4, result.stdout + result.stderr
    assert re.search(r"need \d+ open files, allowed are 40.*ulimit -n", result.stderr), result.stderr
    saver.check()


# fault: /dev/shm full
def test_a_machine_without_shared_memory(saver):
    script = 'mount -t tmpfs -o size=4k tmpfs /dev/shm || exit 77; exec "$@"'
    result = saver.run(wrapper=("unshare", "-m", "sh", "-c", script, "sh"))
    if "unshare" in result.stderr or result.returncode == 77:
        pytest.skip(f"needs the right to mount: {result.stderr}")
    assert result.returncode == 0, result.stdout + result.stderr
    checker.check_finished(saver.rtrain.storage, 2)


# fault: another build of the worker
def test_an_executable_replaced_during_a_run_does_not_reach_it(rtrain):
    own = rtrain.folder / "rtrain"
    shutil.copy(RTRAIN, own)
    script = TRAINING.replace("@RANK@", "1").replace("@NAME@", "replaced")
    script = script.replace(
        "    torch.manual_seed(100", "    if step == 3 then files.wait_for 'go' end\n    torch.manual_seed(100"
    )
    running = Running([str(own), "run", str(rtrain.script(script))], rtrain.folder, rtrain.env)
    wait_until(lambda: not running.running or "step=2" in running.stderr, message="the second report")
    own.unlink()
    shutil.copy(shutil.which("true"), own)
    (rtrain.folder / "go").touch()
    result = running.wait()
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(rtrain.json("show", "replaced")["attempts"]) == 2


# fault: error in a finaliser
def test_an_error_in_a_finalizer_ends_nothing(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            local proxy = newproxy(true)
            getmetatable(proxy).__gc = function() error('in the finalizer') end
            proxy = nil
            pcall(collectgarbage)
            collectgarbage()
            train.report{after = true}
            kept = newproxy(true)
            getmetatable(kept).__gc = function() error('at the end') end
          end,
          scaling_config = train.ScalingConfig{num_workers = 1},
          run_config = train.RunConfig{name = 'collected'},
        }:fit()
        """)
    assert rtrain.reports("collected") == [{"after": True}], result.stderr


# fault: malloc fails
@pytest.mark.parametrize("first", [20, 45, 70, 100])
def test_no_memory_left_in_the_controller(saver, first):
    result = saver.run_with_io(f"mmap:{first}+:ENOMEM:controller")
    assert result.returncode != 124
    saver.check(controller_died=result.returncode != 0)


def sh(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


@pytest.fixture
def disk_image(rtrain):
    """An ext4 file system in a file, whose content is the state that a power cut would leave."""
    image, folder, after = (rtrain.folder / name for name in ("disk.img", "disk", "after"))
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    folder.mkdir()
    after.mkdir()
    made = sh("mkfs.ext4", "-q", "-F", image) if shutil.which("mkfs.ext4") else None
    mounted = sh("mount", "-o", "loop", image, folder) if made and made.returncode == 0 else made
    if mounted is None or mounted.returncode != 0:
        pytest.skip(f"needs mkfs.ext4 and the right to mount: {mounted and mounted.stderr}")
    yield image, folder, after
    for place in (after, folder):
        if os.path.ismount(place):
            wait_until(lambda: sh("umount", place).returncode == 0)


def signal_all(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # the process has ended already
            os.kill(pid, number)


# fault: power cut
def test_after_a_power_cut_every_acknowledged_checkpoint_is_there(saver, disk_image):
    image, folder, after = disk_image
    rtrain = saver.rtrain
    rtrain.storage = folder / "storage"
    rtrain.env.update({"RTRAIN_STORAGE": str(rtrain.storage), "SAVER_EPOCHS": "1000"})
    running = rtrain.start("run", rtrain.folder / "saver.lua")
    for cut in range(1, 5):
        wait_until(lambda: not running.running or len(saver.acks) >= 12 * cut, message="the next reports")
        assert running.running, running.stderr
        pids = processes_of(rtrain.storage)
        signal_all(pids, signal.SIGSTOP)
        acks = saver.acks
        copy = rtrain.folder / f"copy-{cut}.img"
        shutil.copy(image, copy)
        signal_all(pids, signal.SIGCONT)
        assert sh("mount", "-o", "loop", copy, after).returncode == 0
        checker.check(after / "storage", acks, controller_died=True)
        wait_until(lambda: sh("umount", after).returncode == 0)
        copy.unlink()
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    rtrain.wait_for_processes()
