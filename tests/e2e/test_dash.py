"""rtrain dash: the server, who may ask it, and its API. No browser: tests/browser has the pages."""

import contextlib
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import urllib.parse

import pytest
from conftest import SOURCE, Rtrain, refused, wait_until

NASTY = "<script>alert(1)</script>"

# A run of two attempts with checkpoints, series, annotations and lines that would be HTML.
SCRIPT = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config)
    local rank = train.get_context():get_world_rank()
    print('hello from rank ' .. rank .. ' <script>alert(1)</script>')
    train.annotate('<b>look</b>', {severity = 'warning'})
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

    def __init__(self, rtrain, *args):
        self.running = rtrain.start("dash", "--port", 0, *args)
        address = wait_until(lambda: self.running.stdout.strip() or not self.running.running, message="the address")
        assert address is not True, self.running.stderr
        self.url = urllib.parse.urlsplit(address)
        self.token = urllib.parse.parse_qs(self.url.query)["token"][0]
        self.port, self.host = self.url.port, self.url.netloc
        self.base = self.url.path.rstrip("/")

    def ask(self, path, method="GET", body=None, token=True, timeout=60, **headers):
        """The answer, with its body in `.body`. Names of headers have _ for -."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
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
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
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
    runner.run_ok("""
        local train = require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function(config) for i = 1, 3 do train.report {loss = i * config.lr} end end,
          train_loop_config = {lr = 0.5},
        }:fit()""", "--name", "one", "-q")
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
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{server.port + 1}", f"http://localhost:{server.port}"):
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
    assert trained.json("note", "one")["note"] == ""
    assert server.post(note, {"note": "mine"}, token=False, Cookie=cookie, Origin=own).status == 200
    assert trained.json("note", "one")["note"] == "mine"
    assert server.post(note, {"note": "by hand"}).status == 200


def test_read_only_changes_nothing(dash, trained):
    server = dash("--read-only")
    assert server.error("/api/runs/one/note", method="POST", body="{}", Content_Type="application/json") == (403, "read_only")
    assert server.json("/api/runs")["total"] == 2
    assert trained.json("note", "one")["note"] == ""


def test_only_loopback(rtrain):
    refused(rtrain("dash", "--host", "0.0.0.0"), "TLS", "ssh -L")
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
    for path in ("/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/rtrain.db", "/rtrain.db", "/secret.txt", "//etc/passwd",
                 "/api/runs/..", "/api/runs/..%2f..%2fetc", "/api/runs/%2e%2e/logs", "/api/runs/one%2f..%2f/logs", "/one/lock",
                 "/api/runs/one/../two", "/web/index.html", "/index.html"):
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
    for text in ("\r\n\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                 "GET / HTTP/1.0\r\n\r\n", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
                 f"GET / HTTP/1.1\r\nHost: {server.host}\r\nHost: evil.example\r\n\r\n",
                 f"POST / HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
                 f"POST / HTTP/1.1\r\nHost: {server.host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                 f"POST / HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                 f"GET / HTTP/1.1\r\nHost: {server.host}\r\nA b: c\r\n\r\n"):
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


def test_a_run_is_that_of_show(dash, trained):
    server = dash()
    answer = server.json("/api/runs/two")
    shown = trained.json("show", "two")
    assert {key: answer[key] for key in shown if key not in ("annotations",)} == \
           {key: shown[key] for key in shown if key not in ("annotations",)}
    assert [attempt["status"] for attempt in answer["attempts"]] == ["ERRORED", "FINISHED"]
    assert answer["note"] == NASTY and answer["live"] is False
    assert server.json("/api/runs/last")["name"] == "one"
    assert server.error("/api/runs/three") == (404, "not_found")


def test_reports_checkpoints_sources_and_lines(dash, trained):
    server = dash()
    reports = server.json("/api/runs/two/metrics", ranks=1)
    assert reports["rows"] == trained.json("metrics", "two", "--ranks") and reports["total"] == 5
    assert [row["index"] for row in server.json("/api/runs/two/metrics", offset=3, limit=1)["rows"]] == [3]
    every = trained.json("metrics", "two", "--ranks", "--all")
    some = server.json("/api/runs/two/metrics", ranks=1, all=1, offset=2, limit=2)
    assert some["rows"] == every[2:4] and some["total"] == len(every)
    assert server.json("/api/runs/two/checkpoints")["checkpoints"] == trained.json("checkpoints", "two")
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


def test_notes_tags_and_the_archive(dash, trained):
    server = dash()
    assert server.post("/api/runs/one/tags", {"add": ["x", "y"], "remove": []}).status == 200
    answer = server.post("/api/runs/one/tags", {"add": ["z"], "remove": ["x"]})
    assert json.loads(answer.body)["tags"] == ["y", "z"] == trained.json("tag", "one")["tags"]
    assert server.post("/api/runs/one/tags", {"add": [""]}).status == 400
    assert server.post("/api/runs/one/archived", {"archived": True}).status == 200
    assert [run["name"] for run in server.json("/api/runs")["runs"]] == ["two"]
    assert server.json("/api/runs", archived=1)["total"] == 2
    for wrong in ("", "[]", '{"note": 3}', "{"):
        assert server.ask("/api/runs/one/note", "POST", wrong, Content_Type="application/json").status == 400, wrong


# What is live.


def test_a_run_is_followed_as_it_goes_on(rtrain):
    from test_watch import Stepped

    server = Dash(rtrain)
    assert server.json("/api/runs") == {"runs": [], "total": 0, "offset": 0, "limit": 100}
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


def test_lines_are_followed(rtrain):
    server = Dash(rtrain)
    running = rtrain.started("run", rtrain.script("""
        local train = require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function()
            print 'first'
            train.report {loss = 1}
            while not train.stop_requested() do os.execute 'sleep 0.02' end
            print 'last'
          end,
          scaling_config = train.ScalingConfig {num_workers = 2},
        }:fit()"""), "--name", "talks", "-q")
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
            assert re.fullmatch(rf'{current}(\{{\w+="(?:[^"\\]|\\.)*"(,\w+="(?:[^"\\]|\\.)*")*\}})? (NaN|[+-]Inf|[-+.e\d]+)', line), line


def test_metrics_do_without_the_leases_of_the_host(dash, trained):
    trained.runtime.chmod(0o755)  # of which rtrain uses none that others can open
    server = dash()
    text = server.ask("/metrics").body.decode()
    assert "rtrain_host_cores" not in text and 'rtrain_runs{status="FINISHED"} 2' in text
    assert server.error("/api/resources")[0] == 503
