"""Memory of the device after `kill -9`, as NVML counts it. gpu: alone, at most 90 s"""

import os
import signal

import pytest

from conftest import wait_until

GIB = 1 << 30
HELD = 4 * GIB

TRAIN = (
    """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function()
    local held = torch.zeros(%d, {device = train.torch.get_device(), dtype = 'uint8'})
    torch.cuda.synchronize()
    local step = 0
    while true do
      step = step + 1
      train.report{step = step, size = held:numel()}
      os.execute 'sleep 0.05'
    end
  end,
  scaling_config = train.ScalingConfig{use_gpu = true},
  run_config = train.RunConfig{name = 'holds'},
}:fit()
"""
    % HELD
)


def used_bytes(rtrain):
    return rtrain.json("resources")["gpus"][0]["state"]["used_bytes"]


@pytest.mark.parametrize("victim", ["worker", "controller"])
def test_kill_9_frees_the_device(rtrain, victim):
    before = used_bytes(rtrain)
    running = rtrain.started("run", rtrain.script(TRAIN))
    try:
        wait_until(lambda: used_bytes(rtrain) > before + HELD, message="the use of the device")
        (worker,) = rtrain.pids("holds")
        os.kill(worker if victim == "worker" else running.pid, signal.SIGKILL)
        result = running.wait()
    finally:
        running.kill()
    assert result.returncode == (5 if victim == "worker" else -signal.SIGKILL), result.stderr
    rtrain.wait_for_processes()
    wait_until(lambda: used_bytes(rtrain) < before + GIB // 4, message="the freed device")
