"""Processes that have used the GPU end as they should, however they end. gpu: at most 150 s"""

import concurrent.futures
import os
import subprocess

from conftest import RTRAIN

WORK = """
local torch = require 'torch'
local x = torch.randn(256, 256, {device = 'cuda', requires_grad = true})
x:matmul(x):sum():backward()
local stream_work = x.grad:mul(2)
"""

ENDS = {
    "returns": ("print(stream_work:sum():item() == stream_work:sum():item())", 0),
    "returns_with_work_under_way": ("for _ = 1, 200 do stream_work = stream_work:matmul(x.grad):tanh() end", 0),
    "leaves": ("os.exit(7)", 7),
    "leaves_and_closes": ("os.exit(7, true)", 7),
    "raises": ("error('as it should')", 1),
}
TIMES = 10
AT_ONCE = 8


def ended(rtrain, script):
    return subprocess.run(
        [RTRAIN, "exec", script], cwd=rtrain.folder, env=rtrain.env, capture_output=True, text=True, timeout=120
    )


def test_fifty_exits_without_a_crash(rtrain):
    scripts = {name: rtrain.script(WORK + end, f"{name}.lua") for name, (end, _) in ENDS.items()}
    with concurrent.futures.ThreadPoolExecutor(min(AT_ONCE, os.cpu_count() or 1)) as pool:
        started = {name: [pool.submit(ended, rtrain, script) for _ in range(TIMES)] for name, script in scripts.items()}
    for name, results in started.items():
        for result in (future.result() for future in results):
            assert result.returncode == ENDS[name][1], (name, result.stderr)
            assert result.stderr == "" or name == "raises", (name, result.stderr)


def test_workers_end_in_good_order_with_work_under_way(rtrain):
    text = """
    local torch, train = require 'torch', require 'rtrain'
    train.TorchTrainer{
      train_loop_per_worker = function()
        local x = torch.randn(512, 512, {device = train.torch.get_device()})
        for i = 1, 3 do
          KEPT = x:matmul(x):tanh()
          train.report{step = i}
        end
        for _ = 1, 200 do KEPT = KEPT:matmul(x):tanh() end
      end,
      scaling_config = train.ScalingConfig{num_workers = 2, use_gpu = true, resources_per_worker = {GPU = 0.5}},
    }:fit()
    """
    for _ in range(3):
        rtrain.run_ok(text)
    codes = [worker["exit_code"] for worker in rtrain.json("show", "last")["attempts"][0]["workers"]]
    assert codes == [0, 0]


def test_a_run_is_started_again_on_the_device_after_a_crash(rtrain):
    text = """
    local torch, train = require 'torch', require 'rtrain'
    train.TorchTrainer{
      train_loop_per_worker = function()
        local x = torch.ones(8, {device = train.torch.get_device()})
        local mark = io.open 'crashed'
        if not mark then
          io.open('crashed', 'w'):close()
          require('ffi').cdef 'int raise(int)'
          require('ffi').C.raise(11)
        end
        train.report{sum = x:sum():item()}
      end,
      scaling_config = train.ScalingConfig{use_gpu = true},
      run_config = train.RunConfig{failure_config = train.FailureConfig{max_failures = 1}},
    }:fit()
    """
    rtrain.run_ok(text)
    assert rtrain.statuses() == ["ERRORED", "FINISHED"]
    assert rtrain.reports() == [{"sum": 8}]
