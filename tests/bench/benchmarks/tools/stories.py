"""Stories of the first hour typed at a terminal, with the unchanged templates: measures the machine's part of the time."""

import os
import re
import tempfile
import time

from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.terminal import Terminal

NAME = "stories"
TIMEOUT_S = 300
LIMITS_S = {"hello": 120, "typos": 180, "sweep": 300, "scale": 180, "crash": 240, "data": 180, "repl": 300, "own": 600}
FIRST_LOSS_S = 3


def build(config):
    return Benchmark(
        name=NAME,
        text="seconds that all commands of a story take together: hello (U1), typos (U2), sweep (U3), scale (U4), crash (U5), "
        "data (U6), repl (U8), own (U10)",
        metrics=[
            Metric("first_loss", "s", "hello: from Enter to a loss", 2),
            *(Metric(name, "s", places=1) for name in LIMITS_S),
        ],
        goals=[Goal("first_loss", FIRST_LOSS_S), *(Goal(name, limit) for name, limit in LIMITS_S.items())],
        sides={OWN: lambda: _sample(config)},
        notes=["templates mnist and blank with their defaults; what somebody reads and thinks meanwhile is not in it"],
    )


def _sample(config):
    with tempfile.TemporaryDirectory(prefix="bench-stories-") as folder:
        typist = Typist(config, folder)
        figures = {}
        for name in LIMITS_S:
            begin = time.monotonic()
            figures.update(globals()[f"_{name}"](typist) or {})
            figures[name] = time.monotonic() - begin
        return figures


class Typist:
    """A user in a folder that contains nothing but the executable."""

    def __init__(self, config, folder):
        self.folder = folder
        self._rtrain = config.rtrain
        given = {key: value for key, value in os.environ.items() if not key.startswith("RTRAIN_")}
        self._environment = {
            **given,
            "RTRAIN_LIBTORCH": sides.rtrain_environment(config)["RTRAIN_LIBTORCH"],
            "HOME": folder,
            "RTRAIN_RUNTIME_DIR": os.path.join(folder, "runtime"),
            "CUDA_VISIBLE_DEVICES": "",
        }

    def begin(self, *args):
        return Terminal([self._rtrain, *args], self.folder, self._environment)

    def type(self, *args, code=0, shows=""):
        """Types a command and waits for its end. The output must match `shows`."""
        terminal = self.begin(*args)
        terminal.end(TIMEOUT_S, code)
        assert re.search(shows, terminal.text), terminal.text
        return terminal.text

    def enter(self, template):
        """Changes to the folder of the template's project; creates it the first time."""
        self.folder = self._environment["HOME"]
        if not os.path.isdir(os.path.join(self.folder, template)):
            self.type("init", template, template)
        self.folder = os.path.join(self.folder, template)

    def edit(self, name, before, after):
        path = os.path.join(self.folder, "train.lua")
        with open(path) as file:
            text = file.read()
        assert before in text, before
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text.replace(before, after, 1))


def _hello(typist):
    typist.type(code=2, shows="rtrain init")
    typist.enter("mnist")
    run = typist.begin("run", "train.lua", "--name", "hello")
    first_loss = run.read_until(r"loss=", TIMEOUT_S) - run.started
    run.end(TIMEOUT_S)
    typist.type("plot", "hello", "loss")
    return {"first_loss": first_loss}


def _typos(typist):
    typist.type("rnu", "train.lua", code=2, shows="did you mean .?run")
    typist.edit("field.lua", "num_workers", "num_worker")
    typist.type("run", "field.lua", code=3, shows="did you mean 'num_workers'")
    typist.edit("layer.lua", "nn.Linear", "nn.Linaer")
    typist.type("run", "layer.lua", "-n", "2", code=1, shows="did you mean 'Linear'")


def _sweep(typist):
    typist.enter("blank")
    for rate in ("1e-1", "1e-2", "1e-3"):
        typist.type("run", "train.lua", "--set", f"lr={rate}", "--tag", "lrs", "-q", "--name", f"lr-{rate}")
    typist.type("ls", "--tag", "lrs", "--sort", "-accuracy", shows=r"lr-\S+ \*")
    typist.type("diff", "lr-1e-1", "lr-1e-3", shows="lr ")
    typist.type("plot", "--tag", "lrs", "loss", shows="lr-1e-3")
    typist.type(
        "sweep", "train.lua", "--grid", "lr=1e-1,1e-2,1e-3", "--jobs", "2", "--name", "swept", shows="best trial"
    )


def _scale(typist):
    typist.type("run", "train.lua", "-n", "2", "--name", "two")
    typist.type("run", "train.lua", "-n", "8", "--name", "eight")
    typist.type("run", "train.lua", "--gpus", "all", code=4, shows="no CUDA device")


def _crash(typist):
    typist.enter("mnist")
    run = typist.begin("run", "train.lua", "-n", "2", "--name", "crash", "--max-failures", "3", "--set", "epochs=20")
    run.read_until(r"epoch=2", TIMEOUT_S)
    [pid] = re.findall(r'"pid": (\d+)', typist.type("show", "crash", "--json"))[-1:]
    os.kill(int(pid), 9)
    run.read_until(r"attempt 2 begins", TIMEOUT_S)
    run.read_until(r"epoch=4", TIMEOUT_S)
    run.type("\x03")
    run.end(TIMEOUT_S, 130)
    typist.type(
        "run", "train.lua", "-n", "2", "--name", "crash", "--resume", "must", "--set", "epochs=6", shows="FINISHED"
    )


def _data(typist):
    typist.type("show", "last", shows="checkpoint")
    typist.type("export", "last", "--format", "csv", "-o", "m.csv")
    typist.type("export", "last", "--format", "parquet", "-o", "m.parquet")
    typist.type("export", "last", "--format", "tensorboard", "-o", "events")
    typist.type(
        "sql", "SELECT name, max(json_extract(metrics, '$.accuracy')) FROM metric_list GROUP BY name", shows="hello"
    )


def _repl(typist):
    repl = typist.begin("repl")
    repl.read_until(r"\n> $", TIMEOUT_S)
    for line, shown in [
        ("t = torch.randn(2, 3)", ""),
        ("t", r"tensor\(\["),
        ("t:sum(5)", "Dimension out of range"),
        ("? torch.matmul", "matrix product"),
        ("ckpt = train.best('hello'):load()", ""),
        ("ckpt.model['fc2.bias'].shape", r"Size\(\[10\]\)"),
    ]:
        repl.type(line + "\n")
        repl.read_until(shown + r"[^>]*\n> $", TIMEOUT_S)
    repl.type("\x04")
    repl.end(TIMEOUT_S)


def _own(typist):
    typist.enter("blank")
    typist.type(
        "exec", "-e", "require('rtrain.data').from_items({{x = 0.5, y = 1}, {x = -1.5, y = 0}}):write_parquet('table')"
    )
    [part] = os.listdir(os.path.join(typist.folder, "table"))
    typist.type("peek", f"table/{part}", shows="2 rows")
    typist.type("check", "train.lua", "-n", "2", shows="works")
    typist.type("run", "train.lua", "--name", "own", shows="FINISHED")
