"""Pages of `rtrain dash` compared with TensorBoard, Trackio, MLflow and Aim over the same runs in a real browser; the
cost of viewers.
"""

import contextlib
import os
import pathlib
import selectors
import statistics
import subprocess
import sys
import tempfile
import time

from harness import sides
from harness.benchmark import OWN, BenchError, Benchmark, Goal, Metric, Skipped
from harness.dashboard import Asker, Server, browser_of, cpu_s, free_port, wait_until
from harness.job import Job

NAME = "dash"
RUNS, METRICS, STEPS = 1000, 10, 1000
TRACKERS = "mlflow", "trackio", "aim"
OF_AIM = 10  # Aim gets a tenth of the runs: its client would need half an hour for all
QUICK = 20, 3, 50
REPORTS, QUICK_REPORTS = 10**6, 2000
CHARTS = 20
COMPARED = 20
MANY, SORTS = 10_000, 10
VIEWERS, QUICK_VIEWERS = 64, 4
WATCH_S, QUICK_WATCH_S = 10, 2
SETTLE_S, QUICK_SETTLE_S = 5, 2
TIMEOUT_S = 3600
SCREEN_REPORTS, QUICK_SCREEN_REPORTS, SCREEN_PAUSE_S = 30, 4, 0.7
# Records each value of the metric `sent` with the time of the frame that draws it.
WATCH_SENT = r"""
  window.sent = [];
  new MutationObserver((changes) => {
    for (const {target} of changes) {
      const [, sent] = /Chart of sent\b.*last (\d+)$/.exec(target.getAttribute('aria-label')) ?? [];
      if (sent !== undefined && window.sent.at(-1)?.[0] !== Number(sent)) {
        const entry = [Number(sent)];
        window.sent.push(entry);
        requestAnimationFrame(() => entry.push(Date.now() % 100000));
      }
    }
  }).observe(document.body, {subtree: true, attributes: true, attributeFilter: ['aria-label']});"""


def build(config):
    sys.path.append(os.path.join(config.root, "tests", "browser"))
    import measured
    import webdriver

    if not webdriver.is_there():
        raise Skipped("no chromium and chromedriver: scripts/setup --browser installs them")
    sizes = QUICK if config.quick else (RUNS, METRICS, STEPS)
    folder = tempfile.TemporaryDirectory(prefix="bench-dash-")
    data = Data(config, folder.name, sizes)
    data.make_own()
    servers = {OWN: data.dash, "tensorboard": data.tensorboard}
    if not config.trackers_missing:
        data.make_trackers()
        servers.update(mlflow=data.mlflow, trackio=data.trackio, aim=data.aim)

    def sample(side):
        with servers[side]() as server:
            figures = _page(webdriver, measured, server, QUICK_SETTLE_S if config.quick else SETTLE_S)
        if side != OWN:
            return figures
        reading = data.reading(webdriver, measured)
        return {**figures, **_live(config), **_screen(config, webdriver), **data.chart(), **reading}

    benchmark = Benchmark(
        name=NAME,
        text=(
            f"the first page over {sizes[0]} runs × {sizes[1]} metrics × {sizes[2]} steps in chromium; "
            f"{VIEWERS} viewers of a live run"
        ),
        metrics=[
            Metric("paint", "ms", "first contentful paint", 0),
            Metric("weight", "kB", "page, as it is sent", 0),
            Metric("memory", "MiB", "of the server's processes, when the page is there", 1),
            Metric("start", "s", "until it answers", 2),
            Metric("tick", "kB", "sent to a viewer for a report", 2),
            Metric("viewers", "%", "of a core, of all viewers", 1),
            Metric("controller", "%", "of a core, of that run's controller", 1),
            Metric("screen", "ms", "from a report to its point on the screen", 0),
            Metric("chart", "ms", "of 10⁶ reports, again", 0),
            Metric("first_chart", "ms", "of them, the first time", 0),
            Metric("tooltip", "ms", f"of the page for a move over {COMPARED} curves", 1),
            Metric("sort", "ms", f"from a click until {MANY} runs are in another order", 0),
        ],
        goals=[
            Goal("paint", 100),
            Goal("weight", 90),
            Goal("memory", 15),
            Goal("tick", 10),
            Goal("viewers", 5),
            Goal("screen", 300),
            Goal("chart", 200),
            Goal("tooltip", 16),
            Goal("sort", 50),
        ],
        sides={side: (lambda side=side: sample(side)) for side in servers},
        skipped={side: config.trackers_missing for side in TRACKERS if config.trackers_missing},
        notes=[
            f"aim shows {max(1, sizes[0] // OF_AIM)} of the runs",
            "weight and memory after the page has been open for some seconds; weight without answers of rtrain's API",
            f"chart: 1,000 columns of a random part of {data.reports} reports of one metric, {CHARTS} times",
        ],
    )
    benchmark.folder = folder  # the folder must live as long as the benchmark
    return benchmark


def _checked(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, **options)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(map(str, command[:4]))}: {done.stderr[-2000:]}")
    return done.stdout


class Data:
    """The same runs for all sides, and functions that start their servers."""

    def __init__(self, config, folder, sizes):
        self._config = config
        self._sizes = [str(size) for size in sizes]
        self._program = os.path.join(sides.PEERS, "dash_data.py")
        self._own_env = sides.rtrain_environment(config)
        self._folders = {}
        for name in ("csv", "storage", "long", "many", "events", *TRACKERS):
            self._folders[name] = os.path.join(folder, name)
            os.mkdir(self._folders[name])

    def make_own(self):
        """Makes the runs for rtrain, and from them the event files for TensorBoard."""
        folders = self._folders
        _checked([sys.executable, self._program, "csv", folders["csv"], *self._sizes])
        files = sorted(str(file) for file in pathlib.Path(folders["csv"]).iterdir())
        _checked(
            [self._config.rtrain, "import", *files, "--storage", folders["storage"]],
            env={**os.environ, **self._own_env},
        )
        names = [pathlib.Path(file).stem for file in files]
        _checked(
            [
                self._config.rtrain,
                "export",
                *names,
                "--storage",
                folders["storage"],
                "--format",
                "tensorboard",
                "-o",
                folders["events"],
            ],
            env={**os.environ, **self._own_env},
        )
        self.reports = QUICK_REPORTS if self._config.quick else REPORTS
        one = os.path.join(folders["long"], "long.csv")
        with open(one, "w") as file:
            file.write("step,loss\n")
            file.writelines(
                f"{step},{1 / (1 + step / 1000) + step * 7919 % 1000 / 1e5}\n" for step in range(self.reports)
            )
        _checked(
            [self._config.rtrain, "import", one, "--storage", folders["long"]], env={**os.environ, **self._own_env}
        )

        self._make_many()

    def _make_many(self):
        """Makes many runs of one report."""
        folder = os.path.join(self._folders["many"], "csv")
        os.mkdir(folder)
        for run in range(MANY):
            with open(os.path.join(folder, f"run-{run:05}.csv"), "w") as file:
                file.write(f"step,loss\n0,{run * 7919 % MANY}\n")
        files = sorted(str(file) for file in pathlib.Path(folder).iterdir())
        _checked(
            [self._config.rtrain, "import", *files, "--storage", self._folders["many"]],
            env={**os.environ, **self._own_env},
        )

    def make_trackers(self):
        runs, *others = self._sizes
        for tracker in TRACKERS:
            count = str(max(1, int(runs) // OF_AIM)) if tracker == "aim" else runs
            _checked(
                [self._config.trackers_python, self._program, tracker, self._folders[tracker], count, *others],
                env={**os.environ, "TRACKIO_DIR": self._folders["trackio"]},
            )

    def dash(self, storage="storage"):
        return Server([self._config.rtrain, "dash", "--storage", self._folders[storage], "--port", "0"], self._own_env)

    def tensorboard(self):
        port = free_port()
        program = os.path.join(os.path.dirname(self._config.torch_python), "tensorboard")
        return Server(
            [
                program,
                "--logdir",
                self._folders["events"],
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--load_fast",
                "false",
            ],
            {},
            f"http://127.0.0.1:{port}/",
        )

    def mlflow(self):
        port = free_port()
        program = os.path.join(os.path.dirname(self._config.trackers_python), "mlflow")
        store = f"sqlite:///{self._folders['mlflow']}/mlflow.db"
        return Server(
            [
                program,
                "server",
                "--backend-store-uri",
                store,
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--workers",
                "1",
            ],
            {},
            f"http://127.0.0.1:{port}/",
        )

    def aim(self):
        port = free_port()
        program = os.path.join(os.path.dirname(self._config.trackers_python), "aim")
        return Server(
            [program, "up", "--repo", self._folders["aim"], "--host", "127.0.0.1", "--port", str(port)],
            {},
            f"http://127.0.0.1:{port}/",
        )

    def trackio(self):
        port = free_port()
        code = (
            "import trackio; trackio.show('bench', open_browser=False, block_thread=True, host='127.0.0.1', "
            f"server_port={port})"
        )
        return Server(
            [self._config.trackers_python, "-c", code],
            {"TRACKIO_DIR": self._folders["trackio"]},
            f"http://127.0.0.1:{port}/",
        )

    def chart(self):
        """Returns the milliseconds of a chart of many reports: of the first chart, which reads them, and the median of
        the next ones.
        """
        with self.dash("long") as server:
            ask = Asker(server.address)
            first = ask.timed_ms("/api/runs/long/curve?name=loss&points=1000")[0]
            times = []
            for index in range(CHARTS):
                begin, end = sorted((index * 7919 % self.reports, index * 104_729 % self.reports))
                ms, curve = ask.timed_ms(f"/api/runs/long/curve?name=loss&points=1000&from={begin}&to={end}")
                if curve["total"] != end - begin + 1:
                    raise BenchError(f"a chart of {end - begin + 1} reports has {curve['total']}")
                times.append(ms)
        return {"first_chart": first, "chart": sorted(times)[len(times) // 2]}

    def reading(self, webdriver, measured):
        """Returns the median milliseconds of a move over many curves, and of a click that sorts many runs."""
        with self.dash() as server, browser_of(webdriver) as browser:
            names = [run["name"] for run in Asker(server.address).timed_ms(f"/api/runs?limit={COMPARED}")[1]["runs"]]
            browser.open(f"{server.address}#/compare?runs={COMPARED}&{'&'.join(f'run={name}' for name in names)}")
            wait_until(
                browser, "return document.querySelector('figure canvas')?.getAttribute('aria-label')?.includes('last')"
            )
            title = browser.run("return document.querySelector('figcaption').firstChild.textContent")
            tooltip = statistics.median(browser.run(measured.POINTER_MS, title))
        with self.dash("many") as server, browser_of(webdriver) as browser:
            browser.open(server.address)
            wait_until(browser, "return document.querySelectorAll('.grid th button').length > 3")
            sort = statistics.median(
                browser.run(measured.SORT_MS, key) for key in ["name", "name", "loss", "loss"] * SORTS
            )
        return {"tooltip": tooltip, "sort": sort}


def _page(webdriver, measured, server, settle_s):
    with browser_of(webdriver) as browser:
        browser.open(server.address)
        deadline = time.monotonic() + 60
        while browser.run(measured.PAINT) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(settle_s)
        paint, weight, memory = browser.run(measured.PAINT), browser.run(measured.WEIGHT), server.memory_mib()
    if paint is None:
        raise BenchError(f"{server.address} has painted nothing")
    return {"paint": paint, "weight": weight / 1000, "memory": memory, "start": server.start_s}


@contextlib.contextmanager
def _live_run(config, pause_s):
    """Starts a run that reports repeatedly. Yields its job and a dashboard over it."""

    def command(storage, events):
        return [
            config.rtrain,
            "run",
            os.path.join(sides.HERE, "dash.lua"),
            "--storage",
            storage,
            "--name",
            "live",
            "-q",
            "--oversubscribe",
            "--set",
            f"pause_s={pause_s}",
        ]

    environment = sides.rtrain_environment(config)
    with Job("rtrain", command, environment) as job:
        with Server([config.rtrain, "dash", "--storage", job.storage, "--port", "0"], environment) as server:
            ask = Asker(server.address)
            deadline = time.monotonic() + 60
            while not (rows := ask.timed_ms("/api/runs")[1]["runs"]) or rows[0]["status"] != "RUNNING":
                if time.monotonic() > deadline:
                    raise BenchError(f"the live run does not go on: {job.log()[-2000:]}")
                time.sleep(0.05)
            yield job, server


def _live(config):
    """Measures the cost of the viewers of one live run for the server and the controller."""
    viewers, watch_s = (QUICK_VIEWERS, QUICK_WATCH_S) if config.quick else (VIEWERS, WATCH_S)
    with _live_run(config, pause_s=0.1) as (job, server):
        ask = Asker(server.address)
        streams = [ask.stream("/api/runs/live/events") for _ in range(viewers)]
        try:
            _read(streams, 1)
            begin_s, server_s, controller_s = time.monotonic(), cpu_s(server.pid), cpu_s(job.pid)
            sent, ticks = _read(streams, watch_s)
            took_s, server_s, controller_s = (
                time.monotonic() - begin_s,
                cpu_s(server.pid) - server_s,
                cpu_s(job.pid) - controller_s,
            )
        finally:
            for each in streams:
                each.close()
    if not ticks:
        raise BenchError("no event has come")
    return {"tick": sent / ticks / 1000, "viewers": 100 * server_s / took_s, "controller": 100 * controller_s / took_s}


def _screen(config, webdriver):
    """Returns the median milliseconds from before a report to the frame that shows it. Each report is shown before the
    next one.
    """
    count = QUICK_SCREEN_REPORTS if config.quick else SCREEN_REPORTS
    with _live_run(config, SCREEN_PAUSE_S) as (_, server), browser_of(webdriver) as browser:
        browser.open(f"{server.address}#/run/live")
        browser.run(WATCH_SENT)
        deadline = time.monotonic() + 60 + 2 * count * SCREEN_PAUSE_S
        # The first value shown was reported before the page was opened.
        while len(shown := [entry for entry in browser.run("return window.sent")[1:] if len(entry) == 2]) < count:
            if time.monotonic() > deadline:
                raise BenchError(f"{len(shown)} of {count} reports are on the page")
            time.sleep(0.5)
    return {"screen": statistics.median((drawn - sent) % 100000 for sent, drawn in shown)}


def _read(streams, seconds):
    """Returns the bytes and events of all streams within this time."""
    sent = ticks = 0
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for each in streams:
            selector.register(each, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                part = key.fileobj.recv(1 << 16)
                if not part:
                    raise BenchError("a stream of events has ended")
                sent += len(part)
                ticks += part.count(b"event: runs")
    return sent, ticks
