"""NCCL on a device that makes no progress: the worker ends with the root cause, and the device is free again."""

import json

TRAIN = """
local torch, train = require 'torch', require 'rtrain'
local dist = torch.distributed
train.TorchTrainer{
  train_loop_per_worker = function()
    local x = torch.zeros(16384, 16384, {device = 'cuda'})
    local sum = torch.ones(4, {device = 'cuda'})
    dist.all_reduce(sum)
    torch.cuda.synchronize()
    -- A quarter of a minute of work, queued on the device at once before the collective.
    for _ = 1, 120 do x = x:matmul(x) end
    dist.all_reduce(sum)
    train.report{sum = sum:sum():item()}
  end,
  scaling_config = train.ScalingConfig{use_gpu = true},
  torch_config = train.TorchConfig{timeout_s = 3},
  run_config = train.RunConfig{name = 'late'},
}:fit()
"""


def test_a_time_out_ends_with_a_named_cause(rtrain):
    result = rtrain.run(TRAIN)
    assert result.returncode == 6, result.stderr
    assert (
        "all_reduce(float32 [4]) on rank 0 of 1 (collective 2, NCCL's number 2) waited 3 s on the device"
        in result.stderr
    )
    assert "terminate called" not in result.stderr
    [folder] = (rtrain.run_folder("late") / "diag").iterdir()
    entries = json.loads((folder / "nccl-rank-0.json").read_text())["entries"]
    assert [entry["profiling_name"] for entry in entries] == ["nccl:all_reduce"] * 2
    # The device accepts work again.
    after = rtrain("exec", rtrain.script("print(require('torch').ones(2, {device = 'cuda'}):sum():item())"))
    assert after.stdout == "2\n", after.stderr
