"""A server of rtrain dash under test, a store for it, and clients of it."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import urllib.parse

import pytest

from conftest import Rtrain, wait_until

NASTY = "<script>alert(1)</script>"

# A run of two attempts with checkpoints, series, annotations and log lines that a page must escape as HTML.
SCRIPT = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config)
    local rank = train.get_context():get_world_rank()
    print('hello from rank ' .. rank .. ' <script>alert(1)</script>')
    train.annotate('<b>look</b>', {severity = 'warning'})
    for step = 0, 20, 10 do train.log_image('samples', torch.full({1, 4, 6}, 10 * step, {dtype = 'uint8'}), {step = step}) end
    train.log_text('story', 'rank ' .. rank .. ' <u>said</u> so')
    train.log_histogram('weights', torch.tensor {0, 0.1, 0.9, 1, 0 / 0}, {bins = 2})
    train.log_table('wrong', {columns = {'digit', '<s>said</s>'}, rows = {{7, '<s>nine</s>'}, {1, 'four'}}})
    for step = 0, 4999 do
      train.log({signal = step == 1234 and 1000 or step % 7}, {step = step})
    end
    local done = train.get_checkpoint() and 3 or 0
    for epoch = done, 4 do
      train.tempdir(function(dir)
        torch.save({epoch = epoch}, dir .. '/state.pt')
        train.report({loss = 1 / (epoch + 1), ['<i>x</i>'] = epoch, rank = rank},
                     {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
      if epoch == 2 and done == 0 then error('the first attempt fails') end
    end
  end,
  train_loop_config = {lr = 0.1, depth = 3},
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {failure_config = train.FailureConfig {max_failures = 1}},
}:fit()
"""


class Dash:
    """A running server, and requests to it."""

    def __init__(self, rtrain, *args, trusted=None, port=0):
        self.trusted = trusted and ssl.create_default_context(cafile=trusted)
        self.running = rtrain.start("dash", "--port", port, *args)
        address = wait_until(lambda: self.running.stdout.strip() or not self.running.running, message="the address")
        assert address is not True, self.running.stderr
        self.url = urllib.parse.urlsplit(address)
        self.token = urllib.parse.parse_qs(self.url.query)["token"][0]
        self.port, self.host = self.url.port, self.url.netloc
        self.base = self.url.path.rstrip("/")

    def viewer(self):
        """Returns the token of users who may only look."""
        return re.search(r"who only look: \S+\?token=(\w+)", self.running.stderr)[1]

    def connection(self, timeout=60):
        if self.trusted:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.trusted)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, path, method="GET", body=None, token=True, timeout=60, **headers):
        """Returns the answer, with its body in `.body`. In names of headers, _ stands for -."""
        connection = self.connection(timeout)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        with contextlib.closing(connection):
            connection.request(method, self.base + path, body=body, headers=sent)
            answer = connection.getresponse()
            answer.body = answer.read()
            return answer

    def json(self, path, **query):
        answer = self.ask(path + ("?" + urllib.parse.urlencode(query, doseq=True) if query else ""))
        assert answer.status == 200, answer.body
        return json.loads(answer.body)

    def error(self, path, **kwargs):
        """Returns status and code of a refused request."""
        answer = self.ask(path, **kwargs)
        return answer.status, json.loads(answer.body)["error"]["code"]

    def post(self, path, document, **headers):
        headers.setdefault("Content_Type", "application/json")
        return self.ask(path, "POST", json.dumps(document), **headers)

    def raw(self, text, timeout=30):
        """Sends raw bytes; returns everything that arrives until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as plain:
            with contextlib.suppress(ConnectionError):
                plain.sendall(text if isinstance(text, bytes) else text.encode())
            return read_all(plain)

    @contextlib.contextmanager
    def events(self, path):
        """Yields (event, document) pairs as they arrive."""
        connection = self.connection()
        with contextlib.closing(connection):
            connection.request("GET", self.base + path, headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            assert answer.getheader("Content-Type") == "text/event-stream"
            yield read_events(answer)

    def stop(self, number=signal.SIGTERM):
        self.running.send(number)
        return self.running.wait()


def read_all(plain):
    out = b""
    with contextlib.suppress(ConnectionError):
        while part := plain.recv(65536):
            out += part
    return out


def read_events(answer):
    name = None
    while line := answer.readline():
        line = line.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def descriptors(server):
    return len(os.listdir(f"/proc/{server.running.pid}/fd"))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with the run `two` (of two attempts) and `one`."""
    runner = Rtrain(tmp_path_factory.mktemp("results"))
    runner.run_ok(SCRIPT, "--name", "two", "--tag", "a&b", "--note", NASTY, "-q")
    runner.run_ok(
        """
        local train = require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function(config)
            train.log_image('samples', require('torch').zeros({1, 2, 3}, {dtype = 'uint8'}))
            for i = 1, 3 do train.report {loss = i * config.lr} end
          end,
          train_loop_config = {lr = 0.5},
        }:fit()""",
        "--name",
        "one",
        "-q",
    )
    shutil.rmtree(runner.runtime)
    return runner.storage


@pytest.fixture
def dash(trained):
    """Starts a server over that store."""
    started = []

    def start(*args):
        started.append(Dash(trained, *args))
        return started[-1]

    yield start
    for each in started:
        if each.running.running:
            result = each.stop()
            assert result.returncode == 0, result.stderr


def many_runs(trained, count):
    """Copies the run `one` in the store, as many-00000 and so on; the last copy is the newest."""
    with contextlib.closing(sqlite3.connect(trained.storage / "rtrain.db")) as store:
        columns = [row[1] for row in store.execute("PRAGMA table_info(runs)")]
        one = dict(zip(columns, store.execute("SELECT * FROM runs WHERE name = 'one'").fetchone()))
        rows = [
            [
                {**one, "run_id": f"{at:032x}", "name": f"many-{at:05}", "started_at": one["started_at"] + at}[column]
                for column in columns
            ]
            for at in range(count)
        ]
        store.executemany(f"INSERT INTO runs VALUES ({', '.join('?' * len(columns))})", rows)
        store.commit()
