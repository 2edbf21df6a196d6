"""Language models next to transformers: training steps, generation, loading, the first token of a new process."""

import os
import subprocess
import time

from harness import sides
from harness.benchmark import OWN, BenchError, Benchmark, Goal, Metric
from harness.single import TIMEOUT_S, made_once, sampler

NAME = "language_models"
PEER = "transformers"


def make_models(config):
    """Folders of models with random weights: once for quick and once for full runs."""
    size = "quick" if config.quick else "full"
    program = [config.transformers_python, os.path.join(sides.PEERS, "language_models.py")]
    return made_once(config, f"language-models-{size}", lambda folder: [*program, "make", folder, size])


def build(config):
    metrics = [
        Metric("step_gpt2", "ms", "a step of GPT-2 124M, 2 × 256 tokens, AdamW", places=0),
        Metric("step_llama", "ms", "a step of a small Llama, 4 × 256 tokens", places=0),
        Metric("step_llama_compiled", "ms", "the same under train.compile, next to the same", places=0),
        Metric("token", "ms", "a token of the small Llama, greedy, one at a time", places=2),
        Metric("load", "ms", "0.5B parameters from a file in memory", places=0),
        Metric("first", "ms", "a new process until the first token of 0.5B", places=0),
    ]
    if config.transformers_missing:
        return Benchmark(name=NAME, text="", metrics=metrics, goals=[], sides={}, notes=[config.transformers_missing])
    folder = make_models(config)
    commands = {
        OWN: [config.rtrain, "exec", os.path.join(sides.HERE, "language_models.lua")],
        PEER: [config.transformers_python, os.path.join(sides.PEERS, "language_models.py")],
    }

    def sample(side):
        found = sampler(config, side, [*commands[side], "run", folder])()
        environment = {**os.environ, **sides.rtrain_environment(config)}
        began = time.monotonic()
        done = subprocess.run([*commands[side], "first", folder], env=environment, capture_output=True, text=True,
                              timeout=TIMEOUT_S)  # fmt: skip
        if done.returncode != 0 or not done.stdout.strip().isdigit():
            raise BenchError(f"{side}: no first token:\n{done.stderr[-2000:]}")
        return {**found, "first": (time.monotonic() - began) * 1e3}

    return Benchmark(
        name=NAME,
        text="milliseconds on one core; the first token on all",
        metrics=metrics,
        goals=[
            Goal("step_gpt2", 0.9, PEER),
            Goal("step_llama", 0.9, PEER),
            Goal("step_llama_compiled", 0.9, PEER),
            Goal("token", 1 / 1.5, PEER),
            Goal("load", 0.5, PEER),
            Goal("first", 1500),
        ],
        sides={side: (lambda side=side: sample(side)) for side in commands},
        rounds=5,
        notes=["random weights; the large model has the shape of Qwen 2.5 0.5B, in bfloat16"],
    )
