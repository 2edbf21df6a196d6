"""Runs whose train function calls torch.distributed: a body for all ranks."""

SCRIPT = """
local torch = require 'torch'
local train = require 'rtrain'
local dist = torch.distributed
train.TorchTrainer{{
  train_loop_per_worker = function()
    local rank = dist.get_rank()
    {body}
  end,
  scaling_config = train.ScalingConfig{{num_workers = {workers}}},
  run_config = train.RunConfig{{name = 'mine'}},
  torch_config = train.TorchConfig{{backend = {backend}, timeout_s = {timeout_s}}},
}}:fit()
"""


def run(rtrain, body, workers=4, backend="cpu:shm,cuda:nccl", timeout_s=60):
    script = SCRIPT.format(body=body, workers=workers, backend=f"'{backend}'", timeout_s=timeout_s)
    return rtrain.run(script, "--oversubscribe")


def ranks_of(rtrain):
    return rtrain.json("metrics", "mine", "--ranks")[0]["ranks"]
