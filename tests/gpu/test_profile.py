"""A live run on the GPU: kernels in the trace of `rtrain profile`, and figures of the device as series of the run."""

import json

from conftest import wait_until

TRAIN = """
local torch, train = require 'torch', require 'rtrain'

train.TorchTrainer{
  train_loop_per_worker = function()
    local x = torch.rand(1024, 1024, {device = train.torch.get_device()})
    for epoch = 1, math.huge do
      for _ = 1, 100 do x:mm(x) end  -- the line
      torch.cuda.synchronize()
      train.report{epoch = epoch}
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 1, use_gpu = true},
  run_config = train.RunConfig{name = 'busy'},
}:fit()
"""


def test_a_live_run_is_profiled_and_its_device_recorded(rtrain):
    rtrain.env["RTRAIN_GPU_SAMPLE_S"] = "0.2"
    running = rtrain.started("run", rtrain.script(TRAIN), reports=3)
    for _ in range(2):
        document = json.loads(rtrain("profile", "busy", "--steps", "2", "--json").stdout)
        (profile,) = document["profiles"]
        trace = json.loads(open(profile["path"]).read())
        kernels = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
        assert len(kernels) >= 100, "a product is one kernel at least"
        names = {event["name"] for event in trace["traceEvents"]}
        line = 1 + next(
            i for i, text in enumerate((rtrain.folder / "train.lua").read_text().splitlines()) if "-- the line" in text
        )
        assert "aten::mm" in names and any(name.endswith(f"train.lua:{line}") for name in names)
    wait_until(lambda: rtrain.json("show", "busy")["attempts"][0]["workers"][0]["gpu"], message="a sample")
    assert rtrain("stop", "busy", "--now").returncode == 0
    assert "ERROR" not in running.wait().stderr
    gpu = rtrain.json("show", "busy")["attempts"][0]["workers"][0]["gpu"]
    assert gpu["memory_used_bytes"] > 0 and gpu["power_w"] > 0 and 0 < gpu["temperature_c"] < 120
