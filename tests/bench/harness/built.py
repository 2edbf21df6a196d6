"""Builds programs of this folder when a benchmark needs them."""

import os
import subprocess

from harness.benchmark import BenchError


def build_target(config, target):
    """Builds a target. Returns the path of the program, which uses the LibTorch of the build folder."""
    build_folder = os.path.join(config.root, "build")
    done = subprocess.run(["cmake", "--build", build_folder, "--target", target], capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"{target} was not built:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    return os.path.join(build_folder, "tests", "bench", target)


def compile_source(config, compiler, source, *flags):
    """Compiles a program that needs a peer's libraries, but none of rtrain's. Returns its path."""
    program = os.path.join(config.root, "build", "tests", "bench", os.path.splitext(source)[0].replace("/", "_"))
    file = os.path.join(config.root, "tests", "bench", source)
    command = [compiler, "-std=c++20", "-O3", f"-I{config.root}", file, "-o", program, *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"{source} was not built:\n{done.stderr[-3000:]}")
    return program
