"""Runs over two nodes that share no disk, only an S3 bucket."""

import json
import shutil
import subprocess
import sys

import pytest

from conftest import RTRAIN, nightly, wait_until

pytest.importorskip("moto", reason="moto is not here: scripts/test --oracle installs it")
from s3_server import S3Server

pytestmark = nightly

URI = "s3://bucket/results"
SCRIPT = """
local files, train = require 'files', require 'rtrain'
train.TorchTrainer({
  train_loop_per_worker = function(config)
    local rank = train.get_context():get_world_rank()
    local first, before = 0, nil
    local checkpoint = train.get_checkpoint()
    if checkpoint then
      checkpoint:with_directory(function(dir)
        before = {}
        for other = 0, 3 do before[other + 1] = files.read(dir .. '/deep/rank-' .. other) end
        first = tonumber(before[1]) + 1
      end)
    end
    for epoch = first, config.epochs - 1 do
      train.tempdir(function(dir)
        os.execute('mkdir ' .. dir .. '/deep')
        files.write(dir .. '/deep/rank-' .. rank, tostring(epoch))
        files.write(dir .. '/common', 'of rank ' .. rank)
        train.report({epoch = epoch, before = before and table.concat(before, ' ')},
          {checkpoint = train.Checkpoint.from_directory(dir), checkpoint_upload_mode = config.mode})
      end)
      if epoch == config.wait_at then
        while not files.exists 'go' do os.execute 'sleep 0.05' end
      end
    end
  end,
  train_loop_config = {epochs = 4, wait_at = -1, mode = 'SYNC'},
  scaling_config = train.ScalingConfig{num_workers = 4},
  run_config = train.RunConfig{name = 'run', storage_path = 's3://bucket/results',
    checkpoint_config = {num_to_keep = 2}},
}):fit()
"""


@pytest.fixture
def store(rtrain, hosts):
    """A bucket on the switch; each node's state folder is on its own disk."""
    server = S3Server(rtrain.folder, hosts.switch)
    try:
        server.wait()
        rtrain.env.update(server.variables, XDG_STATE_HOME="/srv/disk/state")
        make = "import boto3, sys; boto3.client('s3', endpoint_url=sys.argv[1]).create_bucket(Bucket='bucket')"
        subprocess.run(
            hosts.switch.command(sys.executable, "-c", make, server.variables["AWS_ENDPOINT_URL"]),
            env=rtrain.env,
            check=True,
            capture_output=True,
            timeout=60,
        )
        yield server
    finally:
        server.end()


def known(rtrain, host, command, *args):
    """Returns what an rtrain command on the node reads from the bucket."""
    shutil.rmtree(host.disk / "state", ignore_errors=True)
    done = subprocess.run(
        host.command(RTRAIN, command, *args, "--storage", URI, "--json", folder=rtrain.folder),
        env=rtrain.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return json.loads(done.stdout) if done.returncode == 0 else []


def names(rtrain, host):
    return [row["name"] for row in known(rtrain, host, "checkpoint", "ls", "run")]


def ended(job):
    for result in job.wait():
        assert result.returncode == 0, result.stdout + result.stderr


def test_a_checkpoint_has_the_files_of_all_nodes(rtrain, job, store, hosts):
    ended(job("run", rtrain.script(SCRIPT)))
    assert names(rtrain, hosts.switch) == ["checkpoint_000002", "checkpoint_000003"]
    (path,) = [
        row["path"] for row in known(rtrain, hosts.switch, "checkpoint", "ls", "run") if row["name"].endswith("3")
    ]
    read = rtrain.script(f"""
        local files, train = require 'files', require 'rtrain'
        train.Checkpoint({json.dumps(path)}):with_directory(function(dir)
          for rank = 0, 3 do print(files.read(dir .. '/deep/rank-' .. rank)) end
          print(files.read(dir .. '/common'))
        end)""")
    done = subprocess.run(
        hosts.switch.command(RTRAIN, "exec", read, folder=rtrain.folder),
        env=rtrain.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split("\n")[:5] == ["3", "3", "3", "3", "of rank 0"], done.stderr
    # No files of the second node's ranks stay on its disk.
    staged = [path for path in (hosts[1].disk / "state").rglob("*") if path.is_file() and path.name.startswith("rank-")]
    assert staged == []


def test_nodes_with_empty_disks_go_on_where_a_killed_job_was(rtrain, job, store, hosts):
    first = job("run", rtrain.script(SCRIPT), "--set", "wait_at=1")
    wait_until(lambda: names(rtrain, hosts.switch)[-1:] == ["checkpoint_000001"])
    first.kill()
    rtrain.wait_for_processes()
    for host in (hosts[0], hosts[1]):
        shutil.rmtree(host.disk / "state")
    ended(job("run", rtrain.script(SCRIPT), "--resume", "auto"))
    shown = known(rtrain, hosts.switch, "show", "run")
    assert [attempt["status"] for attempt in shown["attempts"]] == ["LOST", "FINISHED"]
    rows = known(rtrain, hosts.switch, "metrics", "run", "--ranks")
    assert [row["ranks"][3]["epoch"] for row in rows] == [0, 1, 2, 3]
    assert [row["ranks"][3].get("before") for row in rows] == [None, None, "1 1 1 1", "1 1 1 1"]


def test_a_worker_elsewhere_that_is_killed_goes_on_from_the_store(rtrain, job, store, hosts):
    running = job("run", rtrain.script(SCRIPT), "--set", "wait_at=2", "--set", "epochs=5", "--max-failures", "1")
    wait_until(lambda: names(rtrain, hosts.switch)[-1:] == ["checkpoint_000002"])
    shown = known(rtrain, hosts.switch, "show", "run")
    (pid,) = [worker["pid"] for worker in shown["attempts"][-1]["workers"] if worker["rank"] == 3]
    subprocess.run(["kill", "-9", str(pid)], check=True)
    (rtrain.folder / "go").touch()
    ended(running)
    rows = known(rtrain, hosts.switch, "metrics", "run", "--ranks")
    assert [row["ranks"][3]["epoch"] for row in rows] == [0, 1, 2, 3, 4]
    assert rows[-1]["ranks"][3]["before"] == "2 2 2 2"


def test_a_node_that_does_not_reach_the_store_is_named(rtrain, job, store, hosts):
    nowhere = {"AWS_ENDPOINT_URL": f"http://{hosts.switch.address}:9", "RTRAIN_STORE_PATIENCE_S": "1"}
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "15"
    running = job("run", rtrain.script(SCRIPT), env_of={1: nowhere})
    results = running.wait()
    assert [result.returncode for result in results] == [4, 4], [result.stderr for result in results]
    assert "node n1 does not reach s3://bucket/results" in results[0].stderr


def test_no_upload_is_refused_where_the_runs_folder_is_not(rtrain, job, store):
    body = SCRIPT.replace(
        "train.tempdir(function(dir)",
        "(function(fn) fn(train.get_context():get_storage().experiment_path "
        ".. '/own-' .. rank .. '-' .. epoch) end)(function(dir)\n os.execute('mkdir ' .. dir)",
        1,
    )
    results = job("run", rtrain.script(body), "--set", "mode=NO_UPLOAD").wait()
    assert results[0].returncode == 1, results[0].stderr
    assert "this node shares no disk with the run's first one" in results[0].stderr
