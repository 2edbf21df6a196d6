"""train.loggers: what a run records reaches TensorBoard, MLflow, W&B and web servers while it goes on; nothing waits for
them, and what they miss is sent later.
"""

import json
import math
import os
import signal
import socket
import subprocess

import pytest

from conftest import nightly, wait_until
from tracker_servers import FakeMlflow, FakeWandb, JsonServer, serving

# Reports, logs and waits for a file before the last epoch.
SCRIPT = """
local torch, train = require 'torch', require 'rtrain'
local function exists(path) local file = io.open(path) if file then file:close() end return file ~= nil end
train.TorchTrainer {
  train_loop_per_worker = function(config)
    local checkpoint = train.get_checkpoint()
    for epoch = checkpoint and 3 or 0, 3 do
      if epoch == 3 then
        for _ = 1, 6000 do if exists 'go' then break end os.execute 'sleep 0.01' end
      end
      for step = epoch * 2, epoch * 2 + 1 do train.log({grad = step / 2, loss = 9 - step}, {step = step}) end
      if epoch < 2 then train.log_image('digit', torch.full({1, 4, 4}, epoch / 2), {step = epoch}) end
      train.tempdir(function(dir)
        train.report({epoch = epoch, loss = 1 / 3 ^ epoch, odd = epoch == 1 and 0/0 or 0.5, val = {acc = epoch / 4}},
          {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
    end
  end,
  train_loop_config = {lr = 0.5, net = {width = 8}, api_key = 'do not tell'},
  run_config = train.RunConfig {name = 'tracked', resume = 'auto', callbacks = {CALLBACKS}},
}:fit()
"""
REPORTS, POINTS, IMAGES = 4, 16, 2


def script(*callbacks):
    return SCRIPT.replace("CALLBACKS", ", ".join(callbacks))


def finish(rtrain, running):
    (rtrain.folder / "go").touch()
    result = running.wait()
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def run_through(rtrain, *callbacks):
    (rtrain.folder / "go").touch()
    return rtrain.run_ok(script(*callbacks))


def test_tensorboard_shows_a_run_that_goes_on(rtrain):
    event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    running = rtrain.start("run", rtrain.script(script("train.loggers.TensorBoard()")))
    folder = rtrain.storage / "tracked" / "tensorboard"

    def losses():
        events = event_accumulator.EventAccumulator(str(folder))
        events.Reload()
        return (
            [(each.step, each.value) for each in events.Scalars("loss")] if "loss" in events.Tags()["scalars"] else []
        )

    wait_until(lambda: folder.exists() and len(losses()) >= 3)
    assert running.running
    finish(rtrain, running)
    events = event_accumulator.EventAccumulator(str(folder))
    events.Reload()
    reports = rtrain.reports("tracked")
    assert [step for step, _ in losses()] == [0, 1, 2, 3]
    assert [value for _, value in losses()] == pytest.approx([report["loss"] for report in reports])
    assert [each.value for each in events.Scalars("grad")] == [step / 2 for step in range(8)]
    assert [each.value for each in events.Scalars("logged/loss")] == [9 - step for step in range(8)]
    assert [each.value for each in events.Scalars("val/acc")] == [0, 0.25, 0.5, 0.75]
    assert [(each.step, each.width) for each in events.Images("digit")] == [(0, 4), (1, 4)]


def test_a_server_gets_each_record_once(rtrain):
    with serving(JsonServer()) as server:
        server.refusals = [503, 503]
        run_through(rtrain, f"train.loggers.Http {{url = '{server.url}/hook', headers = {{['X-Team'] = 'vision'}}}}")
        bodies, items = server.bodies(), server.items()
    assert {path for _, path, _, _ in server.requests} == {"/hook"}
    assert all(headers["X-Team"] == "vision" for _, _, _, headers in server.requests)
    begin = [body["begin"] for body in bodies if body["type"] == "begin"][-1]
    assert begin["name"] == "tracked" and begin["config"] == {"lr": 0.5, "net": {"width": 8}, "api_key": "***"}
    assert [item["index"] for item in items if item["type"] == "report"] == [0, 1, 2, 3]
    assert [item["metrics"] for item in items if item["type"] == "report"] == rtrain.reports("tracked")
    points = [(item["key"], item["step"], item["value"]) for item in items if item["type"] == "point"]
    assert sorted(points) == sorted(
        [("grad", step, step / 2) for step in range(8)] + [("loss", step, 9 - step) for step in range(8)]
    )
    assert [item["name"] for item in items if item["type"] == "media"] == ["digit", "digit"]
    assert bodies[-1]["type"] == "end" and bodies[-1]["end"]["status"] == "FINISHED"


def test_what_a_server_refuses_is_left_out_with_a_notice(rtrain):
    with serving(JsonServer()) as server:
        answer = server.answer
        server.answer = lambda method, path, body: (
            (422, {"why": "no"}) if b'"items"' in body else answer(method, path, body)
        )
        result = run_through(rtrain, f"train.loggers.Http {{url = '{server.url}'}}")
    assert f"Http: the server at {server.url} answered 422 to POST /" in result.stderr
    assert result.stderr.count("Http:") == 1
    assert server.bodies()[-1]["type"] == "end"


def mlflow_logger(server, more=""):
    return f"train.loggers.MLflow {{tracking_uri = '{server.url}', experiment_name = 'digits'{more}}}"


def check_mlflow(run):
    assert run["status"] == "FINISHED"
    assert run["params"] == {"lr": "0.5", "net/width": "8", "api_key": "***"}
    values = {}
    for metric in run["metrics"]:
        values.setdefault(metric["key"], {})[metric["step"]] = float(metric["value"])
    assert values["epoch"] == {0: 0, 1: 1, 2: 2, 3: 3}
    assert values["val/acc"] == {0: 0, 1: 0.25, 2: 0.5, 3: 0.75}
    assert math.isnan(values["odd"][1]) and values["odd"][2] == 0.5
    return values


def check_points(values):
    assert values["grad"] == {step: step / 2 for step in range(8)}
    assert values["logged/loss"] == {step: 9 - step for step in range(8)}


def test_mlflow_gets_metrics_parameters_tags_and_images(rtrain):
    rtrain.env.update(MLFLOW_TRACKING_TOKEN="s3cret")
    with serving(FakeMlflow()) as server:
        run_through(rtrain, mlflow_logger(server, ", tags = {team = 'vision'}"))
        (run,) = server.runs.values()
    check_points(check_mlflow(run))
    tags = {tag["key"]: tag["value"] for tag in run["given"]["tags"]}
    assert tags["mlflow.runName"] == "tracked" and tags["team"] == "vision"
    assert tags["rtrain.run_id"] == rtrain.json("show", "tracked")["run_id"]
    assert run["given"]["experiment_id"] == server.experiments["digits"]
    assert [name.split("/media/")[1] for name in server.artifacts] == ["image/digit/0.png", "image/digit/1.png"]
    assert all(content.startswith(b"\x89PNG") for content in server.artifacts.values())
    assert {headers.get("Authorization") for _, _, _, headers in server.requests} == {"Bearer s3cret"}
    kept = [path.read_bytes() for path in rtrain.storage.rglob("*") if path.is_file()]
    assert not any(b"s3cret" in content for content in kept)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_what_mlflow_misses_is_sent_by_export(rtrain):
    port = free_port()
    uri = f"http://127.0.0.1:{port}"
    result = run_through(rtrain, f"train.loggers.MLflow {{tracking_uri = '{uri}', experiment_name = 'digits'}}")
    assert result.stderr.count("Connection refused") == 1
    assert "`rtrain export --mlflow tracked` sends the rest" in result.stderr
    refused = rtrain("export", "--mlflow", "tracked")
    assert refused.returncode == 4 and f"cannot connect to 127.0.0.1:{port}: Connection refused" in refused.stderr
    with serving(FakeMlflow(port)) as server:
        first = rtrain("export", "--mlflow", "tracked")
        again = rtrain("export", "--mlflow", "tracked")
        (run,) = server.runs.values()
    assert first.returncode == again.returncode == 0, first.stderr
    assert f"sent {REPORTS + POINTS + IMAGES} records of tracked to {uri} experiment digits" in first.stderr
    assert "sent 0 records" in again.stderr
    check_points(check_mlflow(run))


def test_a_run_that_is_continued_goes_on_in_mlflow(rtrain):
    with serving(FakeMlflow()) as server:
        running = rtrain.start("run", rtrain.script(script(mlflow_logger(server))))
        wait_until(lambda: any(len(run["metrics"]) >= 6 for run in server.runs.values()))
        running.send(signal.SIGKILL)
        running.wait()
        assert [run["status"] for run in server.runs.values()] == ["RUNNING"]
        run_through(rtrain, mlflow_logger(server))
        (run,) = server.runs.values()
    check_mlflow(run)


def test_wrong_options_are_named(rtrain):
    for given, message in [
        ("MLflow {tracking_url = 'http://h:1'}", "unknown field 'tracking_url': did you mean 'tracking_uri'?"),
        (
            "MLflow {tracking_uri = 'file:/tmp'}",
            "train.loggers.MLflow.tracking_uri = file:/tmp: expected the URL of a server",
        ),
        ("MLflow()", "train.loggers.MLflow: give tracking_uri, or set MLFLOW_TRACKING_URI"),
        ("Http {}", "train.loggers.Http: give url"),
        ("Wandb {project = 3}", "train.loggers.Wandb.project = 3: expected a string"),
        ("Comet()", "train.loggers has no 'Comet'"),
    ]:
        result = rtrain.run(script(f"train.loggers.{given}"))
        assert result.returncode != 0 and message in result.stderr, (given, result.returncode, result.stderr)


def tracker_program(name):
    """Returns a program of the environment that `scripts/setup --trackers` makes. Skips the test without it."""
    printed = subprocess.run(
        [os.path.join(os.environ.get("RTRAIN_SOURCE", "."), "scripts/setup"), "--print-trackers"],
        capture_output=True,
        text=True,
    )
    program = os.path.join(os.path.dirname(printed.stdout.strip()), name)
    if not os.path.exists(program):
        pytest.skip("scripts/setup --trackers installs the trackers")
    return program


@nightly
def test_the_real_mlflow(rtrain, tmp_path):
    port = free_port()
    mlflow = tracker_program("mlflow")
    uri = f"http://127.0.0.1:{port}"
    store = [
        "--backend-store-uri",
        f"sqlite:///{tmp_path}/m.db",
        "--artifacts-destination",
        str(tmp_path / "artifacts"),
    ]
    with open(tmp_path / "log", "w") as log:
        command = [mlflow, "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1", *store]
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, timeout_s=120)
        wait_until(lambda: "startup complete" in (tmp_path / "log").read_text(), timeout_s=120)
        run_through(rtrain, f"train.loggers.MLflow {{tracking_uri = '{uri}', experiment_name = 'digits'}}")
        rtrain("export", "--mlflow", "tracked")
        program = f"""
import json, mlflow
client = mlflow.MlflowClient({uri!r})
run = client.search_runs([client.get_experiment_by_name('digits').experiment_id])[0]
def points(key):
    return {{each.step: each.value for each in client.get_metric_history(run.info.run_id, key)}}
history = {{key: points(key) for key in run.data.metrics}}
print(json.dumps([run.info.status, run.data.params, history,
                  [each.path for each in client.list_artifacts(run.info.run_id, 'media/image/digit')]]))
"""
        read = subprocess.run([tracker_program("python"), "-c", program], capture_output=True, text=True, timeout=120)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    status, params, history, images = json.loads(read.stdout)
    assert status == "FINISHED" and params == {"lr": "0.5", "net/width": "8", "api_key": "***"}
    assert history["grad"] == {str(step): step / 2 for step in range(8)} and math.isnan(history["odd"]["1"])
    assert images == ["media/image/digit/0.png", "media/image/digit/1.png"]


@nightly
def test_wandb_syncs_the_offline_run(rtrain, tmp_path):
    wandb = tracker_program("wandb")
    run_through(rtrain, "train.loggers.Wandb {project = 'digits'}")
    (folder,) = (rtrain.storage / "tracked" / "wandb").iterdir()
    with serving(FakeWandb()) as server:
        env = {**rtrain.env, "WANDB_BASE_URL": server.url, "WANDB_API_KEY": "a" * 40, "TMPDIR": str(tmp_path)}
        synced = subprocess.run(
            [wandb, "sync", str(folder)], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        history, files = server.history, server.files
    assert synced.returncode == 0 and "Finished syncing" in synced.stdout + synced.stderr
    reports = [row for row in history if "report" in row]
    assert [row["loss"] for row in reports] == pytest.approx([1 / 3**epoch for epoch in range(4)])
    assert {row["step"]: row["grad"] for row in history if "grad" in row} == {step: step / 2 for step in range(8)}
    images = [row["digit"] for row in history if "digit" in row]
    assert [(image["width"], image["height"]) for image in images] == [(4, 4), (4, 4)]
    assert all(files[image["path"]].startswith(b"\x89PNG") for image in images)
    assert b"width" in files["config.yaml"]
