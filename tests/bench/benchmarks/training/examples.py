"""The programs in examples/, run as a user runs them: their accuracy and their time."""

import os
import re
import subprocess
import tempfile
import time

from harness import sides
from harness.benchmark import OWN, BenchError, Benchmark, Goal, Metric
from harness.data import has, require

TIMEOUT_S = 3600
TEST_IMAGES = 1000


def build_mnist(config):
    images = "mnist" if has("mnist") else "fashion-mnist"
    error = 1.5 if images == "mnist" else 12
    convnet = ["--set", f"epochs={1 if config.quick else 3}"]
    resnet18 = ["--set", f"dataset={images}", "--set", "num_epochs=1"]
    arguments = [images]
    if config.quick:
        arguments.append("640")
        resnet18 += ["--set", "limit=256", "--set", "test_limit=100"]
    benchmark = Benchmark(
        name="mnist_accuracy",
        text=f"share of test images that are not recognized, in %: ConvNet after 3 epochs, ResNet-18 after 1, on {images}",
        metrics=[
            Metric("convnet", "% wrong", places=2),
            Metric("convnet_time", "s", places=1),
            Metric("resnet18", "% wrong", places=2),
            Metric("resnet18_time", "s", places=1),
        ],
        goals=[Goal("convnet", error), Goal("resnet18", error)],
        sides={
            OWN: lambda: {
                **_run(config, "convnet", "mnist_convnet", [*convnet, "--", *arguments]),
                **_run(config, "resnet18", "mnist_resnet18", resnet18),
            }
        },
        rounds=1,
    )
    if images != "mnist":
        benchmark.notes.append("RTRAIN_DATA names no folder that holds mnist/: Fashion-MNIST takes its place")
    return benchmark


def build_vit(config):
    require("cifar10")
    limit = 256 if config.quick else 6144
    # Many small steps need a smaller learning rate than the example's few large steps.
    settings = {"batch_size_per_worker": 32, "lr": 3e-4, "limit": limit, "test_limit": TEST_IMAGES}
    arguments = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    return Benchmark(
        name="vit_learns",
        text=f"share of {TEST_IMAGES} test images that are not recognized, in %: ViT after {limit} images of CIFAR-10",
        metrics=[Metric("vit", "% wrong", places=1), Metric("vit_time", "s", places=1)],
        goals=[Goal("vit", 80)],
        sides={OWN: lambda: _run(config, "vit", "cifar_vit", arguments)},
        rounds=1,
    )


def _run(config, name, example, arguments):
    """Returns the error rate from the last accuracy that the example prints, and its seconds."""
    script = os.path.join(config.root, "examples", f"{example}.lua")
    with tempfile.TemporaryDirectory(prefix="bench-example-") as storage:
        start = time.monotonic()
        done = subprocess.run(
            [config.rtrain, "run", script, "--storage", storage, *arguments],
            env={**os.environ, **sides.rtrain_environment(config)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        seconds = time.monotonic() - start
    found = re.findall(r"accuracy(?: on \d+ new images)?[=:] ?([\d.]+)", done.stdout)
    if done.returncode != 0 or not found:
        raise BenchError(f"{example} ended with {done.returncode}:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return {name: 100 * (1 - float(found[-1])), f"{name}_time": seconds}
