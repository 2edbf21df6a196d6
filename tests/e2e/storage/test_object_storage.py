"""Runs with an S3 bucket as storage_path: the bucket's content as boto3 sees it, and its use by another machine or by
an empty disk."""

import json
import os
import re
import shutil
import signal
import threading

import pytest

from conftest import ALL, nightly, wait_until

pytest.importorskip("moto", reason="moto is not here: scripts/test --oracle installs it")
from s3_proxy import Proxy
from s3_server import s3, server  # noqa: F401  (fixtures)

FAULTS = int(os.environ.get("RTRAIN_TEST_OBJECT_FAULTS", 4))  # 200 with scripts/test --objects
URI = "s3://bucket/results"
SCRIPT = """
local train = require 'rtrain'

local function save(path, text)
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
end

local function load(path)
  local file = assert(io.open(path, 'rb'))
  local text = file:read '*a'
  file:close()
  return text
end

train.DataParallelTrainer({
  train_loop_per_worker = function(config)
    local rank = train.get_context():get_world_rank()
    local first = 0
    local checkpoint = train.get_checkpoint()
    if checkpoint then
      checkpoint:with_directory(function(dir)
        first = tonumber(load(dir .. '/deep/rank-' .. rank):match '^%d+') + 1
      end)
    end
    for epoch = first, config.epochs - 1 do
      train.tempdir(function(dir)
        os.execute('mkdir ' .. dir .. '/deep')
        save(dir .. '/deep/rank-' .. rank, epoch .. ' ' .. ('x'):rep(config.size))
        train.report({epoch = epoch}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
      if epoch == config.wait_at then
        while not io.open 'go' do os.execute 'sleep 0.05' end
      end
    end
  end,
  train_loop_config = {epochs = 4, size = 1000, wait_at = -1},
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {name = 'run', storage_path = 's3://bucket/results', resume = 'auto',
    checkpoint_config = {num_to_keep = 2}},
}):fit()
"""


def files(s3, folder):
    """Returns the keys without the empty objects that stand for folders."""
    return [key for key in s3.keys(folder) if not key.endswith("/")]


def files_of(s3, checkpoint):
    """Returns the bucket's content of a checkpoint: file → content."""
    keys = files(s3, f"results/run/checkpoints/{checkpoint}/")
    assert len(keys) == 1, keys
    stored = json.loads(s3.get(keys[0]))
    return {
        file: s3.get(f"results/run/files/{stored['stage']}/rank-{rank}/{file}").decode()
        for file, rank in stored["ranks"].items()
    }


def checkpoints_of(s3):
    return sorted({key.split("/")[3] for key in files(s3, "results/run/checkpoints/")})


def empty_disk(rtrain):
    shutil.rmtree(rtrain.folder / ".local")


def ended(rtrain, *args):
    result = rtrain("run", rtrain.script(SCRIPT), *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def killed_at(rtrain, epoch):
    running = rtrain.start("run", rtrain.script(SCRIPT), "--set", f"wait_at={epoch}")
    here = rtrain.env["HOME"]
    rtrain.env["HOME"] = f"{here}/other"  # another machine, which knows only the content of the store
    wait_until(
        lambda: [row["name"] for row in known(rtrain, "checkpoint", "ls", "run")][-1:] == [f"checkpoint_{epoch:06}"]
    )
    rtrain.env["HOME"] = here
    running.send(signal.SIGKILL)
    running.wait()
    rtrain.wait_for_processes()


def known(rtrain, command, *args):
    result = rtrain(command, *args, "--storage", URI, "--json")
    return json.loads(result.stdout) if result.returncode == 0 else []


def test_each_rank_has_its_files_there_and_retention_removes_them(rtrain, s3):
    said = ended(rtrain).stderr
    # The message has the URI and the options for other machines, not this machine's local folder for the store.
    assert (
        f"checkpoint {URI}/run/checkpoints/checkpoint_000003\n" in said and f"rtrain show run --storage {URI}\n" in said
    )
    assert "/.local/" not in said
    assert checkpoints_of(s3) == ["checkpoint_000002", "checkpoint_000003"]
    shown = known(rtrain, "show", "run")
    assert shown["uri"] == f"{URI}/run"
    assert [row["uri"] for row in shown["checkpoints"]] == [
        f"{URI}/run/checkpoints/checkpoint_00000{n}" for n in (2, 3)
    ]
    for epoch in (2, 3):
        assert files_of(s3, f"checkpoint_{epoch:06}") == {
            f"deep/rank-{rank}": f"{epoch} {'x' * 1000}" for rank in (0, 1)
        }
    assert len(files(s3, "results/run/files/")) == 4 and s3.uploads() == []
    assert len(files(s3, "results/.rtrain/run/")) == 1


def test_an_empty_disk_goes_on_where_a_killed_run_was(rtrain, s3):
    killed_at(rtrain, 1)
    empty_disk(rtrain)
    assert [run["name"] for run in known(rtrain, "ls")] == ["run"]
    empty_disk(rtrain)
    result = ended(rtrain)
    assert "going on with the run 'run'" in result.stderr
    shown = known(rtrain, "show", "run")
    assert [attempt["status"] for attempt in shown["attempts"]] == ["LOST", "FINISHED"]
    assert [row["metrics"]["epoch"] for row in known(rtrain, "metrics", "run")] == [0, 1, 2, 3]
    assert checkpoints_of(s3) == ["checkpoint_000002", "checkpoint_000003"]
    assert files_of(s3, "checkpoint_000003")["deep/rank-1"].startswith("3 ")
    assert len(files(s3, "results/run/files/")) == 4


def test_what_people_change_reaches_the_store(rtrain, s3):
    ended(rtrain)
    assert known(rtrain, "edit", "run", "--tag", "kept")[0]["tags"] == ["kept"]
    assert rtrain("edit", "run", "--note", "good", "--storage", URI).returncode == 0
    empty_disk(rtrain)
    assert known(rtrain, "ls", "--tag", "kept")[0]["name"] == "run"
    assert known(rtrain, "show", "run")["note"] == "good"
    result = rtrain("edit", "run", "--name", "other", "--storage", URI)
    assert result.returncode == 3 and "keeps its name" in result.stderr
    assert rtrain("rm", "run", "--yes", "--storage", URI).returncode == 0
    assert known(rtrain, "ls") == [] and files(s3, "results/") == []
    empty_disk(rtrain)
    assert known(rtrain, "ls") == []


def test_an_empty_disk_lists_and_shows(rtrain, s3):
    ended(rtrain)
    empty_disk(rtrain)
    (run,) = known(rtrain, "ls")
    assert (run["name"], run["status"], run["metrics"]) == ("run", "FINISHED", {"epoch": 3})
    assert [row["name"] for row in known(rtrain, "checkpoint", "ls", "run")] == [
        "checkpoint_000002",
        "checkpoint_000003",
    ]
    read = rtrain(
        "exec",
        rtrain.script(f"""
        local train = require 'rtrain'
        local path = {json.dumps(known(rtrain, "checkpoint", "ls", "run")[0]["path"])}
        train.Checkpoint(path):with_directory(function(dir) print(io.open(dir .. '/deep/rank-1'):read '*n') end)
    """),
    )
    assert read.stdout == "2\n", read.stderr


def test_a_file_that_was_changed_in_the_store_is_not_begun_from(rtrain, s3):
    killed_at(rtrain, 2)
    empty_disk(rtrain)
    (key,) = [key for key in s3.keys("results/run/files/") if "-2/rank-1/" in key]
    s3.put(key, s3.get(key).replace(b"x", b"y", 1))
    result = ended(rtrain)
    assert re.search(r"checkpoint_000002 .*cannot be used: .*deep/rank-1", result.stderr), result.stderr
    assert [row["metrics"]["epoch"] for row in known(rtrain, "metrics", "run")] == [0, 1, 2, 3]


# Faults


PLACES = ("ckpt.staged", "ckpt.clear", "ckpt.row", "ckpt.drop", "ckpt.sync_parents")
# By day each place runs once; the last place runs with both disks, because their outcomes differ.
CUTS = [(place, disk) for place in PLACES for disk in ("kept", "empty")]
BY_DAY = [("ckpt.staged", "empty"), ("ckpt.clear", "empty"), ("ckpt.row", "kept"), ("ckpt.drop", "empty"), *CUTS[-2:]]


# fault: a controller that is killed while it commits into an object store
@pytest.mark.parametrize("place, disk", CUTS if ALL else BY_DAY)
def test_a_commit_that_is_cut_leaves_a_whole_checkpoint(rtrain, s3, place, disk):
    rtrain.env["RTRAIN_FAULT"] = f"{place}:2:kill"
    assert rtrain("run", rtrain.script(SCRIPT)).returncode != 0
    del rtrain.env["RTRAIN_FAULT"]
    rtrain.wait_for_processes()
    if disk == "empty":
        empty_disk(rtrain)
    ended(rtrain)
    assert known(rtrain, "show", "run")["status"] == "FINISHED"
    assert checkpoints_of(s3) == ["checkpoint_000002", "checkpoint_000003"]
    for epoch in (2, 3):
        assert files_of(s3, f"checkpoint_{epoch:06}") == {
            f"deep/rank-{rank}": f"{epoch} {'x' * 1000}" for rank in (0, 1)
        }
    assert len(files(s3, "results/run/files/")) == 4
    # The run resumes from the last commit, whether it is on the disk or in the store.
    if place in ("ckpt.clear", "ckpt.row") or (place == "ckpt.sync_parents" and disk == "kept"):
        assert [row["metrics"]["epoch"] for row in known(rtrain, "metrics", "run") if row["attempt"] == 2] == [2, 3]
        assert [row["metrics"]["epoch"] for row in known(rtrain, "metrics", "run")] == [0, 1, 2, 3]


def test_a_controller_whose_run_another_machine_has_taken_is_refused(rtrain, s3):
    running = rtrain.start("run", rtrain.script(SCRIPT), "--set", "wait_at=1")
    wait_until(lambda: checkpoints_of(s3)[-1:] == ["checkpoint_000001"])
    rtrain.env["XDG_STATE_HOME"] = f"{rtrain.folder}/other"
    ended(rtrain, "--oversubscribe")
    (rtrain.folder / "go").touch()
    result = running.wait()
    assert result.returncode != 0 and "another controller has taken over the run 'run'" in result.stderr, result.stderr
    shown = known(rtrain, "show", "run")
    assert [attempt["status"] for attempt in shown["attempts"]] == ["LOST", "FINISHED"]
    # It has removed nothing either.
    assert checkpoints_of(s3) == ["checkpoint_000002", "checkpoint_000003"]
    for epoch in (2, 3):
        assert files_of(s3, f"checkpoint_{epoch:06}") == {
            f"deep/rank-{rank}": f"{epoch} {'x' * 1000}" for rank in (0, 1)
        }


# fault: a machine that comes back to a run which has gone on elsewhere, under the names of its own old checkpoints
def test_old_copies_give_way_to_what_the_store_has(rtrain, s3):
    rtrain.env["RTRAIN_FAULT"] = "ckpt.sync_parents:3:kill"  # checkpoint_000002 is on this disk, but not in the store
    assert rtrain("run", rtrain.script(SCRIPT)).returncode != 0
    del rtrain.env["RTRAIN_FAULT"]
    rtrain.wait_for_processes()
    rtrain.env["XDG_STATE_HOME"] = f"{rtrain.folder}/other"
    ended(rtrain, "--set", "size=2000")
    del rtrain.env["XDG_STATE_HOME"]
    read = rtrain(
        "exec",
        rtrain.script(f"""
        local train = require 'rtrain'
        local path = {json.dumps(known(rtrain, "checkpoint", "ls", "run")[0]["path"])}
        train.Checkpoint(path):with_directory(function(dir) print(#io.open(dir .. '/deep/rank-1'):read '*a') end)
    """),
    )
    assert read.stdout == f"{len('2 ') + 2000}\n", read.stderr
    result = ended(rtrain, "--set", "epochs=6", "--set", "size=3000")
    assert "checkpoint_000003" in result.stderr or "attempt 3" in result.stderr, result.stderr
    rows = [(row["attempt"], row["metrics"]["epoch"]) for row in known(rtrain, "metrics", "run")]
    assert rows == [(1, 0), (1, 1), (2, 2), (2, 3), (3, 4), (3, 5)]
    assert (
        checkpoints_of(s3) == ["checkpoint_000004", "checkpoint_000005"] and len(files(s3, "results/run/files/")) == 4
    )


# fault: an object store that does not answer for files while a run begins
def test_an_outage_at_the_start_costs_no_checkpoint(rtrain, s3):
    killed_at(rtrain, 1)
    empty_disk(rtrain)
    proxy = Proxy(s3.variables["AWS_ENDPOINT_URL"], refused=lambda method, path: "/run/files/" in path)
    rtrain.env.update(AWS_ENDPOINT_URL=proxy.url, RTRAIN_STORE_PATIENCE_S="1")
    try:
        result = rtrain("run", rtrain.script(SCRIPT))
    finally:
        proxy.end()
    assert result.returncode == 4 and "cannot read 's3://bucket/results/run/files/" in result.stderr, result.stderr
    rtrain.env.update(s3.variables)
    ended(rtrain)
    assert [row["metrics"]["epoch"] for row in known(rtrain, "metrics", "run")] == [0, 1, 2, 3]


# fault: an object store that answers 500 or 503, or not at all, or cuts its answers
def test_faults_of_the_store_are_survived(rtrain, s3):
    proxy = Proxy(s3.variables["AWS_ENDPOINT_URL"], every=12)
    rtrain.env["AWS_ENDPOINT_URL"] = proxy.url
    epochs = 0
    try:
        while sum(proxy.counts.values()) < FAULTS or min(proxy.counts.values()) == 0:
            epochs += 4
            ended(rtrain, "--set", f"epochs={epochs}")
            empty_disk(rtrain)
        rows = known(rtrain, "metrics", "run")
    finally:
        proxy.end()
    assert [row["metrics"]["epoch"] for row in rows] == list(range(epochs))
    assert checkpoints_of(s3) == [f"checkpoint_{epoch:06}" for epoch in (epochs - 2, epochs - 1)]
    for epoch in (epochs - 2, epochs - 1):
        assert files_of(s3, f"checkpoint_{epoch:06}") == {
            f"deep/rank-{rank}": f"{epoch} {'x' * 1000}" for rank in (0, 1)
        }


# fault: an object store that accepts connections and is silent for good, from the middle of a run
@pytest.mark.parametrize("is_of", ["a commit", pytest.param("an upload", marks=nightly)])
def test_a_store_that_falls_silent_ends_the_run_within_its_patience(rtrain, s3, is_of):
    silent = threading.Event()
    refused = {
        "a commit": lambda method, path: silent.is_set(),
        "an upload": lambda method, path: silent.is_set() and "/run/files/" in path,
    }
    patience_s, request_s = 1, 3
    proxy = Proxy(s3.variables["AWS_ENDPOINT_URL"], refused=refused[is_of], refusal="forever")
    rtrain.env.update(AWS_ENDPOINT_URL=proxy.url, RTRAIN_STORE_PATIENCE_S=str(patience_s))
    running = rtrain.start("run", rtrain.script(SCRIPT), "--set", "wait_at=1")
    wait_until(lambda: "epoch=1  checkpoint checkpoint_000001" in running.stderr, message="the second commit")
    silent.set()
    (rtrain.folder / "go").touch()
    try:
        result = running.wait(12 * (patience_s + request_s))
    finally:
        proxy.end()
    assert result.returncode == 4, result.stderr
    assert f"the object store does not answer; it is asked again for up to {patience_s} s" in result.stderr
    assert "'s3://bucket/results/" in result.stderr and "Timeout was reached" in result.stderr
    rtrain.env.update(s3.variables)
    said = ended(rtrain).stderr
    assert "going on with the run 'run'" in said, said
    assert [row["metrics"]["epoch"] for row in known(rtrain, "metrics", "run")] == [0, 1, 2, 3]
    assert [attempt["status"] for attempt in known(rtrain, "show", "run")["attempts"]] == ["ERRORED", "FINISHED"]
    assert checkpoints_of(s3) == ["checkpoint_000002", "checkpoint_000003"]
    assert len(files(s3, "results/run/files/")) == 4


# fault: an object store that removes nothing for a while
def test_what_cannot_be_removed_now_goes_later(rtrain, s3):
    proxy = Proxy(
        s3.variables["AWS_ENDPOINT_URL"], refused=lambda method, path: "/results/run/" in path and method == "DELETE"
    )
    rtrain.env.update(AWS_ENDPOINT_URL=proxy.url, RTRAIN_STORE_PATIENCE_S="0")
    try:
        ended(rtrain, "--set", "epochs=3")
    finally:
        proxy.end()
    assert checkpoints_of(s3) == ["checkpoint_000000", "checkpoint_000001", "checkpoint_000002"]
    rtrain.env.update(s3.variables)
    ended(rtrain)
    assert (
        checkpoints_of(s3) == ["checkpoint_000002", "checkpoint_000003"] and len(files(s3, "results/run/files/")) == 4
    )


# fault: a bucket that was emptied, and has another run of that name now
def test_copies_of_an_earlier_run_of_that_name_are_not_read(rtrain, s3):
    ended(rtrain)
    s3.reset()
    rtrain.env["XDG_STATE_HOME"] = f"{rtrain.folder}/other"
    ended(rtrain, "--set", "size=500")
    del rtrain.env["XDG_STATE_HOME"]
    read = rtrain(
        "exec",
        rtrain.script(f"""
        local train = require 'rtrain'
        local path = {json.dumps(known(rtrain, "checkpoint", "ls", "run")[-1]["path"])}
        train.Checkpoint(path):with_directory(function(dir) print(#io.open(dir .. '/deep/rank-1'):read '*a') end)
    """),
    )
    assert read.stdout == f"{len('3 ') + 500}\n", read.stderr


# fault: a bucket that is not there
def test_a_bucket_that_is_not_there_is_named(rtrain, s3):
    script = rtrain.script(SCRIPT.replace("s3://bucket/results", "s3://no-such-bucket/results"))
    refused = rtrain("run", script)
    assert refused.returncode == 4 and "there is no bucket 'no-such-bucket'" in refused.stderr, refused.stderr
    listed = rtrain("ls", "--storage", "s3://no-such-bucket/results")
    assert listed.returncode == 4 and "there is no bucket 'no-such-bucket'" in listed.stderr


def test_refused_credentials_end_the_run_at_once(rtrain, s3):
    proxy = Proxy(s3.variables["AWS_ENDPOINT_URL"], refused=lambda method, path: True, refusal="403")
    try:
        rtrain.env.update(AWS_ENDPOINT_URL=proxy.url, RTRAIN_STORE_PATIENCE_S="3600")
        refused = rtrain("run", rtrain.script(SCRIPT))
    finally:
        proxy.end()
    assert refused.returncode == 4 and "the store refuses the credentials" in refused.stderr, refused.stderr
    assert "secret" not in refused.stderr


def test_a_uri_without_a_bucket_is_refused(rtrain, s3):
    for uri in ("s3://", "s3:///results", "s3://bucket/x?region=eu-west-1"):
        refused = rtrain("ls", "--storage", uri)
        assert refused.returncode == 3 and uri in refused.stderr, refused.stderr


def test_the_dashboard_shows_the_snapshots_of_another_machine(rtrain, s3):
    """Shows the snapshots that exist when it starts, and those that arrive later."""
    from dash_server import Dash

    ended(rtrain)
    here = rtrain.env["HOME"]
    rtrain.env["HOME"] = f"{here}/other"
    server = Dash(rtrain, "--storage", URI)
    assert [run["name"] for run in server.json("/api/runs")["runs"]] == ["run"]
    shown = server.json("/api/runs/run")
    assert shown["status"] == "FINISHED" and shown["uri"] == f"{URI}/run"
    assert [row["uri"] for row in shown["checkpoints"]] == [
        f"{URI}/run/checkpoints/checkpoint_00000{n}" for n in (2, 3)
    ]
    assert server.json("/api/runs/run/curve", name="epoch")["min"] == [0, 1, 2, 3]
    assert server.ask("/api/runs/run/logs").status == 200, "logs are on the other machine's disk"
    rtrain.env["HOME"] = here
    assert rtrain("edit", "run", "--note", "seen", "--storage", URI).returncode == 0
    ended(rtrain, "--name", "second")
    wait_until(lambda: server.json("/api/runs/run")["note"] == "seen", message="the note")
    wait_until(lambda: server.json("/api/runs")["total"] == 2, message="the second run")
    wait_until(lambda: server.json("/api/runs/second")["status"] == "FINISHED", message="its last snapshot")
    assert server.json("/api/runs")["problems"] == [] and server.json("/api/runs/run")["problem"] is None
    assert server.stop().returncode == 0


@nightly
def test_damaged_snapshots_of_runs_do_not_hide_the_others(rtrain, s3):
    """The damaged snapshots sort before the others in every order of names, and outnumber them."""
    from dash_server import Dash

    ended(rtrain)
    (whole,) = files(s3, "results/.rtrain/run/")
    rows = s3.get(whole)
    damaged = {"a-cut": rows[: len(rows) // 2], "b-empty": b"", "c-other": rows, "d-text": b"no database"}
    for name, content in damaged.items():
        s3.put(f"results/.rtrain/{name}/1-1-ab.db", content)
    here = rtrain.env["HOME"]
    rtrain.env["HOME"] = f"{here}/other"
    listed = rtrain("ls", "--storage", URI, "--json")
    assert listed.returncode == 0 and [run["name"] for run in json.loads(listed.stdout)] == ["run"], listed.stderr
    assert all(f"the run '{name}' is shown as it was" in listed.stderr for name in damaged), listed.stderr

    server = Dash(rtrain, "--storage", URI)
    answer = server.json("/api/runs")
    assert [run["name"] for run in answer["runs"]] == ["run"]
    problems = {row["name"]: row["problem"] for row in answer["problems"]}
    assert list(problems) == list(damaged)
    for name, problem in problems.items():
        assert f"{URI}/.rtrain/{name}/1-1-ab.db, cannot be read: " in problem, problem
        assert "rtrain gc --rebuild" not in problem and ".rows-" not in problem, problem
    assert "no run of that name" in problems["b-empty"] and "no run of that name" in problems["c-other"]
    refused = server.ask("/api/runs/a-cut")
    assert refused.status == 404 and problems["a-cut"] in json.loads(refused.body)["error"]["message"]

    # A run that is already known keeps its rows, and the runs after it are read.
    s3.put("results/.rtrain/run/9-9-ab.db", rows[:5000])
    rtrain.env["HOME"] = here
    ended(rtrain, "--name", "second")
    wait_until(lambda: server.json("/api/runs")["total"] == 2, message="the second run")
    wait_until(lambda: server.json("/api/runs/run")["problem"], message="the problem")
    shown = server.json("/api/runs/run")
    assert shown["status"] == "FINISHED" and "9-9-ab.db" in shown["problem"]
    assert server.json("/api/runs/run/curve", name="epoch")["min"] == [0, 1, 2, 3]
    wait_until(lambda: "the run 'run' is shown as it was" in server.running.stderr, message="the message")

    # Once the snapshots are valid again, no problem is reported.
    s3.put("results/.rtrain/run/9-10-ab.db", rows)
    for name in damaged:
        s3.client.delete_object(Bucket="bucket", Key=f"results/.rtrain/{name}/1-1-ab.db")
    wait_until(lambda: server.json("/api/runs")["problems"] == [], message="the end of the problems")
    assert server.json("/api/runs/run")["problem"] is None
    assert server.stop().returncode == 0
    assert server.running.stderr.count("the run 'a-cut'") == 1
