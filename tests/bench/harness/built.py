"""Programs of this folder that CMake builds when a benchmark needs them."""

import os
import subprocess

from harness.benchmark import BenchError


def build_target(config, target):
    """The program's path. It runs the LibTorch that the build folder is configured with."""
    build_folder = os.path.join(config.root, "build")
    done = subprocess.run(["cmake", "--build", build_folder, "--target", target], capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"{target} was not built:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    return os.path.join(build_folder, "tests", "bench", target)
