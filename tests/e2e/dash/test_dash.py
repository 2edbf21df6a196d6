"""The API of rtrain dash, without a browser: tests/browser tests the pages."""

import contextlib
import gzip
import http.client
import json
import re
import select
import shutil
import urllib.parse

import pytest

from conftest import nightly, refused, wait_until
from dash_server import NASTY, Dash, dash, many_runs, results  # noqa: F401  (fixtures)


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
COUNTS = "printf('%.*c', 900000000, 'x') > ''"
GROWING = "(WITH RECURSIVE n(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM n) SELECT max(length(s)) FROM n) > 0"
MANY = (
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(s) "
    "FROM (SELECT hex(zeroblob(500000)) || i AS s FROM n ORDER BY s)) > 0"
)
ENDLESS_FILTER = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n) > 0"


@nightly
def test_a_filter_takes_a_bounded_part_of_memory_and_time(dash, trained):
    server = dash()
    for where in (COUNTS, GROWING, MANY, ENDLESS_FILTER, f"name LIKE '{'%a' * 2000}'"):
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
    """Sending the file uses little memory, and another viewer gets answers meanwhile."""
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
    """A user who may only write into the store could create a link and read the files of the user who runs the
    server."""
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


def test_the_openapi_document_has_the_routes(dash):
    server = dash()
    document = server.json("/openapi.json")
    described = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            queries = [each["name"] for each in operation.get("parameters", []) if each.get("in") == "query"]
            described[method.upper(), path] = queries
            assert ("{run}" in path) == any("$ref" in each for each in operation.get("parameters", [])), path
            assert ("requestBody" in operation) == (method == "post"), path
            assert operation["summary"] and operation["responses"]["200"]["description"], path
    routes = {(route["method"], route["path"]): route["queries"] for route in server.json("/api/")["routes"]}
    assert described == routes
    for name in re.findall(r'"\$ref": "#/components/([^"]+)"', json.dumps(document)):
        kind, part = name.split("/")
        assert part in document["components"][kind], name


def test_a_body_has_the_fields_of_the_openapi_document_alone(dash, trained):
    server = dash()
    paths = server.json("/openapi.json")["paths"]
    posts = {path: methods["post"]["requestBody"] for path, methods in paths.items() if "post" in methods}
    assert len(posts) == 8
    for path, body in posts.items():
        assert body["content"]["application/json"]["schema"]["additionalProperties"] is False
        answer = server.post(path.replace("{run}", "one"), {"nothing": 1})
        assert answer.status == 400 and b"the body has no 'nothing'" in answer.body, path


def test_nodes_of_runs(dash, trained):
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
