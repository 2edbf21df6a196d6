"""Which rank slows the others down, and why: it is named while the run goes on, and again when it keeps up.

Each fault makes a rank several times slower, since other tests may share the cores; the healthy run is next to the
faults, before and after them.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading

import pytest

from conftest import nightly, wait_until

# Two ranks make steps of some milliseconds until the file `end` is there. While the file `slow` is there, rank 1 is
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
    if is_slow and config.place == place then ffi.C.usleep(25000) end
  end
  local numbers = {len = function() return 1e6 end}
  function numbers.get() work 'data' return torch.ones(64) end
  local model = train.torch.prepare_model(torch.nn.Linear(64, 64))
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 1e-6})
  local a = torch.ones(400, 400)
  local state = torch.zeros(2)  -- whether rank 1 is slow, and whether this is the last step
  local step = 0
  for x in torch.utils.data.DataLoader(numbers, {batch_size = 1}) do
    step = step + 1
    optimizer:zero_grad()
    local loss = model(x):sum()
    for _ = 1, config.products do a:mm(a) end
    ffi.C.usleep(4000)
    work 'compute'
    loss:backward()
    optimizer:step()
    work 'other'
    if config.place == 'checkpoint' then
      train.tempdir(function(folder)
        torch.save(x, folder .. '/x.pt')
        work 'checkpoint'
        train.report({step = step}, {checkpoint = train.Checkpoint.from_directory(folder)})
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
      is_slow = rank == 1 and state[0]:item() == 1
      if state[1]:item() == 1 then break end
    end
  end
end
train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {place = '', products = 0},
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{
    name = 'steps',
    checkpoint_config = train.CheckpointConfig{num_to_keep = 1},
    failure_config = train.FailureConfig{straggler = @POLICY@},
  },
}:fit()
"""


class Steps:
    """A run of STEPS."""

    def __init__(self, rtrain, *config, policy="warn"):
        self.rtrain = rtrain
        settings = [part for each in config for part in ("--set", each)]
        self.running = rtrain.started(
            "run", rtrain.script(STEPS.replace("@POLICY@", repr(policy))), "--json", *settings
        )
        self.pids = rtrain.pids("steps")

    def events(self):
        lines = [json.loads(line) for line in self.running.stdout.splitlines()]
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


def lost_s(rtrain):
    """Returns what `rtrain watch` says that each rank costs the others."""
    watching = rtrain.popen("watch", "steps", "--json=lines")
    try:
        return [rank.get("lost_s") for rank in json.loads(watching.stdout.readline())["ranks"]]
    finally:
        watching.kill()
        watching.communicate()


@contextlib.contextmanager
def spinners(cpu, count):
    """Processes that compute all the time on that core. Linux shares a core out among sessions."""
    program = f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"
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
def stopped_now_and_then(pid):
    """The process is stopped for half of the time."""
    is_over = threading.Event()

    def stop_it():
        while not is_over.wait(0.3):
            os.kill(pid, signal.SIGSTOP)
            is_over.wait(0.3)
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


def test_a_rank_that_computes_longer_is_named_and_passes(rtrain):
    steps = Steps(rtrain, "place=compute")
    steps.slow()
    event = steps.named("compute")
    assert "as long as the others (" in event["text"] and event["lost_s"] > 0.01 and 0.2 < event["share"] < 1, event
    wait_until(lambda: lost_s(rtrain) == [None, event["lost_s"]], message="rtrain watch has what the rank costs")
    steps.slow(False)
    steps.named("compute", has_passed=True)
    wait_until(lambda: lost_s(rtrain) == [None, 0], message="the rank costs nothing")
    steps.end()
    assert len(steps.events()) == 2, steps.events()
    assert f"warning: rank 1 {event['text']}" in " ".join(rtrain("show", "steps").stdout.split())


@pytest.mark.parametrize(
    "place, text",
    [
        ("data", "a step for data, the others"),
        pytest.param("checkpoint", "on reports and checkpoints, the others", marks=nightly),
        pytest.param("other", "outside of data, forward, backward and optimizer, the others", marks=nightly),
    ],
)
def test_the_place_of_the_delay_is_named(rtrain, place, text):
    steps = Steps(rtrain, f"place={place}")
    steps.slow()
    assert text in steps.named(place)["text"]
    steps.end()


# fault: SIGSTOP and SIGCONT of a worker, again and again
def test_a_rank_that_is_stopped_now_and_then_is_named(rtrain):
    steps = Steps(rtrain)
    with stopped_now_and_then(steps.pids[1]):
        event = steps.named("stopped")
    assert event["text"].startswith("was stopped by a signal for "), event
    steps.named("stopped", has_passed=True)
    steps.end()


@nightly
def test_other_programs_on_its_cores_are_named(rtrain):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2 or not pathlib.Path("/proc/self/schedstat").exists():
        pytest.skip("it needs two cores, and a kernel that counts waits for them")
    steps = Steps(rtrain, "products=3")
    for rank, pid in enumerate(steps.pids):
        pin(pid, cpus[rank])
    with spinners(cpus[1], 12):
        assert "other programs run on its cores" in steps.named("cores")["text"]
    steps.end()


@nightly
def test_a_limit_of_its_cgroup_is_named(rtrain):
    steps = Steps(rtrain, "products=3")
    with limited_cores(steps.pids[1], 0.15):
        text = steps.named("throttled")["text"]
    assert "its cgroup allows it 0.15 cores, and stopped it in" in text, text
    steps.end()


# The first process of rank 1 is slow, and a file ends the training once another one has its place.
GIVEN_UP = """
local torch, train = require 'torch', require 'rtrain'
local function train_func()
  local ffi = require 'ffi'
  ffi.cdef 'int usleep(unsigned int);'
  local rank = train.get_context():get_world_rank()
  local model = train.torch.prepare_model(torch.nn.Linear(64, 1))
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 1e-6})
  local state = train.state {model = model, optimizer = optimizer, step = 0}
  local name = 'slow-' .. rank
  local file = io.open(name)
  local is_slow = rank == 1 and not file
  if file then file:close() else io.open(name, 'w'):close() end
  train.elastic(state, function()
    while state.step < 400 or not io.open 'replaced' and state.step < 1e6 do
      optimizer:zero_grad()
      local loss = model(torch.ones(8, 64)):sum()
      ffi.C.usleep(is_slow and 40000 or 4000)
      loss:backward()
      optimizer:step()
      state.step = state.step + 1
      if rank == 1 and not is_slow then io.open('replaced', 'w'):close() end
      state:commit()
    end
  end)
end
train.TorchTrainer{
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'given-up', failure_config = train.FailureConfig{straggler = 'evict'}},
}:fit()
"""


# fault: a rank that slows the others down is ended by the controller
def test_a_slow_rank_is_given_up_and_another_process_takes_its_place(rtrain):
    result = rtrain.run_ok(GIVEN_UP)
    assert "rank 1 computes" in result.stderr, result.stderr
    assert rtrain.statuses("given-up") == ["HEALED", "FINISHED"]


def test_no_rank_is_named_where_it_is_to_be_ignored(rtrain):
    steps = Steps(rtrain, "place=compute", policy="ignore")
    steps.slow()
    begun = len(rtrain.reports("steps"))
    wait_until(lambda: len(rtrain.reports("steps")) > begun + 25, timeout_s=120, message="25 more reports")
    steps.end()
    assert not steps.events() and "as long as the others" not in rtrain("show", "steps").stdout
