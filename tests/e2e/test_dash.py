"""rtrain dash: the server, who may ask it, and its API. No browser: tests/browser has the pages."""

import contextlib
import gzip
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import urllib.parse

import pytest

from conftest import ENDLESS, SOURCE, Rtrain, refused, wait_until

NASTY = "<script>alert(1)</script>"

# A run of two attempts with checkpoints, series, annotations and lines that would be HTML.
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
    """A server under way, and requests to it."""

    def __init__(self, rtrain, *args, trusted=None):
        self.trusted = trusted and ssl.create_default_context(cafile=trusted)
        self.running = rtrain.start("dash", "--port", 0, *args)
        address = wait_until(lambda: self.running.stdout.strip() or not self.running.running, message="the address")
        assert address is not True, self.running.stderr
        self.url = urllib.parse.urlsplit(address)
        self.token = urllib.parse.parse_qs(self.url.query)["token"][0]
        self.port, self.host = self.url.port, self.url.netloc
        self.base = self.url.path.rstrip("/")

    def viewer(self):
        """The token of those who only look."""
        return re.search(r"who only look: \S+\?token=(\w+)", self.running.stderr)[1]

    def connection(self, timeout=60):
        if self.trusted:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.trusted)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, path, method="GET", body=None, token=True, timeout=60, **headers):
        """The answer, with its body in `.body`. Names of headers have _ for -."""
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
        """Status and code of a refusal."""
        answer = self.ask(path, **kwargs)
        return answer.status, json.loads(answer.body)["error"]["code"]

    def post(self, path, document, **headers):
        headers.setdefault("Content_Type", "application/json")
        return self.ask(path, "POST", json.dumps(document), **headers)

    def raw(self, text, timeout=30):
        """Sends bytes as they are; returns all that comes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as plain:
            with contextlib.suppress(ConnectionError):
                plain.sendall(text if isinstance(text, bytes) else text.encode())
            return read_all(plain)

    @contextlib.contextmanager
    def events(self, path):
        """(event, document) pairs as they come."""
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
    """Copies of the run `one` in the store: many-00000 and so on, the last one the newest."""
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


# Who may ask.


def test_the_address_opens_the_page_and_gives_a_cookie(dash):
    server = dash()
    page = server.ask(f"/?token={server.token}", token=False)
    assert page.status == 200 and page.getheader("Content-Type").startswith("text/html")
    cookie = page.getheader("Set-Cookie")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/;" in cookie
    assert server.token not in cookie
    assert server.ask("/api/runs", token=False, Cookie=cookie.split(";")[0]).status == 200
    assert server.running.stdout.count("\n") == 1, "one address, for programs"


def test_nothing_is_answered_without_the_token(dash):
    server = dash()
    for path in ("/", "/api/runs", "/api/events", "/metrics", "/openapi.json", "/app.js", "/nothing"):
        assert server.error(path, token=False) == (401, "no_token"), path
        assert server.error(path, token=False, Cookie="rtrain_0=1") == (401, "no_token")
    assert server.ask("/api/runs?token=" + "0" * 32, token=False).status == 401
    assert server.ask("/api/runs", token=False, Authorization="Bearer " + server.token[:-1]).status == 401


def test_a_foreign_host_is_refused(dash):
    server = dash()
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "", "localhost.", "10.0.0.1"):
        assert server.error("/api/runs", Host=host) == (421, "wrong_host"), host
    for host in (f"localhost:{server.port}", "127.0.0.1", "[::1]:99", "LOCALHOST"):
        assert server.ask("/api/runs", Host=host).status == 200, host


def test_a_proxys_name_is_allowed_when_it_is_named(dash):
    server = dash("--allow-host", "train.example", "--base-path", "/rtrain/")
    assert server.url.path == "/rtrain/"
    assert server.ask("/api/runs", Host="train.example").status == 200
    assert server.ask("/api/runs", Host="other.example").status == 421
    page = server.ask(f"/?token={server.token}", token=False)
    assert "Path=/rtrain/;" in page.getheader("Set-Cookie")
    answer = server.post("/api/runs/one/note", {"note": "x"}, Origin="https://train.example")
    assert answer.status == 200, answer.body
    server.base = ""
    assert server.error("/api/runs") == (404, "not_found")


def test_pages_of_other_sites_get_nothing(dash):
    server = dash()
    for origin in (
        "https://evil.example",
        "null",
        f"http://127.0.0.1:{server.port + 1}",
        f"http://localhost:{server.port}",
    ):
        assert server.error("/api/runs", Origin=origin) == (403, "wrong_origin"), origin
    assert server.ask("/api/runs", Origin=f"http://{server.host}").status == 200
    for site in ("cross-site", "same-site"):
        assert server.error("/api/runs", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate") == (403, "wrong_origin")
        assert server.ask("/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate").status == 200
        assert server.ask("/", Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors").status == 403
    assert "access-control-allow-origin" not in str(server.ask("/api/runs").headers).lower()


def test_writing_needs_the_page_or_the_token_itself(dash, trained):
    server = dash()
    cookie = server.ask(f"/?token={server.token}", token=False).getheader("Set-Cookie").split(";")[0]
    own = f"http://{server.host}"
    note = "/api/runs/one/note"
    assert server.post(note, {"note": "csrf"}, token=False, Cookie=cookie).status == 403
    assert server.post(note, {"note": "csrf"}, token=False, Cookie=cookie, Origin="https://evil.example").status == 403
    assert server.post(note + f"?token={server.token}", {"note": "csrf"}, token=False, Origin=own).status == 401
    answer = server.post(note, {"note": "csrf"}, token=False, Cookie=cookie, Origin=own, Content_Type="text/plain")
    assert answer.status == 415
    assert trained.json("show", "one")["note"] == ""
    assert server.post(note, {"note": "mine"}, token=False, Cookie=cookie, Origin=own).status == 200
    assert trained.json("show", "one")["note"] == "mine"
    assert server.post(note, {"note": "by hand"}).status == 200


WRITES = {
    "note": {"note": "x"},
    "tags": {"add": ["x"]},
    "archived": {"archived": True},
    "stop": {"now": True},
    "stack": {},
    "profile": {"seconds": 0.1},
}


def test_every_action_needs_the_right_to_write(dash, trained):
    server = dash()
    posts = {route["path"] for route in server.json("/api/")["routes"] if route["method"] == "POST"}
    assert posts == {f"/api/runs/{{run}}/{name}" for name in WRITES}, "WRITES has all of them"
    cookie = server.ask(f"/?token={server.token}", token=False).getheader("Set-Cookie").split(";")[0]
    looks = server.ask(f"/?token={server.viewer()}", token=False).getheader("Set-Cookie").split(";")[0]
    own = f"http://{server.host}"
    before = trained.json("show", "one"), trained.json("ls")
    for name, body in WRITES.items():
        path = f"/api/runs/one/{name}"
        attacks = {
            "nobody": (401, {}),
            "another site's form, which has the cookie": (403, {"Cookie": cookie, "Origin": "https://evil.example"}),
            "a page of another port": (403, {"Cookie": cookie, "Origin": f"http://127.0.0.1:{server.port + 1}"}),
            "a sandboxed frame": (403, {"Cookie": cookie, "Origin": "null"}),
            "a browser that says nothing": (403, {"Cookie": cookie}),
            "a request that the browser calls foreign": (
                403,
                {"Cookie": cookie, "Origin": own, "Sec_Fetch_Site": "same-site"},
            ),
            "a rebound name": (421, {"Cookie": cookie, "Host": "evil.example", "Origin": "http://evil.example"}),
            "a form's type": (415, {"Cookie": cookie, "Origin": own, "Content_Type": "text/plain"}),
            "those who only look": (403, {"Cookie": looks, "Origin": own}),
            "their token": (403, {"Authorization": f"Bearer {server.viewer()}"}),
        }
        for attacker, (status, headers) in attacks.items():
            assert server.post(path, body, token=False, **headers).status == status, (name, attacker)
        in_address = server.post(f"{path}?token={server.token}", body, token=False, Origin=own)
        assert in_address.status == 401, "a link must not change anything"
        assert server.ask(path).status == 405, "nor a picture's address"
    assert (trained.json("show", "one"), trained.json("ls")) == before


def test_those_who_only_look_see_everything_else(dash):
    server = dash()
    viewer = {"token": False, "Authorization": f"Bearer {server.viewer()}"}
    for path in ("/", "/api/runs", "/api/runs/two", "/metrics"):
        assert server.ask(path, **viewer).status == 200, path
    assert json.loads(server.ask("/api/", **viewer).body)["may_write"] is False
    assert server.json("/api/")["may_write"] is True
    assert server.viewer() not in server.running.stdout


def test_read_only_changes_nothing(dash, trained):
    server = dash("--read-only")
    for name, body in WRITES.items():
        answer = server.post(f"/api/runs/one/{name}", body)
        assert answer.status == 403 and json.loads(answer.body)["error"]["code"] == "read_only", name
    assert server.json("/api/")["may_write"] is False and "who only look" not in server.running.stderr
    assert server.json("/api/runs")["total"] == 2
    assert trained.json("show", "one")["note"] == ""


def test_only_loopback(rtrain):
    refused(rtrain("dash", "--host", "0.0.0.0"), "needs TLS", "--cert", "ssh -L")
    refused(rtrain("dash", "--host", "::"), "needs TLS")
    refused(rtrain("dash", "--host", "example.org"), "numeric")
    refused(rtrain("dash", "--base-path", "/a?b"), "--base-path")
    server = Dash(rtrain)
    listeners = {line.split()[1] for line in open("/proc/net/tcp") if line.split()[3] == "0A"}
    assert f"0100007F:{server.port:04X}" in listeners and f"00000000:{server.port:04X}" not in listeners
    taken = rtrain("dash", "--port", server.port)
    assert taken.returncode == 4 and "in use" in taken.stderr
    assert server.stop(signal.SIGINT).returncode == 0


def test_every_answer_keeps_other_sites_out(dash):
    server = dash()
    for path in ("/", "/api/runs", "/metrics", "/nothing"):
        headers = server.ask(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    assert not re.search(rb"<script(?![^>]*\bsrc=)|\son\w+=|style=", server.ask("/").body), "inline script or style"


# Attacks.


def test_no_path_reaches_a_file(dash, trained):
    server = dash()
    (trained.storage / "secret.txt").write_text("secret")
    for path in (
        "/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/rtrain.db",
        "/rtrain.db",
        "/secret.txt",
        "//etc/passwd",
        "/api/runs/..",
        "/api/runs/..%2f..%2fetc",
        "/api/runs/%2e%2e/logs",
        "/api/runs/one%2f..%2f/logs",
        "/one/lock",
        "/api/runs/one/../two",
        "/web/index.html",
        "/index.html",
    ):
        answer = server.ask(path)
        assert answer.status == 404, (path, answer.body)
        assert b"root:" not in answer.body and b"SQLite format" not in answer.body
    assert server.ask("/api/runs/one%00/logs").status == 400
    assert server.ask("/%zz").status == 400


def test_names_of_a_run_are_data_and_never_html(dash):
    server = dash()
    for path in ("/api/runs", "/api/runs/two", "/api/runs/two/logs", "/api/runs/two/curves"):
        answer = server.ask(path)
        assert answer.getheader("Content-Type") == "application/json"
        assert b"<" in answer.body
    message = server.ask("/api/runs/" + urllib.parse.quote(NASTY, safe=""))
    assert message.status == 404 and message.getheader("Content-Type") == "application/json"


def test_oversized_requests_are_refused(dash):
    server = dash()
    head = f"GET /api/runs HTTP/1.1\r\nHost: {server.host}\r\n"
    assert b" 431 " in server.raw(head + "X-Large: " + "x" * 20000 + "\r\n\r\n")[:40]
    assert b" 431 " in server.raw(head + "".join(f"X-{i}: 1\r\n" for i in range(500)) + "\r\n")[:40]
    assert server.raw("GET /" + "a" * 100000 + " HTTP/1.1\r\n\r\n")[:12] in (b"HTTP/1.1 431", b"")
    body = f"POST /api/runs/one/note HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: "
    assert b" 413 " in server.raw(body + "100000\r\n\r\n")[:40]
    assert server.raw(body + "99999999999999999999\r\n\r\n").startswith(b"HTTP/1.1 4")
    assert server.json("/api/runs")["total"] == 2


def test_wrong_requests_are_refused(dash):
    server = dash()
    for text in (
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "GET / HTTP/1.0\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: {server.host}\r\nHost: evil.example\r\n\r\n",
        f"POST / HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
        f"POST / HTTP/1.1\r\nHost: {server.host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        f"POST / HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: {server.host}\r\nA b: c\r\n\r\n",
    ):
        answer = server.raw(text.encode("latin-1"))
        assert answer.startswith(b"HTTP/1.1 4"), (text, answer)
        assert answer.count(b"HTTP/1.1 ") == 1
    assert server.json("/api/runs")["total"] == 2


def test_a_request_that_never_ends_is_ended(dash):
    server = dash()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as slow:
        slow.sendall(f"GET /api/runs HTTP/1.1\r\nHost: {server.host}\r\n".encode())
        with contextlib.suppress(ConnectionError):
            for _ in range(600):  # a header a tenth of a second, as slow-loris does
                slow.sendall(b"X: 1\r\n")
                slow.settimeout(0.1)
                with contextlib.suppress(TimeoutError):
                    assert b" 408 " in slow.recv(4096)
                    return
        pytest.fail("a request without an end was never refused")


def test_more_connections_than_places(dash):
    server = dash()
    silent = []
    try:
        for _ in range(700):
            silent.append(socket.create_connection(("127.0.0.1", server.port), timeout=10))
        assert server.json("/api/runs")["total"] == 2
        assert descriptors(server) < 600
    finally:
        for each in silent:
            each.close()


# TLS.


def certificate(folder, name, names="DNS:localhost,IP:127.0.0.1,DNS:*.train.example"):
    """A certificate that signs itself, and its key."""
    files = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-subj",
            f"/CN={name}",
            "-addext",
            f"subjectAltName={names}",
            "-out",
            files[0],
            "-keyout",
            files[1],
        ],
        check=True,
        capture_output=True,
    )
    return files


@pytest.fixture
def secured(trained, tmp_path):
    """A server with TLS."""
    own, key = certificate(tmp_path, "own")
    server = Dash(trained, "--cert", own, "--key", key, trusted=own)
    yield server
    assert server.stop().returncode == 0


def test_all_of_it_over_tls(secured):
    assert secured.url.scheme == "https" and secured.url.hostname == "127.0.0.1"
    assert secured.json("/api/runs")["total"] == 2
    page = secured.ask(f"/?token={secured.token}", token=False)
    assert "; Secure" in page.getheader("Set-Cookie")
    whole = secured.json("/api/runs/two/curve", name="signal", points=10000)
    assert whole["total"] == 5000 and whole["min"][1234] == 1000
    own = f"https://{secured.host}"
    cookie = page.getheader("Set-Cookie").split(";")[0]
    assert secured.post("/api/runs/one/note", {"note": "x"}, token=False, Cookie=cookie, Origin=own).status == 200
    connection = secured.connection()
    with contextlib.closing(connection):
        for _ in range(20):
            connection.request("GET", "/api/runs", headers={"Authorization": f"Bearer {secured.token}"})
            assert connection.getresponse().read()
        assert connection.sock.version() == "TLSv1.3"
    with secured.events("/api/runs/two/logs/events") as events:
        assert {line["rank"] for line in next(events)[1]} == {0, 1}


def test_over_tls_the_certificates_names_are_ours(secured):
    for host in ("localhost", "gpu7.train.example", f"GPU7.TRAIN.EXAMPLE:{secured.port}"):
        assert secured.ask("/api/runs", Host=host).status == 200, host
    for host in ("train.example", "a.b.train.example", "evil.example"):
        assert secured.ask("/api/runs", Host=host).status == 421, host


def test_what_speaks_no_tls_is_told_so(secured):
    for text in ("GET / HTTP/1.1\r\n\r\n", "\0\0\0\0"):
        answer = secured.raw(text)
        assert answer.startswith(b"HTTP/1.1 400 ") and b"wants_tls" in answer
    with socket.create_connection(("127.0.0.1", secured.port), timeout=60) as broken:
        broken.sendall(b"\x16\x03\x01\x00\x05hello")
        assert b"HTTP" not in read_all(broken)
    for version in (ssl.TLSVersion.TLSv1_2,):
        old = ssl.create_default_context()
        old.check_hostname, old.verify_mode, old.maximum_version = False, ssl.CERT_NONE, version
        with socket.create_connection(("127.0.0.1", secured.port), timeout=60) as plain, pytest.raises(ssl.SSLError):
            old.wrap_socket(plain)
    assert secured.json("/api/runs")["total"] == 2


def test_a_handshake_that_never_ends_is_ended(secured):
    slow = socket.create_connection(("127.0.0.1", secured.port), timeout=60)
    wrapped = secured.trusted.wrap_socket(
        socket.create_connection(("127.0.0.1", secured.port), timeout=60), server_hostname="127.0.0.1"
    )
    with slow, wrapped:
        slow.sendall(b"\x16\x03\x01\x02\x00")
        assert read_all(slow) == b"", "closed, in seconds"
        assert read_all(wrapped) == b"", "one that asks nothing too"


def test_an_address_beyond_loopback_with_tls(trained, tmp_path):
    """One that this host does not have: a test listens on loopback alone."""
    own, key = certificate(tmp_path, "own")
    answer = trained("dash", "--host", "192.0.2.1", "--cert", own, "--key", key)
    assert answer.returncode == 4 and "cannot listen at 192.0.2.1" in answer.stderr


def test_certificates_that_cannot_be_used(rtrain, tmp_path):
    own, key = certificate(tmp_path, "own")
    other = certificate(tmp_path, "other")[1]
    text = tmp_path / "text"
    text.write_text("no certificate")
    locked = tmp_path / "locked"
    subprocess.run(
        ["openssl", "pkey", "-in", key, "-aes128", "-passout", "pass:x", "-out", locked],
        check=True,
        capture_output=True,
    )
    for files, words in {
        (own, other): "not that of the certificate",
        (text, key): "no certificate in PEM",
        (own, text): "no private key",
        (own, locked): "password",
    }.items():
        refused(rtrain("dash", "--port", 0, "--cert", files[0], "--key", files[1]), words, str(files[0]))
    refused(rtrain("dash", "--cert", own), "belong together")
    refused(rtrain("dash", "--key", key), "belong together")
    missing = rtrain("dash", "--cert", tmp_path / "none", "--key", key)
    assert missing.returncode == 4 and "none" in missing.stderr


# The token that stays.


def test_a_stored_token_stays_the_same(trained, tmp_path):
    file = tmp_path / "token"
    first = Dash(trained, "--token-file", file)
    assert file.read_text() == first.token + "\n" and file.stat().st_mode & 0o777 == 0o600
    cookie = first.ask(f"/?token={first.token}", token=False).getheader("Set-Cookie").split(";")[0]
    viewer = first.viewer()
    assert first.stop().returncode == 0
    again = Dash(trained, "--token-file", file)
    assert (again.token, again.viewer()) == (first.token, viewer)
    assert again.ask("/api/runs", token=False, Cookie=cookie).status == 200, "an open page goes on"
    assert len({again.token, viewer, cookie.split("=")[1]}) == 3
    assert again.stop().returncode == 0
    file.write_text("of-my-own-choice-and-long-enough-0123456789")
    chosen = Dash(trained, "--token-file", file)
    assert chosen.token == "of-my-own-choice-and-long-enough-0123456789" and chosen.viewer() != viewer
    assert chosen.ask("/api/runs", token=False, Cookie=cookie).status == 401
    assert chosen.stop().returncode == 0


def test_token_files_that_cannot_be_used(rtrain, tmp_path):
    file = tmp_path / "token"
    for text, mode, words in (
        ("short", 0o600, "32"),
        ("x" * 40, 0o644, "chmod 600"),
        ("with spaces " * 4, 0o600, "letters"),
    ):
        file.write_text(text)
        file.chmod(mode)
        answer = rtrain("dash", "--port", 0, "--token-file", file)
        assert answer.returncode in (2, 3, 4) and words in answer.stderr, (words, answer.stderr)
    nowhere = rtrain("dash", "--port", 0, "--token-file", tmp_path / "no" / "token")
    assert nowhere.returncode == 4 and "no/token" in nowhere.stderr


# What the API says.


def test_runs_are_those_of_ls(dash, trained):
    server = dash()
    answer = server.json("/api/runs")
    assert answer["runs"] == trained.json("ls") and answer["total"] == 2
    assert [run["name"] for run in server.json("/api/runs", sort="name", limit=1)["runs"]] == ["one"]
    page = server.json("/api/runs", sort="name", limit=1, offset=1)
    assert [run["name"] for run in page["runs"]] == ["two"] and page["total"] == 2
    assert [run["name"] for run in server.json("/api/runs", limit=1, offset=1)["runs"]] == ["two"]
    assert [run["name"] for run in server.json("/api/runs", where="config.lr > 0.2")["runs"]] == ["one"]
    assert [run["name"] for run in server.json("/api/runs", tag="a&b")["runs"]] == ["two"]
    assert server.json("/api/runs", spark="loss", sort="name")["runs"][0]["spark"] == [0.5, 1.0, 1.5]
    assert server.error("/api/runs?where=nothing%20%3D%201")[0] == 400
    assert server.error("/api/runs?where=1;DROP%20TABLE%20runs")[0] == 400
    assert server.error("/api/runs?limit=-1")[0] == 400
    assert server.error("/api/runs?lmit=1") == (400, "usage")


HUGE = "printf('%900000000d', 1)"
GROWING = "(WITH RECURSIVE n(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM n) SELECT max(length(s)) FROM n) > 0"
MANY = (
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(s) "
    "FROM (SELECT printf('%1000000d', i) AS s FROM n ORDER BY s)) > 0"
)
ENDLESS_FILTER = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n) > 0"


def test_a_filter_takes_a_bounded_part_of_memory_and_time(dash, trained):
    server = dash()
    assert server.json("/api/runs", where=f"{HUGE} > ''")["runs"] == [], "a text above the limit is NULL"
    for where in (GROWING, MANY, ENDLESS_FILTER, f"name LIKE '{'%a' * 2000}'"):
        assert server.error("/api/runs?where=" + urllib.parse.quote(where)) == (400, "usage"), where
    with open(f"/proc/{server.running.pid}/status") as status:
        assert int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) < (512 << 10), "512 MiB"
    for command in (["ls", "--where", GROWING], ["sql", f"SELECT {GROWING}"]):
        refused(trained(*command), "too much memory")
    assert trained.json("ls", "--where", f"{HUGE} > ''") == [] and trained.json("sql", f"SELECT {HUGE} AS text") == [
        {"text": None}
    ]
    assert trained.json("sql", "SELECT length(printf('%100000000d', 1)) AS n") == [{"n": 100000000}], (
        "of one's own machine"
    )


def test_who_asks_a_lot_holds_up_nobody_else(dash):
    server = dash()
    asking = [server.connection() for _ in range(24)]
    with contextlib.ExitStack() as closing:
        for connection in asking:
            closing.callback(connection.close)
            connection.request(
                "GET",
                "/api/runs?where=" + urllib.parse.quote(ENDLESS_FILTER),
                headers={"Authorization": f"Bearer {server.viewer()}"},
            )
        assert server.json("/api/runs")["total"] == 2
        answered = select.select([connection.sock for connection in asking], [], [], 0)[0]
        assert len(answered) < 12, "the other viewer did not wait for them"


def test_a_run_is_that_of_show(dash, trained):
    server = dash()
    answer = server.json("/api/runs/two")
    shown = trained.json("show", "two")
    assert {key: answer[key] for key in shown if key not in ("annotations",)} == {
        key: shown[key] for key in shown if key not in ("annotations",)
    }
    assert [attempt["status"] for attempt in answer["attempts"]] == ["ERRORED", "FINISHED"]
    assert answer["note"] == NASTY and answer["live"] is False
    assert server.json("/api/runs/last")["name"] == "one"
    assert server.error("/api/runs/three") == (404, "not_found")


def test_reports_checkpoints_sources_and_lines(dash, trained):
    server = dash()
    reports = server.json("/api/runs/two/metrics", ranks=1)
    assert reports["rows"] == trained.json("metrics", "two", "--ranks") and reports["total"] == 5
    assert [row["index"] for row in server.json("/api/runs/two/metrics", offset=3, limit=1)["rows"]] == [3]
    every = trained.json("metrics", "two", "--ranks", "--superseded")
    some = server.json("/api/runs/two/metrics", ranks=1, all=1, offset=2, limit=2)
    assert some["rows"] == every[2:4] and some["total"] == len(every)
    assert server.json("/api/runs/two/checkpoints")["checkpoints"] == trained.json("checkpoint", "ls", "two")
    sources = server.json("/api/runs/two/sources")["sources"]
    assert sources[0]["kind"] == "script" and "the first attempt fails" in sources[0]["text"]
    lines = server.json("/api/runs/two/logs")
    assert lines["lines"] == trained.json("logs", "two") and lines["total"] == 2
    first = server.json("/api/runs/two/logs", attempt=1, rank=1, tail=1)
    assert [(line["attempt"], line["rank"]) for line in first["lines"]] == [(1, 1)]
    assert server.json("/api/runs/two/logs", contains="rank 1")["total"] == 1
    compared = server.json("/api/compare", a="one", b="two")
    assert compared["config"]["lr"] == {"a": 0.5, "b": 0.1}
    assert server.json("/api/resources").keys() == trained.json("resources").keys()


def test_a_curve_keeps_every_spike(dash):
    server = dash()
    names = server.json("/api/runs/two/curves")["names"]
    assert {"loss", "signal", "<i>x</i>"} <= set(names)
    whole = server.json("/api/runs/two/curve", name="signal", points=10000)
    assert whole["total"] == 5000 and whole["min"][1234] == 1000 and "max" not in whole
    few = server.json("/api/runs/two/curve", name="signal", points=50)
    assert len(few["steps"]) == 50 and few["counts"] == [100] * 50
    assert max(few["max"]) == 1000 and few["max"].index(1000) == 12
    values = [1000 if step == 1234 else step % 7 for step in range(1200, 1300)]
    assert few["mean"][12] == pytest.approx(sum(values) / 100) and few["min"][12] == 0
    part = server.json("/api/runs/two/curve", name="signal", **{"from": 1230, "to": 1239})
    assert part["steps"] == list(range(1230, 1240))
    assert server.json("/api/runs/two/curve", name="loss", rank=1)["min"] == [1, 0.5, 1 / 3, 0.25, 0.2]


def test_an_answer_that_is_known_is_not_sent_again(dash):
    server = dash()
    answer = server.ask("/api/runs/two/curve?name=signal", Accept_Encoding="gzip")
    plain = server.ask("/api/runs/two/curve?name=signal")
    assert answer.getheader("Content-Encoding") == "gzip" and gzip.decompress(answer.body) == plain.body
    assert len(answer.body) < len(plain.body) / 2
    again = server.ask("/api/runs/two/curve?name=signal", If_None_Match=answer.getheader("ETag"))
    assert again.status == 304 and again.body == b""
    assert server.ask("/api/runs", If_None_Match=answer.getheader("ETag")).status == 200
    head = server.ask("/api/runs", "HEAD")
    assert head.status == 200 and head.body == b"" and int(head.getheader("Content-Length")) > 100
    assert server.ask("/api/runs", "DELETE", "{}", Content_Type="application/json").getheader("Allow") == "GET"


def log_of(trained, rank, attempt=2):
    return trained.run_folder("two") / "logs" / f"attempt-{attempt}" / f"rank-{rank}.log"


def test_a_log_is_sent_whole_or_in_part(dash, trained):
    server = dash()
    path = "/api/runs/two/logs/file?rank=1"
    bytes_of = log_of(trained, 1).read_bytes()
    whole = server.ask(path)
    assert whole.status == 200 and whole.body == bytes_of and whole.getheader("Accept-Ranges") == "bytes"
    assert (
        whole.getheader("Content-Type") == "text/plain; charset=utf-8"
        and whole.getheader("X-Content-Type-Options") == "nosniff"
    )
    tag = whole.getheader("ETag")
    assert tag.startswith('"'), "a strong one"
    size = len(bytes_of)
    assert server.ask("/api/runs/two/logs/file?rank=0&attempt=1").body == log_of(trained, 0, 1).read_bytes()
    for header, begin, end in (
        (f"bytes=0-{size - 1}", 0, size),
        ("bytes=2-5", 2, 6),
        ("bytes=4-", 4, size),
        ("bytes=-3", size - 3, size),
        (f"bytes=-{size + 9}", 0, size),
        (f"bytes=3-{size + 9}", 3, size),
    ):
        part = server.ask(path, Range=header)
        assert part.status == 206 and part.body == bytes_of[begin:end], header
        assert part.getheader("Content-Range") == f"bytes {begin}-{end - 1}/{size}" and part.getheader("ETag") == tag
    for header in (f"bytes={size}-", f"bytes={size + 5}-{size + 9}", "bytes=-0"):
        none = server.ask(path, Range=header)
        assert none.status == 416 and none.body == b"" and none.getheader("Content-Range") == f"bytes */{size}", header
    for header in (
        "bytes=5-2",
        "bytes=",
        "bytes=a-b",
        "bytes=0-1,3-4",
        "lines=1-2",
        "bytes=-",
        f"bytes=0-{'9' * 30}",
        "bytes=1--2",
    ):
        assert server.ask(path, Range=header).status == 200, header
    head = server.ask(path, "HEAD", Range="bytes=2-5")
    assert head.status == 200 and head.body == b"" and head.getheader("Content-Length") == str(size)


def test_a_part_is_of_the_file_that_was_meant(dash, trained):
    server = dash()
    path = "/api/runs/two/logs/file?rank=1"
    tag = server.ask(path).getheader("ETag")
    assert server.ask(path, If_None_Match=tag).status == 304
    assert server.ask(path, If_None_Match=tag, Range="bytes=0-1").status == 304, "before a part is asked for"
    assert server.ask(path, If_Range=tag, Range="bytes=0-1").status == 206
    for other in ('"another"', "W/" + tag, "Sat, 21 Nov 2026 10:00:00 GMT"):
        assert server.ask(path, If_Range=other, Range="bytes=0-1").status == 200, other
    with open(log_of(trained, 1), "ab") as log:
        log.write(b"one more line\n")
    grown = server.ask(path, If_Range=tag, Range="bytes=0-1")
    assert grown.status == 200 and grown.body.endswith(b"one more line\n") and grown.getheader("ETag") != tag


def test_a_log_of_two_parts_is_one_file(dash, trained):
    log = log_of(trained, 1)
    log.with_name(log.name + ".1").write_bytes(b"before\n")
    server = dash()
    whole = b"before\n" + log.read_bytes()
    assert server.ask("/api/runs/two/logs/file?rank=1").body == whole
    assert server.ask("/api/runs/two/logs/file?rank=1", Range="bytes=3-12").body == whole[3:13], "of both"


def test_a_large_file_is_sent_in_pieces(dash, trained):
    """It costs no memory, and another viewer is answered meanwhile."""
    large = 64 << 20
    with open(log_of(trained, 0), "wb") as log:
        log.seek(large - 4)
        log.write(b"end\n")
    server = dash()
    connection = server.connection()
    with contextlib.closing(connection):
        connection.request("GET", "/api/runs/two/logs/file", headers={"Authorization": f"Bearer {server.token}"})
        answer = connection.getresponse()
        answer.read(1 << 20)
        assert server.json("/api/runs")["total"] == 2
        with open(f"/proc/{server.running.pid}/status") as status:
            assert int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) < (64 << 10), "64 MiB"
        rest = answer.read()
        assert len(rest) == large - (1 << 20) and rest.endswith(b"end\n")
        connection.request("GET", "/api/runs", headers={"Authorization": f"Bearer {server.token}"})
        assert connection.getresponse().status == 200, "the connection goes on"


def test_files_are_those_of_the_run(dash, trained):
    folder = trained.run_folder("two") / "profiles"
    folder.mkdir()
    (folder / "2026-attempt-1-rank0.json").write_text('{"traceEvents": []}')
    (folder / "2026-attempt-1-rank0.svg").write_text("<svg onload='alert(1)'/>")
    (folder / "link.json").symlink_to("/etc/passwd")
    (folder / 'a"b.json').write_text("{}")
    (folder / "folder").mkdir()
    server = dash()
    traces = server.json("/api/runs/two/traces")
    assert [trace["name"] for trace in traces["traces"]] == [
        "2026-attempt-1-rank0.svg",
        "2026-attempt-1-rank0.json",
    ] and traces["total"] == 2
    for trace in traces["traces"]:
        answer = server.ask(f"/api/runs/two/traces/file?name={trace['name']}")
        assert answer.status == 200 and len(answer.body) == trace["bytes"]
        assert answer.getheader("Content-Disposition") == f'attachment; filename="{trace["name"]}"', "saved, not shown"
        assert answer.getheader("Content-Type") == "application/octet-stream"
    assert server.ask("/api/runs/two/traces/file?name=2026-attempt-1-rank0.json", Range="bytes=1-5").body == b'"trac'
    for name in ("../logs/attempt-1/rank-0.log", "link.json", "folder", "", ".", "/etc/passwd", "%2e%2e/lock"):
        assert server.error(f"/api/runs/two/traces/file?name={name}") == (404, "not_found"), name
    for query in ("rank=7", "attempt=9", "rank=1&attempt=0"):
        assert server.error(f"/api/runs/two/logs/file?{query}") == (404, "not_found"), query
    assert (
        server.error("/api/runs/two/logs/file?rank=-1")[0]
        == 400
        == server.error("/api/runs/two/logs/file?rank=../x")[0]
    )


def test_nothing_is_read_through_a_link(dash, trained, tmp_path):
    """Whoever may write into the store could make one, and read what the user may who looks."""
    run = trained.run_folder("two")
    (tmp_path / "secret").mkdir()
    for name in ("rank-0.log", "rank-0.times", "stacks.json", "verdict.txt", "x-rank0.memory.json"):
        (tmp_path / "secret" / name).write_text('"the secret"')
    log_of(trained, 1).unlink()
    log_of(trained, 1).symlink_to(tmp_path / "secret/rank-0.log")
    (run / "logs" / "attempt-7").symlink_to(tmp_path / "secret")
    (run / "diag").mkdir(exist_ok=True)
    (run / "diag" / "20261122-015900.123-attempt-1").symlink_to(tmp_path / "secret")
    if (run / "profiles").is_dir():
        shutil.rmtree(run / "profiles")
    (run / "profiles").symlink_to(tmp_path / "secret")
    server = dash()
    assert server.error("/api/runs/two/logs/file?rank=1") == (404, "not_found")
    assert server.error("/api/runs/two/logs/file?rank=0&attempt=7") == (404, "not_found")
    for part in ("logs?rank=1", "logs?attempt=7", "hangs", "memory?rank=0", "traces", "traces/file?name=rank-0.log"):
        assert b"the secret" not in server.ask(f"/api/runs/two/{part}").body, part
    page = trained("export", "two", "--html")
    assert page.returncode == 0 and "the secret" not in page.stdout
    assert "the secret" not in trained("logs", "two", "--all-attempts").stdout


def test_what_large_answers_took_of_memory_is_given_back(dash, trained):
    many_runs(trained, 10_000)
    server = dash()
    for offset in range(0, 5000, 1000):
        assert len(server.json("/api/runs", limit=1000, offset=offset, config=1)["runs"]) == 1000
        assert server.json("/api/runs/two/curve", name="signal", points=10000)["total"] == 5000

    def resident_mib():
        with open(f"/proc/{server.running.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) / 1024

    wait_until(lambda: resident_mib() <= 25, message="25 MiB")


def test_one_connection_serves_many_requests(dash):
    server = dash()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    with contextlib.closing(connection):
        for _ in range(20):
            connection.request("GET", "/api/runs", headers={"Authorization": f"Bearer {server.token}"})
            assert connection.getresponse().read()
            port = connection.sock.getsockname()[1]
        assert port == connection.sock.getsockname()[1]


def test_the_openapi_file_has_the_routes(dash):
    server = dash()
    document = server.json("/openapi.json")
    assert document == json.loads((SOURCE / "web" / "openapi.json").read_text())
    described = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            queries = [each["name"] for each in operation.get("parameters", []) if each.get("in") == "query"]
            described[method.upper(), path] = queries
            assert ("{run}" in path) == any("$ref" in each for each in operation.get("parameters", [])), path
    routes = {(route["method"], route["path"]): route["queries"] for route in server.json("/api/")["routes"]}
    assert described == routes


def test_images_histograms_tables_and_texts(dash, trained):
    server = dash()
    answer = server.json("/api/runs/two/media")
    listed = trained.json("show", "two", "--media")
    assert answer["media"] == [{key: value for key, value in row.items() if key != "path"} for row in listed]
    assert answer["total"] == len(listed) == 12
    samples = [row for row in answer["media"] if row["name"] == "samples"]
    assert server.json("/api/runs/two/media", name="samples", offset=4, limit=9)["media"] == samples[4:]
    for row in answer["media"]:
        content = server.ask(f"/api/runs/two/media/content?hash={row['hash']}")
        assert content.status == 200 and len(content.body) == row["bytes"]
        assert content.getheader("Content-Type") == {"image": "image/png", "text": "text/plain; charset=utf-8"}.get(
            row["kind"], "application/json"
        )
        assert content.getheader("X-Content-Type-Options") == "nosniff"
    assert server.error("/api/runs/two/media/content") == (400, "usage")
    assert server.error("/api/runs/one/media/content?hash=" + answer["media"][-1]["hash"]) == (404, "not_found"), (
        "of another run"
    )


def test_hosts_of_runs(dash, trained):
    trained.run(
        """
        local train = require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function()
            if train.get_context():get_world_rank() == 1 then error('no such flower') end
            while not train.stop_requested() do os.execute 'sleep 0.02' end
          end,
          scaling_config = train.ScalingConfig {num_workers = 2},
        }:fit()""",
        "--name",
        "broken",
        "-q",
    )
    server = dash()
    answer = server.json("/api/nodes")
    assert [node["name"] for node in answer["nodes"]] == ["broken", "one", "two"] and answer["total"] == 3
    broken, one, two = answer["nodes"]
    assert (
        len({node["host"] for node in answer["nodes"]}) == 1
        and two["host"] == server.json("/api/runs/two")["attempts"][-1]["workers"][0]["host"]
    )
    assert two["ranks"] == [0, 1] and two["devices"] == ["cpu"] and two["status"] == "FINISHED"
    assert two["reason"] is None and two["exits"] == [] and one["ranks"] == [0]
    assert "no such flower" in broken["reason"] and 1 in [each["rank"] for each in broken["exits"]]
    assert server.json("/api/nodes", run="two")["nodes"] == [two]
    assert server.json("/api/nodes", offset=1, limit=1)["nodes"] == [one]
    assert server.error("/api/nodes?run=nobody") == (404, "not_found")


def test_notes_tags_and_the_archive(dash, trained):
    server = dash()
    assert server.post("/api/runs/one/tags", {"add": ["x", "y"], "remove": []}).status == 200
    answer = server.post("/api/runs/one/tags", {"add": ["z"], "remove": ["x"]})
    assert json.loads(answer.body)["tags"] == ["y", "z"] == trained.json("show", "one")["tags"]
    assert server.post("/api/runs/one/tags", {"add": [""]}).status == 400
    assert server.post("/api/runs/one/archived", {"archived": True}).status == 200
    assert [run["name"] for run in server.json("/api/runs")["runs"]] == ["two"]
    assert server.json("/api/runs", archived=1)["total"] == 2
    for wrong in ("", "[]", '{"note": 3}', "{"):
        assert server.ask("/api/runs/one/note", "POST", wrong, Content_Type="application/json").status == 400, wrong
    assert server.json("/api/runs/one")["archived"] is True and server.json("/api/runs/two")["archived"] is False


def test_sweeps_are_tags_and_configs(dash, trained):
    server = dash()
    script = trained.script(
        """
        local train = require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function(config) train.report {loss = config.lr * config.width} end,
          train_loop_config = {lr = 0.1, width = 1},
        }:fit()""",
        "swept.lua",
    )
    assert trained("sweep", script, "--grid", "lr=0.1,0.2", "--grid", "width=1,2", "--name", "grid").returncode == 0
    tags = server.json("/api/tags")
    assert [(tag["tag"], tag["runs"]) for tag in tags["tags"]] == [("sweep:grid", 4), ("a&b", 1)] and tags["total"] == 2
    trials = server.json("/api/runs", tag="sweep:grid", config=1)["runs"]
    assert sorted((run["config"]["lr"], run["config"]["width"]) for run in trials) == [
        (0.1, 1),
        (0.1, 2),
        (0.2, 1),
        (0.2, 2),
    ]
    assert all("config" not in run for run in server.json("/api/runs")["runs"])


PIPELINE = """
local data, train = require 'rtrain.data', require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function()
    local rows = 0
    for batch in train.get_dataset_shard('train'):iter_torch_batches {batch_size = 16} do rows = rows + #batch.id end
    train.report {rows = rows}
  end,
  datasets = {train = data.range(640):map(function(row)
    local ends = os.clock() + 0.0005
    while os.clock() < ends do end
    row.id = row.id + 1
    return row
  end)},
  scaling_config = train.ScalingConfig {num_workers = 2},
}:fit()
"""


def test_a_dataset_says_what_its_operators_did(rtrain):
    rtrain.run_ok(PIPELINE, "--name", "piped", "-q")
    server = Dash(rtrain)
    workers = server.json("/api/runs/piped")["attempts"][-1]["workers"]
    for worker in workers:
        times = worker["data"]["train"]
        assert times["wait_s"] > 0 and 0 <= times["stall_percent"] <= 100
        operators = times["operators"]
        assert len(operators) >= 2 and all(
            each.keys() == {"operator", "rows", "bytes", "time_s", "wait_s"} for each in operators
        )
        slowest = max(operators, key=lambda each: each["time_s"])
        assert "map" in slowest["operator"].lower() and slowest["time_s"] >= 0.1
    assert sum(worker["data"]["train"]["operators"][-1]["rows"] for worker in workers) == 640
    assert "data stall" in rtrain("show", "piped").stdout and "operators" not in rtrain("show", "piped").stdout
    assert server.stop().returncode == 0


def test_a_hang_says_who_waited_for_whom(rtrain):
    from test_watchdog import meeting

    rtrain.env.update(RTRAIN_HANG_THRESHOLD_S="2", RTRAIN_BUSY_THRESHOLD_S="3")
    result = rtrain("run", rtrain.script(meeting("local i = 0\n        while true do i = i + 1 end")), "-q")
    assert result.returncode == 6, result.stderr
    server = Dash(rtrain)
    answer = server.json("/api/runs/meeting/hangs")
    hang = answer["hangs"][0]
    assert answer["total"] == server.json("/api/runs/meeting")["hangs"] >= 1
    assert hang["verdict"] and hang["verdict"] in result.stderr and hang["attempt"] == 1
    assert [rank["rank"] for rank in hang["ranks"]] == [0, 1]
    assert any(call["operation"] for call in hang["ranks"][0]["collectives"]) and hang["ranks"][0]["lua"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", hang["time"])
    folder = rtrain.run_folder("meeting") / "diag"
    newest = sorted(folder.iterdir())[-1]
    (newest / "stacks.json").write_text("[{")
    (folder / "something else").mkdir()
    assert server.json("/api/runs/meeting/hangs")["hangs"] == answer["hangs"][1:], "what cannot be read is left out"
    assert server.stop().returncode == 0


# What is asked of a live run.


@pytest.fixture
def endless(rtrain):
    """The run `endless` under way, with operators, and a server."""
    running = rtrain.started("run", rtrain.script(ENDLESS.replace(".barrier()", ".barrier() torch.ones(1)")))
    server = Dash(rtrain)
    server.run = running
    yield server
    assert server.stop().returncode == 0
    running.kill()


def asked(server, name, body):
    answer = server.post(f"/api/runs/endless/{name}", body)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def test_a_run_is_stopped_at_its_next_checkpoint(endless):
    answer = asked(endless, "stop", {})
    assert answer["name"] == "endless" and answer["pid"] == endless.run.pid and answer["grace_s"] > 0
    result = endless.run.wait()
    assert result.returncode == 130
    run = endless.json("/api/runs/endless")
    assert run["status"] == "ABORTED"
    who = f"the dashboard, `rtrain dash` (pid {endless.running.pid})"
    assert any(who in event["text"] for event in run["events"]), run["events"]
    assert run["error"]["message"] == f"stopped by {who}" and f"stopped by {who}" in result.stderr
    assert "the dashboard, `rtrain dash`: the run stops at its next checkpoint" in result.stderr
    late = endless.post("/api/runs/endless/stop", {})
    assert late.status == 400 and b"is over: ABORTED" in late.body


def test_a_run_is_killed_when_that_is_asked_for(endless):
    assert asked(endless, "stop", {"now": True})["grace_s"] == 0
    assert endless.run.wait().returncode == 130
    run = endless.json("/api/runs/endless")
    who = f"the dashboard, `rtrain dash` (pid {endless.running.pid})"
    assert run["error"]["message"] == f"stopped by {who}" and any(who in event["text"] for event in run["events"])


def test_stacks_are_those_of_the_command(endless, rtrain):
    answer = asked(endless, "stack", {})
    assert [rank["rank"] for rank in answer["ranks"]] == [0, 1] and answer["state"] == "RUNNING"
    assert answer.keys() == json.loads(rtrain("stack", "endless", "--json").stdout).keys()
    for rank in answer["ranks"]:
        assert "train.lua:" in rank["text"] and f"rank {rank['rank']}" in rank["text"]
    one = asked(endless, "stack", {"rank": 1, "native": True})["ranks"]
    assert [rank["rank"] for rank in one] == [1] and len(one[0]["text"]) > len(answer["ranks"][1]["text"])


def test_profiles_are_recorded(endless):
    answer = asked(endless, "profile", {"rank": 1, "seconds": 0.2})
    assert [profile["rank"] for profile in answer["profiles"]] == [1]
    assert json.load(open(answer["profiles"][0]["path"]))["traceEvents"]


def test_the_memory_of_a_rank_is_that_of_the_newest_profile(endless, rtrain):
    assert endless.json("/api/runs/endless/memory?rank=1")["profile"] is None
    answer = asked(endless, "profile", {"rank": 1, "seconds": 0.2, "memory": True})
    path = answer["profiles"][0]["path"]
    assert path.endswith("-rank1.memory.json") and endless.json("/api/runs/endless/memory?rank=1")[
        "profile"
    ] == json.load(open(path))
    later = json.loads(rtrain("profile", "endless", "--memory", "--rank", "1", "--duration", "0.1", "--json").stdout)[
        "memory"
    ]
    assert [endless.json("/api/runs/endless/memory?rank=1")["profile"]] == later
    assert endless.json("/api/runs/endless/memory")["profile"] is None


def test_wrong_requests_to_a_live_run_say_what_is_wrong(endless):
    wrong = [
        ("stack", {"rank": 7}, "rank"),
        ("stack", {"rank": -1}, "rank"),
        ("stack", {"rnk": 1}, "did you mean"),
        ("profile", {"seconds": 0}, "seconds"),
        ("profile", {"seconds": 1e9}, "seconds"),
        ("profile", {"seconds": "1"}, "number"),
        ("profile", {"rank": 9}, "rank"),
        ("stop", {"now": 1}, "boolean"),
        ("stop", {"nwo": True}, "did you mean"),
    ]
    for name, body, text in wrong:
        answer = endless.post(f"/api/runs/endless/{name}", body)
        assert answer.status == 400 and text in answer.body.decode(), (name, body, answer.body)
    assert endless.post("/api/runs/nobody/stop", {}).status == 404
    assert endless.json("/api/runs/endless")["live"] is True


def test_a_long_recording_holds_up_nobody(endless):
    """Neither other requests, nor the end of the server."""
    body = json.dumps({"rank": 0, "seconds": 60})
    connections = []
    for _ in range(4):  # the first one records, the others get that answer
        connections.append(http.client.HTTPConnection("127.0.0.1", endless.port, timeout=60))
        connections[-1].request(
            "POST",
            "/api/runs/endless/profile",
            body=body,
            headers={"Authorization": f"Bearer {endless.token}", "Content-Type": "application/json"},
        )
    for _ in range(20):
        assert endless.json("/api/runs")["total"] == 1
    assert asked(endless, "stack", {"rank": 0})["ranks"]
    assert endless.stop().returncode == 0
    for each in connections:
        each.close()


# What is live.


def test_a_run_is_followed_as_it_goes_on(rtrain):
    from test_watch import Stepped

    server = Dash(rtrain)
    assert server.json("/api/runs") == {"runs": [], "total": 0, "offset": 0, "limit": 100, "problems": []}
    run = Stepped(rtrain, "live")
    with server.events("/api/runs/live/events") as events, server.events("/api/events") as others:
        name, runs = next(events)
        assert name == "runs" and runs[0]["reports"] == 1 and len(runs[0]["ranks"]) == 2
        assert next(others)[1][0]["name"] == "live"
        run.go_to(3)
        while runs[0]["reports"] < 3 or runs[0]["logged"].get("speed") != 6:
            name, runs = next(events)
        assert runs[0]["metrics"]["loss"] == pytest.approx(1 / 3)
        run.go_to(-1)
        assert [runs[0]["status"] for _, runs in events][-1] == "FINISHED", "the stream ends with the run"
    assert run.running.wait().returncode == 0
    with server.events("/api/runs/live/logs/events") as lines:
        assert list(lines) == [("end", {})]
    assert server.stop().returncode == 0


def test_streams_of_a_run_that_was_removed_end(rtrain):
    """Also where it has ended and was removed before anybody looked."""
    from test_watch import Stepped

    server = Dash(rtrain)
    run = Stepped(rtrain, "live")
    with server.events("/api/runs/live/events") as events, server.events("/api/runs/live/logs/events") as lines:
        assert next(events)[1][0]["name"] == "live"
        server.running.send(signal.SIGSTOP)
        run.go_to(-1)
        assert run.running.wait().returncode == 0
        assert rtrain("rm", "live", "--yes").returncode == 0
        server.running.send(signal.SIGCONT)
        [*_, (name, told)] = events
        assert name == "error" and ("just removed" in told["message"] or "no run" in told["message"]), told
        assert list(lines)[-1][0] in ("end", "error")
    with server.events("/api/events"):
        assert server.json("/api/runs")["total"] == 0
    assert server.stop().returncode == 0


def test_lines_are_followed(rtrain):
    server = Dash(rtrain)
    running = rtrain.started(
        "run",
        rtrain.script("""
        local train = require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function()
            print 'first'
            train.report {loss = 1}
            while not train.stop_requested() do os.execute 'sleep 0.02' end
            print 'last'
          end,
          scaling_config = train.ScalingConfig {num_workers = 2},
        }:fit()"""),
        "--name",
        "talks",
        "-q",
    )
    with server.events("/api/runs/talks/logs/events?rank=1") as events:
        name, lines = next(events)
        assert name == "lines" and [(line["rank"], line["line"]) for line in lines] == [(1, "first")]
        rtrain("stop", "talks")
        rest = list(events)
    assert rest[0][1][0]["line"] == "last" and rest[-1] == ("end", {})
    running.wait()
    assert server.stop().returncode == 0


def test_viewers_that_leave_leave_nothing(dash):
    server = dash()
    server.json("/api/runs")
    before = descriptors(server)
    for _ in range(30):
        with server.events("/api/events"):
            pass
    wait_until(lambda: descriptors(server) <= before, message="closed connections")


# For Prometheus.


def test_metrics_for_collectors(dash):
    server = dash()
    answer = server.ask("/metrics")
    assert answer.getheader("Content-Type").startswith("application/openmetrics-text; version=1.0.0")
    text = answer.body.decode()
    assert text.endswith("# EOF\n") and 'rtrain_runs{status="FINISHED"} 2' in text
    families, current = set(), None
    for line in text.splitlines()[:-1]:
        if found := re.fullmatch(r"# (TYPE|UNIT|HELP) (\w+) (.+)", line):
            if found[1] == "TYPE":
                assert found[2] not in families, "a family stands in one place"
                families.add(current := found[2])
            assert found[2] == current
        else:
            assert re.fullmatch(
                rf'{current}(\{{\w+="(?:[^"\\]|\\.)*"(,\w+="(?:[^"\\]|\\.)*")*\}})? (NaN|[+-]Inf|[-+.e\d]+)', line
            ), line


@pytest.fixture
def families():
    """Of a server, as a parser of Prometheus reads them: {name: [sample, …]}."""
    parser = pytest.importorskip(
        "prometheus_client.openmetrics.parser", reason="no prometheus-client: scripts/setup --oracle installs it"
    )

    def read(server):
        text = server.ask("/metrics").body.decode()
        return {family.name: family.samples for family in parser.text_string_to_metric_families(text)}

    return read


def test_metrics_are_open_metrics_to_prometheus(rtrain, families):
    from test_watch import Stepped

    server = Dash(rtrain)
    run = Stepped(rtrain, 'quo"ted')

    def logged():
        return any(sample.labels["metric"] == "speed" for sample in families(server)["rtrain_metric"])

    wait_until(logged, message="what was logged")
    read = families(server)
    assert read["rtrain_run_reports"][0].labels == {"run": 'quo"ted'} and read["rtrain_run_reports"][0].value >= 1
    values = {sample.labels["metric"]: sample.value for sample in read["rtrain_metric"]}
    assert values["loss"] == 1 and values["speed"] == 2
    assert {sample.labels["rank"] for sample in read["rtrain_rank_memory_bytes"]} <= {"0", "1"}
    assert {sample.labels["kind"] for sample in read["rtrain_host_cores"]} == {"host", "offered", "free"}
    counts = {sample.labels["status"]: sample.value for sample in read["rtrain_runs"]}
    assert counts["RUNNING"] == 1 and counts["ERRORED"] == counts["LOST"] == 0, "an alert sees the first one too"
    run.end()
    assert server.stop().returncode == 0


# Names of PromQL; a word that follows one of them is not a series.
WORDS = {"delta", "deriv", "and", "on", "instance", "max_over_time", "min_over_time", "predict_linear", "label_values"}


def series_of(query):
    """The names of series in a query, without what stands in braces, ranges and quotes."""
    plain = re.sub(r'"[^"]*"|\{[^}]*\}|\[[^\]]*\]|, \w+\)', " ", query)
    return set(re.findall(r"[a-z_]\w*", plain)) - WORDS


def labels_of(query):
    return {label for braces in re.findall(r"\{([^}]*)\}", query) for label in re.findall(r'(\w+)=~?"', braces)} - {
        "job"
    }


def test_what_grafana_and_prometheus_ask_for_is_there(dash, families):
    yaml = pytest.importorskip("yaml", reason="no PyYAML: scripts/setup --oracle installs it")
    folder = SOURCE / "examples" / "monitoring"
    board = json.loads((folder / "grafana.json").read_text())
    rules = yaml.safe_load((folder / "alerts.yaml").read_text())["groups"][0]["rules"]
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    queries += [variable["query"] for variable in board["templating"]["list"] if variable["type"] == "query"]
    queries += [rule["expr"] for rule in rules]
    known = families(dash())
    for query in queries:
        assert series_of(query) and series_of(query) <= known.keys(), query
        assert labels_of(query) <= {"status", "run", "metric", "kind", "rank", "host"}, query
    assert {name for query in queries for name in series_of(query)} == known.keys(), "all of them are shown"
    # What Grafana needs of a dashboard: panels with numbers of their own, within 24 columns, that do not overlap.
    assert board["schemaVersion"] >= 36 and board["uid"] and board["title"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    places = [
        (x, y)
        for panel in board["panels"]
        for grid in [panel["gridPos"]]
        for x in range(grid["x"], grid["x"] + grid["w"])
        for y in range(grid["y"], grid["y"] + grid["h"])
    ]
    assert len(places) == len(set(places)) and max(x for x, _ in places) < 24
    assert all(panel["type"] in ("stat", "timeseries") and panel["targets"] for panel in board["panels"])
    for rule in rules:
        assert rule["alert"].startswith("Rtrain") and rule["annotations"]["summary"] and rule["labels"]["severity"]
    scrape = yaml.safe_load((folder / "prometheus.yaml").read_text())
    assert scrape["rule_files"] == ["alerts.yaml"] and scrape["scrape_configs"][0]["job_name"] == "rtrain"


def test_metrics_do_without_the_leases_of_the_host(dash, trained):
    trained.runtime.chmod(0o755)  # of which rtrain uses none that others can open
    server = dash()
    text = server.ask("/metrics").body.decode()
    assert "rtrain_host_cores" not in text and 'rtrain_runs{status="FINISHED"} 2' in text
    assert server.error("/api/resources")[0] == 503
