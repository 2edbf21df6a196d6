"""torch.profiler compared with Python's, and `rtrain profile`: a live run's activity as a Chrome trace."""

import json
import os
import signal

import pytest

from conftest import ENDLESS, wait_until
from fake_driver import FAKE_DRIVER, simulate_gpus

PROGRAM = """
local torch = require 'torch'
local prof
torch.profiler.profile({record_shapes = true, profile_memory = true, with_flops = true}, function(p)
  prof = p
  local x = torch.ones(16, 8, {requires_grad = true})
  local w = torch.ones(8, 4, {requires_grad = true})
  local one = torch.ones{}
  for _ = 1, 3 do
    torch.profiler.record_function('forward', function() return x:mm(w):relu():sum() end):backward(one)
  end
end)
for _, event in ipairs(prof:key_averages{group_by_input_shape = true}) do
  print(('%s|%d|%s|%d'):format(event.key, event.count, event.input_shapes, event.flops))
end
"""


def python_events():
    torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_flops=True
    ) as prof:
        x = torch.ones(16, 8, requires_grad=True)
        w = torch.ones(8, 4, requires_grad=True)
        one = torch.ones(())
        for _ in range(3):
            with torch.profiler.record_function("forward"):
                loss = x.mm(w).relu().sum()
            loss.backward(one)
    return {
        (event.key, event.count, str(event.input_shapes), event.flops)
        for event in prof.key_averages(group_by_input_shape=True)
        if event.key != "[memory]"
    }


def test_key_averages_are_pythons(rtrain):
    expected = python_events()
    result = rtrain("exec", rtrain.script(PROGRAM, "profiled.lua"))
    assert result.returncode == 0, result.stderr
    rows = [line.split("|") for line in result.stdout.splitlines()]
    seen = {(key, int(count), shapes, int(flops)) for key, count, shapes, flops in rows if key != "[memory]"}
    assert seen == expected


# --- rtrain profile ---

# Steps with a known Lua line, a loader with threads and a wait for the other rank.
STEPS = """
local torch = require 'torch'
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    local data = torch.utils.data.TensorDataset(torch.ones(64, 4))
    local loader = torch.utils.data.DataLoader(data, {batch_size = 8, num_workers = 1})
    local weight = torch.ones(4, 4, {requires_grad = true})
    for epoch = 1, math.huge do
      for batch in loader do
        local loss = batch:mm(weight):sum()  -- the line
        torch.profiler.record_function('my backward', function() loss:backward() end)
      end
      torch.distributed.barrier()
      train.report{epoch = epoch}
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'steps'},
}:fit()
"""


def names_in(path):
    events = json.loads(path.read_text())["traceEvents"]
    return {event["name"] for event in events if event.get("ph") == "X"}


def end(rtrain, run):
    running = rtrain("stop", run, "--now")
    assert running.returncode == 0, running.stderr


def test_a_live_run_is_profiled(rtrain):
    script = rtrain.script(STEPS)
    running = rtrain.started("run", script, reports=2)
    result = rtrain("profile", "steps", "--seconds", "0.3")
    assert result.returncode == 0, result.stderr
    (path,) = (rtrain.run_folder("steps") / "profiles").iterdir()
    assert result.stdout == f"{path}\n" and path.name.endswith("-attempt-1-rank0.json")
    lines = (rtrain.folder / "train.lua").read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if "-- the line" in text)
    names = names_in(path)
    assert {"aten::mm", "MmBackward0", "my backward", "barrier"} <= names, names
    assert any(name.endswith(f"train.lua:{line}") for name in names), names
    assert json.loads(path.read_text())["distributedInfo"] == {
        "backend": "cpu:shm,cuda:gloo",
        "rank": 0,
        "world_size": 2,
    }
    threads = {event["tid"] for event in json.loads(path.read_text())["traceEvents"] if event.get("cat") == "cpu_op"}
    assert len(threads) > 1, "the loader's thread is seen as well"

    both = json.loads(rtrain("profile", "steps", "--rank", "all", "--steps", "2", "--shapes", "--json").stdout)
    assert both["name"] == "steps" and both["attempt"] == 1
    assert [profile["rank"] for profile in both["profiles"]] == [0, 1]
    for profile in both["profiles"]:
        assert profile["reports"] >= 2 and profile["events"] > 0 and profile["path"].startswith(str(path.parent))
        assert '"Input Dims": [[8, 4], [4, 4]]' in open(profile["path"]).read()
    end(rtrain, "steps")
    assert "ERROR" not in running.wait().stderr, "Kineto has nothing to complain about"


def long_profile_under_way(rtrain, run):
    """Starts `rtrain profile` for 30 s, and returns once a second recording is refused because of it."""
    while True:
        first = rtrain.start("profile", run, "--seconds", "30")
        wait_until(
            lambda: not first.running or "under way" in rtrain("profile", run, "--seconds", "0.01").stderr,
            message="a refusal",
        )
        if first.running:
            return first
        # The short recording came first, so the long one was refused.
        assert "under way" in first.stderr, first.stderr


def test_what_cannot_be_profiled_is_said(rtrain):
    assert "no run" in rtrain("profile", "nobody").stderr
    running = rtrain.started("run", rtrain.script(ENDLESS), reports=1)
    wrong = rtrain("profile", "endless", "--rank", "2")
    assert wrong.returncode == 2 and "the group has the ranks 0 to 1" in wrong.stderr
    assert "expected a number, or 'all'" in rtrain("profile", "endless", "--rank", "every").stderr
    late = rtrain("profile", "endless", "--steps", "100000", "--timeout", "0.2")
    assert late.returncode == 0 and "of 100000 reports in 0.2 s (--timeout)" in late.stderr
    pid = rtrain.pids("endless")[1]
    os.kill(pid, signal.SIGSTOP)
    stopped = rtrain("profile", "endless", "--rank", "all")
    os.kill(pid, signal.SIGCONT)
    assert stopped.returncode == 2 and f"rank 1 (pid {pid}) is stopped (SIGSTOP)" in stopped.stderr
    first = long_profile_under_way(rtrain, "endless")
    os.kill(rtrain.pids("endless")[0], signal.SIGKILL)
    assert first.wait().returncode == 4 and "rank 0: it ended before its profile was written" in first.stderr
    running.wait()
    over = rtrain("profile", "endless")
    assert over.returncode == 2 and "is over" in over.stderr
    assert not list((rtrain.run_folder("endless") / "profiles").glob("*.partial"))


def test_a_run_without_tensors_and_one_in_the_script(rtrain):
    running = rtrain.started("run", rtrain.script(STEPS.replace("num_workers = 2", "num_workers = 0")), reports=1)
    assert "torch.profiler.profile" in rtrain("profile", "steps").stderr
    end(rtrain, "steps")
    running.wait()


# --- on a GPU, which tests/fake_nvidia simulates ---

# The simulated GPU really executes copies only.
COPIES = """
local torch = require 'torch'
local nvtx = torch.cuda.nvtx
local depths = {nvtx.range_push('outer'), nvtx.range_push('inner'), nvtx.range_pop(), nvtx.range_pop()}
print(table.concat(depths, ' '))
nvtx.mark 'a moment'
nvtx.range_end(nvtx.range_start('long'))
print(pcall(nvtx.range, 'failing', function() error('inside', 0) end))
local x = torch.ones(4):to 'cuda'
print(torch.autograd.profiler.emit_nvtx(function() return x:to('cpu'):sum():item() end))
torch.profiler.profile({}, function(prof)
  print(torch.equal(x:to('cpu'), torch.ones(4)))
end)
"""


def test_nvtx_ranges_reach_the_tool(rtrain):
    tool, log = FAKE_DRIVER / "libfake_nvtx.so", rtrain.folder / "nvtx.log"
    simulate_gpus(rtrain, 1, NVTX_INJECTION64_PATH=str(tool), FAKE_NVTX_LOG=str(log))
    if not tool.exists():
        pytest.skip("built without NVTX's headers")
    result = rtrain("exec", rtrain.script(COPIES, "copies.lua"))
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["0 1 1 0", "false\tinside", "4", "true"]
    lines = log.read_text().splitlines()
    assert [line.strip() for line in lines[:9]] == [
        "push outer",
        "push inner",
        "pop",
        "pop",
        "mark a moment",
        "start long",
        "end the same",
        "push failing",
        "pop",
    ]
    assert any(line.startswith("push aten::copy_") for line in lines[9:])
    assert sum(line.startswith("push") for line in lines) == sum(line.startswith("pop") for line in lines)


def test_nvtx_without_a_device_does_nothing(rtrain):
    program = COPIES.split("local x")[0] + "print(pcall(torch.autograd.profiler.emit_nvtx, print))"
    result = rtrain("exec", rtrain.script(program, "copies.lua"))
    lines = result.stdout.splitlines()
    assert lines[:2] == ["-2 -2 -2 -2", "false\tinside"] and "no CUDA device" in lines[2], result.stderr
