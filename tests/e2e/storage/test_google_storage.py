"""gs:// with an emulator of Google Cloud Storage on loopback; the tests inspect the bucket through its JSON API."""

import functools
import http.server
import json
import shutil
import signal
import socket
import threading
import time
import urllib.parse
import urllib.request

import pytest

from conftest import nightly, sample, wait_until

pytest.importorskip(
    "gcp_storage_emulator", reason="gcp-storage-emulator is not here: scripts/test --oracle installs it"
)
from gcp_storage_emulator.handlers import buckets
from gcp_storage_emulator.server import RequestHandler
from gcp_storage_emulator.storage import Storage

from s3_proxy import Proxy

pytestmark = nightly

URI = "gs://anonymous@bucket/results"
SCRIPT = """
local files, train = require 'files', require 'rtrain'
train.TorchTrainer({
  train_loop_per_worker = function(config)
    local rank = train.get_context():get_world_rank()
    local first = 0
    local checkpoint = train.get_checkpoint()
    if checkpoint then
      checkpoint:with_directory(function(dir) first = tonumber(files.read(dir .. '/rank-' .. rank)) + 1 end)
    end
    for epoch = first, 3 do
      train.tempdir(function(dir)
        files.write(dir .. '/rank-' .. rank, tostring(epoch))
        train.report({epoch = epoch}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
      if epoch == config.wait_at then files.wait_for 'go' end
    end
  end,
  train_loop_config = {wait_at = -1},
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'run', storage_path = 'gs://anonymous@bucket/results', resume = 'auto',
    checkpoint_config = {num_to_keep = 2}},
}):fit()
"""


class GoogleStorage:
    """An emulator with one bucket, 'bucket', that runs in threads of this process."""

    def __init__(self):
        self._storage = Storage(use_memory_fs=True)
        buckets.create_bucket("bucket", self._storage)
        handler = functools.partial(RequestHandler, self._storage)
        self._server = http.server.HTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def _get(self, path):
        with urllib.request.urlopen(f"{self.url}/storage/v1/b/bucket/o{path}") as answer:
            return answer.read()

    def keys(self, prefix):
        found = json.loads(self._get(f"?prefix={urllib.parse.quote(prefix, '')}"))
        return [each["name"] for each in found.get("items", [])]

    def get(self, key):
        return self._get(f"/{urllib.parse.quote(key, '')}?alt=media")

    def end(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def store(rtrain):
    made = GoogleStorage()
    rtrain.env["CLOUD_STORAGE_EMULATOR_ENDPOINT"] = made.url
    rtrain.env.pop("XDG_STATE_HOME", None)  # the state folder is below the test's HOME
    yield made
    made.end()


def known(rtrain, command, *args):
    result = rtrain(command, *args, "--storage", URI, "--json")
    return json.loads(result.stdout) if result.returncode == 0 else []


def test_an_empty_disk_goes_on_where_a_killed_run_was(rtrain, store):
    running = rtrain.start("run", rtrain.script(SCRIPT), "--set", "wait_at=1")
    wait_until(lambda: any("checkpoint_000001" in key for key in store.keys("results/run/checkpoints/")))
    running.send(signal.SIGKILL)
    running.wait()
    rtrain.wait_for_processes()
    shutil.rmtree(rtrain.folder / ".local")
    result = rtrain("run", rtrain.script(SCRIPT))
    assert result.returncode == 0, result.stderr
    shutil.rmtree(rtrain.folder / ".local")
    assert [attempt["status"] for attempt in known(rtrain, "show", "run")["attempts"]] == ["LOST", "FINISHED"]
    assert [row["name"] for row in known(rtrain, "checkpoint", "ls", "run")] == [
        "checkpoint_000002",
        "checkpoint_000003",
    ]
    assert [run["name"] for run in known(rtrain, "ls")] == ["run"]
    (manifest,) = store.keys("results/run/checkpoints/checkpoint_000003/")
    stage = json.loads(store.get(manifest))["stage"]
    assert [store.get(f"results/run/files/{stage}/rank-{rank}/rank-{rank}") for rank in (0, 1)] == [b"3", b"3"]
    assert len(store.keys("results/run/files/")) == 4


def test_a_dataset_is_written_there_and_read(rtrain, store):
    result = rtrain(
        "exec",
        rtrain.script("""
        local data = require 'rtrain.data'
        data.range(5):write_json('gs://anonymous@bucket/rows')
        print(data.read_json('gs://anonymous@bucket/rows'):sum('id'))"""),
    )
    assert result.stdout == "10\n", result.stderr
    (key,) = store.keys("rows/")
    assert [json.loads(line)["id"] for line in store.get(key).splitlines()] == [0, 1, 2, 3, 4]


def test_without_credentials_the_error_names_their_variable(rtrain, store):
    rtrain.env.update(RTRAIN_STORE_PATIENCE_S="0", NO_GCE_CHECK="true", GCE_METADATA_HOST="127.0.0.1:9")
    result = rtrain("ls", "--storage", "gs://bucket/results")
    assert result.returncode == 4 and "GOOGLE_APPLICATION_CREDENTIALS" in result.stderr, result.stderr


# fault: a store of Google that accepts connections and is silent
@pytest.mark.parametrize(
    "call", sample("read_json 'gs://anonymous@bucket/rows'", "range(5):write_json 'gs://anonymous@bucket/rows'", None)
)
def test_a_silent_store_is_given_up_within_its_patience(rtrain, store, call):
    """Google's client would wait 120 s."""
    rtrain.env["RTRAIN_STORE_PATIENCE_S"] = "20"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        rtrain.env["CLOUD_STORAGE_EMULATOR_ENDPOINT"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        if call:
            result = rtrain("exec", rtrain.script(f"return require('rtrain.data').{call}"))
        else:
            result = rtrain("ls", "--storage", URI)
    assert time.monotonic() - began < 100
    assert result.returncode == 4, result.stderr
    assert "the object store does not answer; it is asked again for up to 20 s" in result.stderr
    assert "Timeout was reached: no answer within 20 s" in result.stderr


def test_a_store_that_falls_silent_ends_the_run_within_its_patience(rtrain, store):
    silent = threading.Event()
    proxy = Proxy(store.url, refused=lambda method, path: silent.is_set(), refusal="forever")
    rtrain.env.update(CLOUD_STORAGE_EMULATOR_ENDPOINT=proxy.url, RTRAIN_STORE_PATIENCE_S="20")
    running = rtrain.start("run", rtrain.script(SCRIPT), "--set", "wait_at=1")
    wait_until(lambda: "epoch=1  checkpoint checkpoint_000001" in running.stderr, message="the second commit")
    silent.set()
    (rtrain.folder / "go").touch()
    try:
        result = running.wait(200)
    finally:
        proxy.end()
    assert result.returncode == 4, result.stderr
    assert "Timeout was reached: no answer within 20 s" in result.stderr
    rtrain.env["CLOUD_STORAGE_EMULATOR_ENDPOINT"] = store.url
    assert rtrain("run", rtrain.script(SCRIPT)).returncode == 0
    assert [attempt["status"] for attempt in known(rtrain, "show", "run")["attempts"]] == ["ERRORED", "FINISHED"]
    assert [row["metrics"]["epoch"] for row in known(rtrain, "metrics", "run")] == [0, 1, 2, 3]
