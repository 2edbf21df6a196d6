"""Shared by the GPU benchmarks: the device, CIFAR-10 as files for both sides, programs timed as a whole."""

import glob
import json
import os
import re
import subprocess
import time

from harness import sides
from harness.benchmark import BenchError, Skipped

HERE = os.path.join(sides.HERE, "gpu")
TIMEOUT_S = 600


def require_device(config):
    """With --device cpu the programs are only tried on a machine without a GPU; their figures are meaningless."""
    if config.device == "cpu":
        return
    env = {**os.environ, **sides.rtrain_environment(config)}
    done = subprocess.run([config.rtrain, "env", "--json"], env=env, capture_output=True, text=True, check=True)
    cuda = json.loads(done.stdout)["cuda"]
    if cuda["devices"] == 0:
        raise Skipped(f"no CUDA device: {cuda['reason']} (--device cpu only tries the programs)")


def cifar10(config):
    """Returns the folder with cifar10/ as binary batches, and whether its images are real. Random images suffice for
    timings.
    """
    given = os.path.join(os.environ.get("RTRAIN_DATA") or "/nonexistent", "cifar10")
    if glob.glob(os.path.join(given, "data_batch_*.bin")):
        return os.path.dirname(given), True
    is_real = bool(glob.glob(os.path.join(given, "train-*.parquet")))
    folder = os.path.join(config.root, "build", "bench", "images" if is_real else "random-images")
    target = os.path.join(folder, "cifar10")
    if not os.path.exists(os.path.join(target, "test_batch.bin")):  # the file written last
        make = [config.torch_python, os.path.join(HERE, "cifar.py"), target, *([given] if is_real else [])]
        subprocess.run(make, check=True)
    return folder, is_real


def environment(config, data):
    given = {
        **os.environ,
        **sides.rtrain_environment(config),
        "OMP_NUM_THREADS": str(config.threads),
        "RTRAIN_DATA": data,
    }
    if config.device == "cpu":
        given["CUDA_VISIBLE_DEVICES"] = ""
    return given


def run(side, command, env):
    """Returns the output of a program, and the seconds from its start to its end."""
    start = time.monotonic()
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIMEOUT_S)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        raise BenchError(f"{side}: ended with {done.returncode}:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout, seconds


def rows(text):
    """Parses "name<TAB>number" lines."""
    return {name: float(value) for name, value in re.findall(r"^(\w+)\t([-\d.e]+)$", text, re.MULTILINE)}
