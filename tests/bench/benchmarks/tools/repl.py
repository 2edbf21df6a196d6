"""`rtrain repl`: time until the prompt, and until the first tensor is shown."""

import os
import statistics
import tempfile

from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.terminal import Terminal

NAME = "repl"
CALLS = 9
TIMEOUT_S = 120
PEER = ["-i", "-q"]


def build(config):
    environment = {**os.environ, **sides.rtrain_environment(config), "NO_COLOR": "1"}
    python = {"command": [config.torch_python, *PEER], "prompt": r">>> $", "lines": ["import torch", "torch.zeros(2)"]}
    own = {"command": [config.rtrain, "repl"], "prompt": r"\n> $", "lines": ["torch.zeros(2)"]}
    return Benchmark(
        name=NAME,
        text="milliseconds from exec to the prompt, and from the first line typed to the tensor; Python's needs import torch",
        metrics=[Metric("ready", "ms", places=1), Metric("tensor", "ms", "first tensor", 1)],
        goals=[Goal("ready", 50), Goal("tensor", 300)],
        sides={OWN: lambda: _sample(environment, **own), "python": lambda: _sample(environment, **python)},
    )


def _sample(environment, command, prompt, lines):
    with tempfile.TemporaryDirectory(prefix="bench-repl-") as home:
        taken = [_one({**environment, "HOME": home}, home, command, prompt, lines) for _ in range(CALLS)]
    return {key: 1e3 * statistics.median(sample[key] for sample in taken) for key in ("ready", "tensor")}


def _one(environment, folder, command, prompt, lines):
    terminal = Terminal(command, folder, environment)
    ready = terminal.read_until(prompt, TIMEOUT_S) - terminal.started
    begins = []
    for line in lines:
        begins.append(terminal.type(line + "\n"))
        shown = terminal.read_until(r"tensor\(\[" if line == lines[-1] else prompt, TIMEOUT_S)
    terminal.read_until(prompt, TIMEOUT_S)
    terminal.type("\x04")
    terminal.end(TIMEOUT_S)
    return {"ready": ready, "tensor": shown - begins[0]}
