"""Runs in which one rank is slow, and what makes it slow."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading

import pytest

from conftest import wait_until

# The ranks make steps of some milliseconds until the file `end` is there. While the file `slow` is there, one of them is
# slow in the place that the config names.
STEPS = """
local torch = require 'torch'
local train = require 'rtrain'
local function train_func(config)
  local ffi = require 'ffi'
  ffi.cdef 'int usleep(unsigned int);'
  local rank = train.get_context():get_world_rank()
  local is_slow = false
  local function work(place)
    if is_slow and config.place == place then ffi.C.usleep(config.more_us) end
  end
  local numbers = {len = function() return 1e6 end}
  function numbers.get() work 'data' return torch.ones(64) end
  local model = train.torch.prepare_model(torch.nn.Linear(64, 64))
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 1e-6})
  local a = torch.ones(400, 400)
  local state = torch.zeros(2)  -- whether a rank is slow, and whether this is the last step
  local step = 0
  for x in torch.utils.data.DataLoader(numbers, {batch_size = 1}) do
    step = step + 1
    optimizer:zero_grad()
    local loss = model(x):sum()
    for _ = 1, config.products do a:mm(a) end
    ffi.C.usleep(config.step_us)
    work 'compute'
    loss:backward()
    optimizer:step()
    work 'other'
    if config.place == 'checkpoint' then
      train.tempdir(function(folder)
        torch.save(x, folder .. '/x.pt')
        work 'checkpoint'
        local checkpoint = train.Checkpoint.from_directory(folder)
        train.report({step = step}, {checkpoint = checkpoint, checkpoint_upload_mode = config.mode})
      end)
    elseif step % 20 == 0 then
      train.report{step = step}
    end
    if step % 20 == 0 then
      local slow, last = io.open 'slow', io.open 'end'
      if slow then slow:close() end
      if last then last:close() end
      state:copy_(torch.tensor{slow and 1 or 0, last and 1 or 0})
      torch.distributed.broadcast(state, 0)
      is_slow = rank == config.culprit and state[0]:item() == 1
      if state[1]:item() == 1 then break end
    end
  end
end
train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {place = '', mode = 'SYNC', products = 0, culprit = 1, step_us = 4000, more_us = 25000},
  scaling_config = train.ScalingConfig{num_workers = @WORKERS@},
  run_config = train.RunConfig{
    name = '@NAME@',
    checkpoint_config = train.CheckpointConfig{num_to_keep = 1},
    failure_config = train.FailureConfig{straggler = @POLICY@},
  },
}:fit()
"""


class Steps:
    """A run of STEPS."""

    def __init__(self, rtrain, *config, policy="warn", workers=2, name="steps"):
        self.rtrain = rtrain
        settings = [part for each in config for part in ("--set", each)]
        script = STEPS.replace("@POLICY@", repr(policy)).replace("@WORKERS@", str(workers)).replace("@NAME@", name)
        self.running = rtrain.started("run", rtrain.script(script), "--oversubscribe", "--json", *settings)
        # An earlier run of the test may have reports too.
        wait_until(lambda: len(rtrain.pids(name)) == workers, message="all ranks have begun")
        self.pids = rtrain.pids(name)

    def events(self):
        # What follows the last line's end is a line that is being written.
        lines = [json.loads(line) for line in self.running.stdout.split("\n")[:-1]]
        return [line for line in lines if line["event"] == "straggler"]

    def named(self, cause, has_passed=False):
        """Waits until rank 1 is named for that cause, and returns the event."""

        def found():
            assert self.running.running, self.running.stderr
            return [each for each in self.events() if each["cause"] == cause and each["has_passed"] == has_passed]

        event = wait_until(found, timeout_s=120, message=f"rank 1 is named for {cause}")[0]
        assert event["rank"] == 1, self.events()
        return event

    def slow(self, is_slow=True):
        path = self.rtrain.folder / "slow"
        path.touch() if is_slow else path.unlink()

    def end(self):
        (self.rtrain.folder / "end").touch()
        result = self.running.wait()
        assert result.returncode == 0, result.stderr


@contextlib.contextmanager
def spinners(cpu, count):
    """Processes that compute all the time on that core. Linux shares a core out among sessions."""
    program = (
        f"import os; os.sched_setaffinity(0, {{{cpu}}})\n"
        f"while os.getppid() == {os.getpid()}:\n    for _ in range(10**6): pass"  # they end with the test
    )
    processes = [subprocess.Popen(["/usr/bin/python3", "-c", program], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for each in processes:
            each.kill()
            each.wait()


def pin(pid, cpu):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), {cpu})


@contextlib.contextmanager
def stopped_now_and_then(pid, stopped_s=0.3, running_s=0.3):
    """The process is stopped for a part of the time."""
    is_over = threading.Event()

    def stop_it():
        while not is_over.wait(running_s):
            os.kill(pid, signal.SIGSTOP)
            is_over.wait(stopped_s)
            os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=stop_it)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextlib.contextmanager
def limited_cores(pid, cores):
    """The process may use that many cores. Skips the test where cgroups cannot be made."""
    root = pathlib.Path("/sys/fs/cgroup")
    is_first = (root / "cpu" / "cpu.cfs_quota_us").exists() or (root / "cpu" / "cgroup.procs").exists()
    group = (root / "cpu" if is_first else root) / f"rtrain-test-{os.getpid()}"
    before = root / "cpu" / "cgroup.procs" if is_first else None
    try:
        group.mkdir()
        if before is None:
            line = pathlib.Path(f"/proc/{pid}/cgroup").read_text().strip().removeprefix("0::/")
            before = root / line / "cgroup.procs"
        if is_first:
            (group / "cpu.cfs_quota_us").write_text(str(int(cores * 100000)))
        else:
            (group / "cpu.max").write_text(f"{int(cores * 100000)} 100000")
        (group / "cgroup.procs").write_text(str(pid))
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"no cgroup with a limit of cores can be made: {error}")
    try:
        yield
    finally:
        before.write_text(str(pid))
        group.rmdir()
