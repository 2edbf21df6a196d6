"""A GPU of tests/fake_nvidia that is full or lost; the allocator's statistics and files compared with PyTorch's."""

import json
import os
import pickle
import subprocess
import sys

import pytest

from conftest import nightly
from fake_driver import simulate_gpus

pytestmark = nightly

GIB = 1 << 30

TRAIN = """
    local torch, train = require 'torch', require 'rtrain'
    train.TorchTrainer{train_loop_per_worker = function()
      %s
    end, scaling_config = train.ScalingConfig{num_workers = 1, use_gpu = true},
      run_config = train.RunConfig{name = 'run'%s}}:fit()
"""


def error_of(rtrain):
    return rtrain.json("show", "run")["attempts"][-1]["error"]


# fault: CUDA out of memory
def test_a_full_device_ends_the_run_with_the_figures(rtrain):
    simulate_gpus(rtrain, 1, FAKE_CUDA_MEMORY=str(GIB))
    result = rtrain.run(
        TRAIN
        % (
            """
      local batch = torch.empty(2 ^ 27, {device = 'cuda'})
      torch.empty(2 ^ 28, {device = 'cuda'})
      assert(batch)""",
            "",
        )
    )
    assert result.returncode == 4, result.stderr
    for part in [
        "out of memory on cuda:0. Tried to allocate 1024.00 MiB; 512.00 MiB of 1.00 GiB are free",
        "cuda:0: tensors hold 512.00 MiB",
        "512.00 MiB  float32 [134217728] on cuda:0  batch",
        "a smaller batch",
        "gradient accumulation",
        "torch.autocast",
    ]:
        assert part in result.stderr
    assert "Exception raised from" not in result.stderr and "c10::" not in result.stderr
    shown = rtrain("show", "run").stdout
    assert "out of memory on cuda:0" in shown and "512.00 MiB  float32 [134217728] on cuda:0  batch" in shown
    assert "out_of_memory" in json.dumps(error_of(rtrain))


# fault: CUDA out of memory
def test_a_script_may_go_on_with_less(rtrain):
    simulate_gpus(rtrain, 1, FAKE_CUDA_MEMORY=str(GIB))
    rtrain.run_ok(
        TRAIN
        % (
            """
      local size = 2 ^ 30
      local ok, err
      repeat
        ok, err = pcall(torch.empty, size, {device = 'cuda'})
        assert(ok or err.code == 'out_of_memory', err)
        if not ok then size = size / 2 end
      until ok
      train.report{size = size}""",
            "",
        )
    )
    assert rtrain.reports("run")[-1]["size"] == 2**28


# fault: CUDA out of memory
def test_the_same_want_of_memory_is_not_tried_three_times(rtrain):
    simulate_gpus(rtrain, 1, FAKE_CUDA_MEMORY=str(GIB))
    result = rtrain.run(
        TRAIN % ("torch.empty(2 ^ 29, {device = 'cuda'})", ", failure_config = train.FailureConfig{max_failures = 5}")
    )
    assert result.returncode == 4, result.stderr
    assert len(rtrain.json("show", "run")["attempts"]) == 2
    assert "the same error came twice" in result.stderr


LOSES_ITS_DEVICE = """
      local x = torch.empty(1024, {device = 'cuda'})
      if not io.open('%s') then
        io.open('%s', 'w'):close()
        x:exp()
        torch.cuda.synchronize()
      end
      train.report{value = x:cpu():numel()}"""


# fault: GPU falls off the bus
def test_a_lost_device_ends_the_worker_and_a_new_one_goes_on(rtrain):
    simulate_gpus(rtrain, 1, FAKE_CUDA_LAUNCH_ERROR="700")
    mark = rtrain.folder / "lost"
    result = rtrain.run(
        TRAIN % (LOSES_ITS_DEVICE % (mark, mark), ", failure_config = train.FailureConfig{max_failures = 1}")
    )
    assert result.returncode == 0, result.stderr
    first, second = rtrain.json("show", "run")["attempts"]
    assert (first["status"], second["status"]) == ("ERRORED", "FINISHED")
    for part in [
        "cudaErrorIllegalAddress",
        "on cuda:0",
        "This process cannot use the device any more",
        "CUDA_LAUNCH_BLOCKING=1",
    ]:
        assert part in result.stderr
    assert rtrain.reports("run")[-1]["value"] == 1024


# fault: GPU falls off the bus
def test_a_lost_device_is_a_lost_worker(rtrain):
    simulate_gpus(rtrain, 1, FAKE_CUDA_LAUNCH_ERROR="999")
    mark = rtrain.folder / "lost"
    result = rtrain.run(TRAIN % (LOSES_ITS_DEVICE % (mark, mark), ""))
    assert result.returncode == 5, result.stderr
    assert "worker_lost" in json.dumps(error_of(rtrain))


def test_settings_of_the_allocator_are_shown_and_checked(rtrain):
    simulate_gpus(rtrain, 1)
    assert "allocator: LibTorch's defaults (PYTORCH_ALLOC_CONF is not set)" in rtrain("env").stdout
    rtrain.env["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:False,max_split_size_mb:128"
    assert rtrain.json("env")["cuda"]["allocator"] == f"PYTORCH_CUDA_ALLOC_CONF={rtrain.env['PYTORCH_CUDA_ALLOC_CONF']}"
    script = rtrain.script("print(require('torch').ones(2):to('cuda'):cpu()[1]:item())")
    assert rtrain("exec", script).stdout == "1\n"
    rtrain.env["PYTORCH_ALLOC_CONF"] = "max_split_size:128"
    result = rtrain("exec", script)
    assert result.returncode == 3, result.stderr
    assert "PYTORCH_ALLOC_CONF=max_split_size:128: Unrecognized key 'max_split_size'" in result.stderr


LUA_FIGURES = """
    local torch = require 'torch'
    torch.cuda.memory._record_memory_history()
    local x = torch.zeros(1000, 1000):to 'cuda'
    local y = torch.zeros(10):to 'cuda'
    y:release()
    torch.cuda.memory._dump_snapshot 'lua.pickle'
    local stats = torch.cuda.memory_stats()
    local keys = {}
    for key in pairs(stats) do keys[#keys + 1] = key end
    table.sort(keys)
    for _, key in ipairs(keys) do print(key, ('%d'):format(stats[key])) end
    assert(x)
"""

PYTHON_FIGURES = """
import torch
torch.cuda.memory._record_memory_history()
x = torch.zeros(1000, 1000).to('cuda')
y = torch.zeros(10).to('cuda')
del y
torch.cuda.memory._dump_snapshot('python.pickle')
for key, value in sorted(torch.cuda.memory_stats().items()):
    print(key, value, sep='\\t')
"""


def shape(value):
    """Returns the structure of a snapshot, without its numbers."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items() if key not in ("frames", "roundup_power2_divisions")}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return value if isinstance(value, str) else type(value).__name__


def test_figures_and_snapshots_are_pytorchs(rtrain):
    pytest.importorskip("torch")
    simulate_gpus(rtrain, 1)
    ours = rtrain("exec", rtrain.script(LUA_FIGURES))
    assert ours.returncode == 0, ours.stderr
    theirs = subprocess.run(
        [sys.executable, "-c", PYTHON_FIGURES],
        cwd=rtrain.folder,
        env={**os.environ, **rtrain.env, "TMPDIR": str(rtrain.folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert theirs.returncode == 0, theirs.stderr
    assert ours.stdout.splitlines() == theirs.stdout.splitlines()
    mine, other = (pickle.loads((rtrain.folder / name).read_bytes()) for name in ("lua.pickle", "python.pickle"))
    by_size = [sorted(each["segments"], key=lambda segment: segment["total_size"]) for each in (mine, other)]
    assert shape(by_size[0]) == shape(by_size[1])
    assert [[entry["action"] for entry in trace] for trace in mine["device_traces"]] == [
        [entry["action"] for entry in trace] for trace in other["device_traces"]
    ]
    lines = {(frame["filename"], frame["line"]) for entry in mine["device_traces"][0] for frame in entry["frames"]}
    assert any(name.endswith("train.lua") and line == 4 for name, line in lines)
    assert set(mine["device_traces"][0][0]) == set(other["device_traces"][0][0])
