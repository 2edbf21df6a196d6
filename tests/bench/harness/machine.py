"""The machine: its description in a result, and how much other programs disturbed a sample."""

import hashlib
import json
import os
import platform
import re
import resource
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")


def _cpu_seconds():
    """Returns the (busy, steal) seconds of all cores since boot."""
    with open("/proc/stat") as file:
        fields = [int(value) for value in file.readline().split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields[:8]
    return (user + nice + system + irq + softirq) / TICKS, steal / TICKS


def _own_seconds():
    usages = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Disturbance:
    """The number of cores that other programs kept busy during the sample, stolen time included."""

    def __init__(self):
        self._start = time.monotonic(), _own_seconds(), _cpu_seconds()

    def other_cores(self):
        start, own, (busy, steal) = self._start
        busy_now, steal_now = _cpu_seconds()
        others = (busy_now - busy) - (_own_seconds() - own) + (steal_now - steal)
        return max(0.0, others / max(1e-9, time.monotonic() - start))


def _output(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _first_line(command):
    return _output(command).strip().splitlines()[0]


def _commit(root):
    """Returns the commit, or None if the sources have no git history."""
    try:
        return _first_line(["git", "-C", root, "describe", "--always", "--dirty"])
    except (OSError, subprocess.CalledProcessError):
        return None


def _read(path, default=None):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return default


def describe(config):
    """Returns all facts that two comparable results must share."""
    with open(config.libtorch_file, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    model = re.search(r"model name\s*: (.*)", _read("/proc/cpuinfo"))
    described = {
        "rtrain": _first_line([config.rtrain, "--version"]),
        "commit": _commit(config.root),
        "torch": _first_line([config.torch_python, "-c", "import torch; print(torch.__version__)"]),
        "libtorch": config.libtorch_file,
        "libtorch_sha256": digest,
        "cpu": model.group(1) if model else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load_average": _read("/proc/loadavg"),
        "threads": config.threads,
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    gpus = json.loads(_output([config.rtrain, "env", "--json"]))["gpus"]
    if gpus:
        described["gpus"] = gpus
    if config.ray_missing is None:
        described["ray"] = _first_line([config.ray_python, "-c", "import ray; print(ray.__version__)"])
    return described
