"""Which rank slows the others down, and why: it is named while the run goes on, and again when it keeps up.

Each fault makes a rank several times slower, since other tests may share the cores; the healthy run is next to the
faults, before and after them.
"""

import json
import os
import pathlib

import pytest

from conftest import nightly, wait_until
from slow_ranks import Steps, limited_cores, pin, spinners, stopped_now_and_then


def lost_s(rtrain):
    """Returns what `rtrain watch` says that each rank costs the others."""
    watching = rtrain.popen("watch", "steps", "--json=lines")
    try:
        return [rank.get("lost_s") for rank in json.loads(watching.stdout.readline())["ranks"]]
    finally:
        watching.kill()
        watching.communicate()


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


# fault: slow disk of one rank
@nightly
def test_a_rank_with_a_slow_disk_is_named(rtrain):
    rtrain.fail_calls("fdatasync:1+:sleep=200:path=/rank-1/:rank=1")
    steps = Steps(rtrain, "place=checkpoint")
    assert "on reports and checkpoints, the others" in steps.named("checkpoint")["text"]
    steps.end()
    slow = json.loads(rtrain("profile", "steps", "--timeline", "--json").stdout)["straggler"]
    assert (slow["rank"], slow["phase"]) == (1, "checkpoint"), slow


@nightly
def test_a_rank_that_writes_its_files_for_longer_is_named(rtrain):
    steps = Steps(rtrain, "place=checkpoint", "mode=NO_UPLOAD", "more_us=200000")
    steps.slow()
    assert "on reports and checkpoints, the others" in steps.named("checkpoint")["text"]
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
