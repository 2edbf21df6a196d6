"""Ingest workers in a job on several nodes: on the nodes without ranks if there are any, else on each rank's own node."""

import contextlib
import os
import pathlib

from conftest import nightly, processes_of, wait_until

pytestmark = nightly

SCRIPT = """
local data, torch, train = require 'rtrain.data', require 'torch', require 'rtrain'
local worker = require 'torch.utils.data.worker'
local MARKER = 'MARKED'
torch.manual_seed(5)

local function noisy(row)
  row.noise = torch.rand({8}, {generator = worker.generator()})
  if MARKER ~= '' and row.id % 16 == 9 and not io.open(MARKER .. row.id) then
    io.open(MARKER .. row.id, 'w'):close()
    os.execute 'kill -9 $PPID'
  end
  return row
end

train.TorchTrainer {
  train_loop_per_worker = function()
    for batch in train.get_dataset_shard():iter_batches {batch_size = 4} do
      train.report {ids = torch.list(batch.id:tolist()), noise = batch.noise:double():sum():item()}
      BODY
    end
  end,
  scaling_config = train.ScalingConfig {num_workers = RANKS, placement_strategy = 'STRATEGY'},
  datasets = {train = data.range(64, {override_num_blocks = 8}):random_shuffle {seed = 1}:map(noisy)},
  dataset_config = train.DataConfig {ingest_workers = WORKERS},
}:fit()
"""

RUN_CONFIG = "  run_config = train.RunConfig {failure_config = train.FailureConfig {node_timeout_s = 2}},\n"


def script(rtrain, workers, marker="", body="", ranks=4, strategy="SPREAD"):
    text = SCRIPT.replace("WORKERS", str(workers)).replace("MARKED", marker).replace("BODY", body)
    return rtrain.script(text.replace("RANKS", str(ranks)).replace("STRATEGY", strategy), f"train{workers}.lua")


def far_workers(rtrain):
    """Returns the parents of ingest workers that serve ranks on other nodes."""
    out = []
    for pid in processes_of(rtrain.storage):
        with contextlib.suppress(OSError):
            if b"--far-ingest" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                out.append(int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]))
    return out


def batches(rtrain, name):
    return [row["ranks"] for row in rtrain.json("metrics", name, "--ranks")]


def test_batches_are_those_of_one_machine_and_dead_ingest_workers_cost_only_time(rtrain, job):
    marker = f"{rtrain.folder}/dead-"
    for result in job("run", script(rtrain, 1, marker), "--name", "two").wait():
        assert result.returncode == 0, result.stderr
    assert rtrain("run", script(rtrain, 0), "--name", "one", "--oversubscribe").returncode == 0
    assert batches(rtrain, "two") == batches(rtrain, "one")
    assert [os.path.exists(f"{marker}{row}") for row in (9, 25, 41, 57)] == [True] * 4
    workers = rtrain.json("show", "two")["attempts"][0]["workers"]
    assert [worker["host"] for worker in workers] == ["n0", "n0", "n1", "n1"]
    assert [worker["data"]["train"]["ingest_workers"] for worker in workers] == [1] * 4


def test_a_killed_agent_takes_the_ingest_workers_along(rtrain, job):
    waiting = f"while not io.open '{rtrain.folder}/go' do os.execute 'sleep 0.01' end"
    path = script(rtrain, 2, body=waiting)
    path.write_text(path.read_text().replace("  datasets = ", RUN_CONFIG + "  datasets = "))
    running = job("run", path, "--name", "two")
    # until all ranks have started, the run would wait for its nodes again
    wait_until(lambda: rtrain.query("SELECT count(DISTINCT rank) FROM reports") == [(4,)], message="all ranks' reports")
    running.processes[1].kill()
    result = running.processes[0].wait()
    assert result.returncode == 5, result.stderr
    assert "node n1 has not been heard of for 2 s (node_timeout_s)" in result.stderr
    wait_until(lambda: not processes_of(rtrain.storage), message="the end of all processes")


def test_ranks_of_one_node_have_theirs_on_the_other_one(rtrain, job):
    marker = f"{rtrain.folder}/dead-"
    waiting = f"while not io.open '{rtrain.folder}/go' do os.execute 'sleep 0.01' end"
    running = job("run", script(rtrain, 1, marker, waiting, ranks=2, strategy="STRICT_PACK"), "--name", "two")
    wait_until(lambda: rtrain.query("SELECT 1 FROM reports") and far_workers(rtrain), message="an ingest worker")
    agent = running.processes[1].pid
    assert set(far_workers(rtrain)) == {agent}
    (rtrain.folder / "go").touch()
    for result in running.wait():
        assert result.returncode == 0, result.stderr
    path = script(rtrain, 0, ranks=2, strategy="STRICT_PACK")
    assert rtrain("run", path, "--name", "one", "--oversubscribe").returncode == 0
    assert batches(rtrain, "two") == batches(rtrain, "one")
    assert [os.path.exists(f"{marker}{row}") for row in (9, 25, 41, 57)] == [True] * 4
    workers = rtrain.json("show", "two")["attempts"][0]["workers"]
    assert [worker["host"] for worker in workers] == ["n0", "n0"]
    wait_until(lambda: not processes_of(rtrain.storage), message="the end of all processes")


def test_without_the_node_of_the_ingest_workers_the_run_goes_on(rtrain, job):
    waiting = f"while not io.open '{rtrain.folder}/go' do os.execute 'sleep 0.01' end"
    path = script(rtrain, 2, body=waiting, ranks=2, strategy="STRICT_PACK")
    path.write_text(path.read_text().replace("  datasets = ", RUN_CONFIG + "  datasets = "))
    running = job("run", path, "--name", "two")
    wait_until(lambda: rtrain.query("SELECT 1 FROM reports") and far_workers(rtrain), message="an ingest worker")
    running.processes[1].kill()
    (rtrain.folder / "go").touch()
    result = running.processes[0].wait()
    assert result.returncode == 0, result.stderr
    assert "on node n1 has gone, or does not come: it is started again" in result.stderr
    assert (
        rtrain("run", script(rtrain, 0, ranks=2, strategy="STRICT_PACK"), "--name", "one", "--oversubscribe").returncode
        == 0
    )
    assert batches(rtrain, "two") == batches(rtrain, "one")
    wait_until(lambda: not processes_of(rtrain.storage), message="the end of all processes")
