"""rtrain dash: requests about a live run, and streams that follow it."""

import http.client
import json
import signal

import pytest

from conftest import ENDLESS, wait_until
from dash_server import Dash, dash, descriptors, results  # noqa: F401  (fixtures)


@pytest.fixture
def endless(rtrain):
    """The run `endless`, which is running and uses operators, and a server."""
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
    """The recording delays neither other requests nor the shutdown of the server."""
    body = json.dumps({"rank": 0, "seconds": 60})
    connections = []
    for _ in range(4):  # the first request makes the recording
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


# Streams that follow a run.


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
    """A stream also ends if the run has ended and was removed before the server looked again."""
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
