"""rtrain launch --status-endpoint: posts in Kubeflow's status protocol (KEP-2779) become reports of the run."""

import json
import sys
import textwrap

import pytest

from conftest import wait_until

# Posts like the callback of transformers: only rank 0 posts, if it finds the environment variables.
POSTS = """
    import json, os, sys, urllib.error, urllib.request

    RANK = int(os.environ["RANK"])
    URL = os.environ.get("KUBEFLOW_TRAINER_SERVER_URL")

    def send(data, token=None, url=URL, method="POST"):
        token = token or open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read().strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())["error"]["message"]

    def post(percent, metrics, remaining=None):
        status = {"lastUpdatedTime": "2026-11-27T01:00:00+00:00", "progressPercentage": percent}
        status["metrics"] = [{"name": name, "value": str(value)} for name, value in metrics.items()]
        if remaining is not None:
            status["estimatedRemainingSeconds"] = remaining
        return send(json.dumps({"trainerStatus": status}).encode())

"""


@pytest.fixture
def python(rtrain):
    """Writes a script that posts its status; the Python of these tests runs it."""
    rtrain.env["RTRAIN_PYTHON"] = sys.executable
    return lambda text: rtrain.script(textwrap.dedent(POSTS) + textwrap.dedent(text), "train.py")


def launched(rtrain, *args):
    result = rtrain("launch", "--status-endpoint", "--name", "run", *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def test_what_rank_0_posts_are_the_runs_reports(rtrain, python):
    """Rank 0 makes more reports than a rank may be ahead of the others. An endpoint that the environment names is not
    used."""
    rtrain.env.update(
        KUBEFLOW_TRAINER_SERVER_URL="https://127.0.0.1:1/status", KUBEFLOW_TRAINER_SERVER_CA_CERT="/nowhere"
    )
    script = python("""
        assert "KUBEFLOW_TRAINER_SERVER_CA_CERT" not in os.environ
        if RANK > 0:
            assert URL is None
            sys.exit(0)
        assert URL.startswith("http://127.0.0.1:") and os.environ["KUBEFLOW_TRAINER_STATUS_URL"] == URL
        assert post(0, {"total_steps": 1500}) == 200
        for step in range(1, 1500):
            assert post(int(step / 15), {"loss": 1 / step, "learning_rate": 1e-05, "epoch": "one"}, 1500 - step) == 200
        assert post(100, {"loss": float("nan"), "train_loss": float("inf")}, 0) == 200
    """)
    launched(rtrain, "-n", "3", script)
    reports = rtrain.reports("run")
    assert len(reports) == 1501
    assert reports[0] == {"total_steps": 1500, "progress": 0}
    assert reports[3] == {"loss": 1 / 3, "learning_rate": 1e-05, "epoch": "one", "progress": 0, "remaining_s": 1497}
    assert reports[750]["progress"] == 0.5
    assert list(reports[3]) == ["loss", "learning_rate", "epoch", "progress", "remaining_s"]
    assert rtrain.query("SELECT rank, count(*) FROM reports GROUP BY rank") == [(0, 1501)]
    assert rtrain.query("SELECT nonfinite FROM reports WHERE idx = 1500") == [
        ('{"loss":"NaN","train_loss":"Infinity"}',)
    ]
    rtrain.wait_for_processes()


def test_what_is_not_a_status_is_refused(rtrain, python):
    script = python("""
        def refused(status, part, *args, **options):
            code, message = send(*args, **options)
            assert code == status and part in message, (code, message)

        def wrong(part, body):
            refused(400, part, body if isinstance(body, bytes) else json.dumps(body).encode())

        good = json.dumps({"trainerStatus": {"progressPercentage": 1}}).encode()
        refused(401, "KUBEFLOW_TRAINER_SERVER_TOKEN", good, token="0" * 32)
        token = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read()
        refused(401, "KUBEFLOW_TRAINER_SERVER_TOKEN", good, token=token + "0")
        refused(404, "a status is posted to /apis/", good, url=URL + "/more")
        refused(405, "posted", None, method="GET")
        refused(413, "a body 65536", b" " * 70000)
        wrong("JSON", b'{"trainerStatus": {')
        wrong("a status is", 7)
        wrong("trainerStatus is not an object", {"trainerStatus": 7})
        wrong("progressPercentage is 101: expected an integer from 0 to 100", {"trainerStatus": {"progressPercentage": 101}})
        wrong("progressPercentage is 1.5", {"trainerStatus": {"progressPercentage": 1.5}})
        wrong("estimatedRemainingSeconds is -1: expected an integer from 0 on",
              {"trainerStatus": {"estimatedRemainingSeconds": -1}})
        wrong('metrics[1] is not {"name": string, "value": string}',
              {"trainerStatus": {"metrics": [{"name": "a", "value": "1"}, {"name": "loss", "value": 0.5}]}})
        wrong("has 257 metrics", {"trainerStatus": {"metrics": [{"name": "a", "value": "1"}] * 257}})
        wrong("levels", b'{"trainerStatus":' * 200)
        assert send(b'{"trainerStatus": {"progressPercentage": null, "metrics": null}}') == 200
        assert send(b"{}") == 200 and send(b'{"trainerStatus": {}}') == 200  # says nothing
        assert send(good) == 200
    """)
    launched(rtrain, script)
    assert rtrain.reports("run") == [{"progress": 0.01}]


STEPS = """
    import signal, time
    state = sys.argv[1]
    def done():
        return int(open(state).read()) if os.path.exists(state) else -1

    while RANK > 0 and done() < 5:
        time.sleep(0.05)
    first = done() + 1
    for step in range(first, 6):
        assert post(step * 20, {"step": step, "first": first}) == 200
        with open(state + ".part", "w") as file:
            file.write(str(step))
        os.replace(state + ".part", state)
        while "--wait" in sys.argv and step == 2 and first == 0:
            time.sleep(0.05)
        if step == 2 and first == 0 and "--die" in sys.argv:
            os.kill(os.getpid(), signal.SIGKILL)
"""


BOTH_ATTEMPTS = [(0, 0), (1, 0), (2, 0), (3, 3), (4, 3), (5, 3)]


# fault: SIGKILL of a program that posts its status
def test_a_killed_program_posts_again(rtrain, python, tmp_path):
    launched(rtrain, "-n", "2", "--max-failures", "1", python(STEPS), tmp_path / "state", "--die")
    assert rtrain.statuses("run") == ["ERRORED", "FINISHED"]
    assert sorted((row["step"], row["first"]) for row in rtrain.reports("run", "--all")) == BOTH_ATTEMPTS


def test_a_run_that_was_killed_goes_on(rtrain, python, tmp_path):
    args = ["-n", "2", "--status-endpoint", "--name", "run"]
    script = python(STEPS)
    running = rtrain.started("launch", *args, script, tmp_path / "state", "--wait", reports=3)
    wait_until(
        lambda: (tmp_path / "state").exists() and (tmp_path / "state").read_text() == "2", message="the third step"
    )
    running.kill()
    rtrain.wait_for_processes()
    result = rtrain("launch", *args, "--resume", "auto", script, tmp_path / "state")
    assert result.returncode == 0, result.stderr
    assert sorted((row["step"], row["first"]) for row in rtrain.reports("run", "--all")) == BOTH_ATTEMPTS


def test_report_and_the_endpoint_do_not_mix(rtrain, python):
    script = python("""
        import rtrain.train as train
        train.log({"seen": 1}, step=1)
        train.report({"loss": 1})
    """)
    result = rtrain("launch", "--status-endpoint", "--name", "run", script)
    assert result.returncode == 1 and "what rank 0 posts to its status endpoint (--status-endpoint)" in result.stderr


def test_without_the_option_there_is_no_endpoint(rtrain, python):
    assert rtrain("launch", python("assert URL is None")).returncode == 0


def test_a_trainer_has_the_option(rtrain, python):
    script = python("""
        if RANK == 0:
            assert post(50, {"loss": 0.5}) == 200
    """)
    result = rtrain.run_ok(f"""
        local train = require 'rtrain'
        local result = train.ProgramTrainer({{
          command = {{{json.dumps(sys.executable)}, {json.dumps(str(script))}}},
          status_endpoint = true,
          scaling_config = train.ScalingConfig {{num_workers = 2}},
        }}):fit()
        print(result.metrics.loss, result.metrics.progress)
    """)
    assert "0.5\t0.5" in result.stdout
    result = rtrain.run("require('rtrain').ProgramTrainer({command = {'true'}, status_endpoint = 'yes'})")
    assert "status_endpoint is a string, expected true or false" in result.stderr


def test_a_sweep_stops_a_trial_that_posts(rtrain, python):
    """Each trial has one worker: with more, the scheduler would wait for ranks that report nothing."""
    script = python("""
        for step in range(9):
            post(step, {"loss": float(os.environ["LOSS"]) + 1 / (step + 1)})
    """)
    text = f"""
        local train = require 'rtrain'
        local grid = train.Tuner({{
          trainer = train.ProgramTrainer {{
            command = {{{json.dumps(sys.executable)}, {json.dumps(str(script))}}},
            status_endpoint = true,
            scaling_config = train.ScalingConfig {{num_workers = tonumber(arg[1])}},
          }},
          param_space = {{train_loop_config = {{env = train.tune.grid_search {{{{LOSS = '1'}}, {{LOSS = '9'}}}}}}}},
          tune_config = train.tune.TuneConfig {{
            metric = 'loss', mode = 'min', max_concurrent_trials = 1,
            scheduler = train.tune.schedulers.ASHAScheduler {{max_t = 9, grace_period = 3}},
          }},
        }}):fit()
        for i = 1, #grid do print('reports', i, #grid[i].metrics_dataframe) end
    """
    result = rtrain.run(text, "--", "1")
    assert "reports\t1\t9\nreports\t2\t3\n" in result.stdout, result.stdout + result.stderr
    result = rtrain.run(text, "--", "2")
    assert "only rank 0 reports, and the scheduler of this sweep needs all 2 ranks to" in result.stderr, result.stderr


ATTACKS = """
    import socket, threading, time
    from urllib.parse import urlparse

    ADDRESS = (urlparse(URL).hostname, urlparse(URL).port)
    PATH = urlparse(URL).path
    TOKEN = open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]).read().strip()

    def request(body, *headers, method="POST", target=PATH, version="1.1"):
        lines = [f"{method} {target} HTTP/{version}", "Host: x", f"Authorization: Bearer {TOKEN}", *headers]
        lines.append(f"Content-Length: {len(body)}")
        return ("\\r\\n".join(lines) + "\\r\\n\\r\\n").encode() + body

    def connect():
        peer = socket.create_connection(ADDRESS, timeout=30)
        return peer

    def answer(data, wait_for=b"HTTP/1.1 "):
        with connect() as peer:
            try:
                peer.sendall(data)
                received = b""
                while more := peer.recv(65536):
                    received += more
            except ConnectionResetError:
                pass
            return received

    def body_of(step):
        metrics = [{"name": "step", "value": str(step)}]
        return json.dumps({"trainerStatus": {"metrics": metrics}}).encode()

"""


# fault: hostile clients of a status endpoint
def test_clients_that_mean_harm_disturb_nobody(rtrain, python):
    """Slow clients, floods, endless headers, pipelined requests: each connection gets an answer or is closed."""
    script = python(
        textwrap.dedent(ATTACKS)
        + textwrap.dedent("""
        close = "Connection: close"
        for status, data in [
            (431, request(b"", "X: " + "x" * 100000)), (431, request(b"", *["X: y"] * 101)), (431, b"GET /" + b"x" * 100000),
            (400, b"\\x00" * 100 + b"\\r\\n\\r\\n"),
            (400, b"\\x16\\x03\\x01\\x02\\x00\\x01" * 20 + b"\\r\\n\\r\\n"),
            (405, request(b"", close, method="GET")),
            (405, request(b"", close, method="DELETE")), (404, request(b"", close, target="/")),
            (400, request(b"0\\r\\n\\r\\n", "Transfer-Encoding: chunked")), (400, request(b"", version="1.0")),
            (400, request(b"", "Host: other")), (413, request(b"", close).replace(b"Length: 0", b"Length: 99999999999")),
            (400, request(b"", close).replace(b"Length: 0", b"Length: -1")),
            (400, request(b"", close).replace(b"Length: 0", b"Length: 99999999999999999999999")),
            (401, request(b"", close).replace(TOKEN.encode(), b"x" * 5000)),
        ]:
            received = answer(data)
            assert received.startswith(f"HTTP/1.1 {status} ".encode()), (status, data[:80], received[:200])

        # More than it takes at a time, and they only wait; some say a byte now and then.
        idle = [connect() for _ in range(60)]
        assert post(1, {"step": 0}) == 200
        slow = connect()
        begun = time.monotonic()
        try:
            for byte in request(b""):
                slow.sendall(bytes([byte]))
                time.sleep(0.1)
            slow.recv(100)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert time.monotonic() - begun < 15
        assert post(2, {"step": 1}) == 200

        # Ten in one piece, each answered, in their order.
        received = answer(b"".join(request(body_of(step)) for step in range(2, 11)) + request(body_of(11), close))
        assert received.count(b"HTTP/1.1 200 ") == 10, received

        # Nobody waits for the answer: what is accepted is a report, the rest is refused, and nothing piles up.
        for round in range(40):
            peers = [connect() for _ in range(10)]
            for peer in peers:
                peer.sendall(request(body_of(12) + b" " * 60000))
            for peer in peers:
                peer.close()
        assert post(100, {"step": 13}) == 200
    """)
    )
    launched(rtrain, script)
    steps = [report["step"] for report in rtrain.reports("run") if "step" in report]
    assert steps[:12] == list(range(12)) and 13 in steps and set(steps[12:]) <= {12, 13}
