#!/usr/bin/env python3
"""Instruction counts next to those of figures.txt.

count.py [--build FOLDER]   compares, and fails where one is more than 2 % off; status 77: this machine cannot count
count.py --renew            writes figures.txt
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from callgrind import Profile

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FIGURES = HERE / "figures.txt"
TOLERANCE = 0.02
SKIPPED = 77
TIMEOUT_S = 240
OPERATORS = 50  # calls in one count
MOST_OF_STEP = 6000

# rtrain's own part of a step without a report: functions that do not call each other, by name.
WAITS = r"^rtrain::worker::\(anonymous namespace\)::(enter|leave)_blocking\("
COLLECTIVE = r"^rtrain::worker::\(anonymous namespace\)::enter_collective\("
NOTIFIER = r"^std::_Function_handler<unsigned long .*rtrain::engine::Group::notifier.*::_M_invoke\("
RANGES = r"^rtrain::engine::(push|pop)_range\("
BOUNDARY = r"guarded<&rtrain::engine::\(anonymous namespace\)::step_boundary,"
MACHINERY = {
    "progress_page": lambda step: step.of(WAITS) - step.of(RANGES),
    "collective_comparison": lambda step: step.of(COLLECTIVE),
    "collective_text": lambda step: step.of(NOTIFIER) - step.of(COLLECTIVE),
    "profiler_off": lambda step: step.of(RANGES),
    "step_boundary": lambda step: step.of(BOUNDARY),
}

HEAD = """\
# Instructions, as callgrind counts them. Written by tests/bench/instructions/count.py --renew, see README.md of the folder
# above. They hold for one compiler; with another one nothing is compared.
"""


class CannotCount(Exception):
    """Raised if this machine lacks something; the text names it."""


def check_machine():
    if not shutil.which("valgrind"):
        raise CannotCount("valgrind is not installed")
    if len(os.sched_getaffinity(0)) < 2:
        raise CannotCount("two workers need two cores")
    with open("/proc/cpuinfo") as file:
        if " avx2 " not in file.read():
            raise CannotCount("the processor has no AVX2, for which the figures were taken")


def run(command, environment, folder, log):
    with open(f"{folder}/{log}", "wb") as file:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
        )
    if done.returncode != 0:
        output = Path(folder, log).read_text(errors="replace")
        raise SystemExit(f"{command[0]} ended with status {done.returncode}:\n{output[-4000:]}")


def count_codec(build, folder):
    output = f"--callgrind-out-file={folder}/codec"
    program = str(build / "tests/bench/instructions/counted_codec")
    run(["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", output, program], {}, folder, "codec-log")


def count_worker(build, folder):
    """Runs two workers with reserved cores and a separate storage. The scripts run as copies in `folder`, because their
    paths are part of what a worker shows.
    """
    for script in ("worker.lua", "counted.lua"):
        shutil.copy(HERE / script, folder)
    parts = build / "tests/bench/instructions"
    environment = {
        "COUNTED_OUTPUT": f"{folder}/worker",
        "COUNTED_PROGRAM": str(build / "rtrain"),
        "COUNTED_VALGRIND": shutil.which("valgrind"),
        "LD_PRELOAD": str(parts / "libcounted_worker.so"),
        "RTRAIN_ENGINE": str(build / "host/librtrain_engine.so"),  # the embedded copy has no names of functions
        "RTRAIN_HANG_THRESHOLD_S": str(TIMEOUT_S),
        "RTRAIN_RUNTIME_DIR": f"{folder}/runtime",
        "RTRAIN_ZYGOTE": "off",  # a forked worker cannot be started under callgrind
        "OMP_NUM_THREADS": "1",
        "ATEN_CPU_CAPABILITY": "avx2",
    }
    settings = ["--set", f"library={parts / 'libcounted.so'}", "--set", f"operators={OPERATORS}"]
    command = [str(build / "rtrain"), "run", "-q", "worker.lua", "--storage", "storage", *settings]
    run(command, environment, folder, "worker-log")


def read_dumps(folder):
    """Returns {name: [Profile of each call]}."""
    dumps = defaultdict(list)
    for path in Path(folder).iterdir():
        if path.name.startswith(("codec.", "worker.")):
            profile = Profile(path)
            if profile.trigger:
                dumps[profile.trigger].append(profile)
    return dumps


def figures_of(dumps):
    """Returns the median call of each name: the median omits rare work, such as searching a longer list of free memory."""
    totals = {name: statistics.median(profile.total for profile in profiles) for name, profiles in dumps.items()}
    for name in [name for name in totals if name.startswith("operator_")]:
        totals[name] /= OPERATORS
    figures = {name: round(total) for name, total in totals.items() if name != "step"}
    parts = {name: round(statistics.median(part(step) for step in dumps["step"])) for name, part in MACHINERY.items()}
    figures["step_machinery"] = sum(parts.values())
    return figures | {f"step_machinery.{name}": part for name, part in parts.items()}


def read_figures():
    rows = [line.split() for line in FIGURES.read_text().splitlines() if line and not line.startswith("#")]
    compiler = next(row[1] for row in rows if row[0] == "compiler")
    return compiler, {row[0]: int(row[1]) for row in rows if row[0] != "compiler"}


def write_figures(figures, compiler):
    rows = [f"{name:38}{count:>8}" for name, count in sorted(figures.items())]
    FIGURES.write_text(HEAD + "\n".join([f"{'compiler':38}{compiler:>8}", *rows]) + "\n")


def compare(figures, committed):
    """Returns the problems, one line each."""
    problems = []
    for name in sorted(figures | committed):
        now, before = figures.get(name), committed.get(name)
        if now is None or before is None:
            problems.append(f"{name}: {before} in figures.txt, counted {now}")
            continue
        off = now / before - 1 if before else 0
        print(f"{name:38}{before:>8}{now:>8}{off:>+9.2%}")
        if abs(off) > TOLERANCE and not name.startswith("step_machinery"):  # the step's machinery has its own bound
            problems.append(f"{name}: {now} instructions instead of {before} ({off:+.1%})")
    for name in (f"step_machinery.{part}" for part in MACHINERY):
        if figures[name] == 0:
            problems.append(f"{name}: no function with the name that MACHINERY has for it was called")
    if figures["step_machinery"] > MOST_OF_STEP:
        problems.append(f"step_machinery: {figures['step_machinery']}, above {MOST_OF_STEP}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--renew", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()
    compiler = (build / "tests/bench/instructions/compiler.txt").read_text().strip()
    try:
        check_machine()
        if not options.renew and read_figures()[0] != compiler:
            raise CannotCount(f"{compiler} has built this, and {read_figures()[0]} what figures.txt counts")
    except CannotCount as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="count-") as folder:
        count_codec(build, folder)
        count_worker(build, folder)
        figures = figures_of(read_dumps(folder))
    if options.renew:
        write_figures(figures, compiler)
        print(FIGURES.read_text(), end="")
        return 0
    problems = compare(figures, read_figures()[1])
    for problem in problems:
        print(problem)
    if problems:
        print("If that is meant: tests/bench/instructions/count.py --renew, and commit figures.txt with the change.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
