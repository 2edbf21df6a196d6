"""Resource use of the ranks' processes and of their nodes, stored as series next to those of the script."""

import json

from conftest import wait_until

SCRIPT = """
local train = require 'rtrain'
train.TorchTrainer({
  train_loop_per_worker = function(config)
    local x = 0
    while not io.open(config.go) do
      for i = 1, 1e6 do x = x + i end
    end
  end,
  train_loop_config = {go = '@GO@'},
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {name = 'run'},
}):fit()
"""


def values(rtrain, key, rank):
    result = rtrain("metrics", "run", "--series", key, "--json")
    return [row["value"] for row in json.loads(result.stdout or "[]") if row["rank"] == rank]


def test_processes_and_their_node_are_series(rtrain):
    rtrain.env["RTRAIN_HOST_SAMPLE_S"] = "0.1"
    go = rtrain.folder / "go"
    running = rtrain.start("run", rtrain.script(SCRIPT.replace("@GO@", str(go))))
    wait_until(lambda: max(values(rtrain, "process/cpu_percent", 1), default=0) > 5, message="a busy rank")
    wait_until(lambda: len(values(rtrain, "host/cpu_percent", 0)) > 2, message="samples of the node")
    go.touch()
    assert running.wait().returncode == 0, running.stderr
    for rank in (0, 1):
        assert min(values(rtrain, "process/memory_bytes", rank)) > 1 << 20
    assert min(values(rtrain, "host/memory_used_bytes", 0)) > min(values(rtrain, "process/memory_bytes", 0))
    assert max(values(rtrain, "host/cpu_percent", 0)) > 5
    assert values(rtrain, "host/cpu_percent", 1) == [], "the node's are the first rank's"
    plot = rtrain("plot", "run", "process/cpu_percent", "--by", "time")
    assert plot.returncode == 0 and "process/cpu_percent" in plot.stdout


def test_without_samples_there_are_none(rtrain):
    rtrain.env["RTRAIN_HOST_SAMPLE_S"] = "0"
    go = rtrain.folder / "go"
    go.touch()
    rtrain.run_ok(SCRIPT.replace("@GO@", str(go)))
    assert rtrain.query("SELECT count(*) FROM series WHERE key GLOB 'host/*' OR key GLOB 'process/*'") == [(0,)]
