#!/usr/bin/env python3
"""Runs PyTorch's own databases of operators, modules and optimizers (OpInfo, ModuleInfo, OptimizerInfo) against rtrain.

    run.py [--all] [--jobs N] [--only REGEX] [operators|modules|optimizers …]

Python's torch makes the inputs and the answers, writes them to temporary files, and rtrain ($RTRAIN) makes the same calls.
Nothing is kept. Without --all a sample is taken, always the same one. What differs and is meant to is in exceptions.py.
"""

import argparse
import collections
import importlib
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import types
import unittest
import warnings

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 5
KINDS = ("operators", "modules", "optimizers")
CHUNK = 8


def load_torch():
    """Imports torch. PyTorch's tests import expecttest, which only their own tests need, so a stub replaces it."""
    if "expecttest" not in sys.modules:
        stub = types.ModuleType("expecttest")
        stub.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stub
    import torch

    torch.set_num_threads(1)
    return torch


def run_rtrain(kind, entries, folder):
    """Returns the lines that run.lua prints, and the call in which it died, or None."""
    import torch

    path, progress = os.path.join(folder, "entries.pt"), os.path.join(folder, "progress")
    torch.save(entries, path)
    environment = {**os.environ, "LUA_PATH": f"{HERE}/?.lua;;"}
    result = subprocess.run(
        [os.environ["RTRAIN"], "exec", str(HERE / "run.lua"), kind, path, progress],
        capture_output=True,
        text=True,
        errors="replace",
        env=environment,
        timeout=900,
    )
    died = None
    if result.returncode != 0:
        doing = pathlib.Path(progress).read_text().splitlines()[0] if os.path.exists(progress) else "starting"
        died = f"{doing}: exit status {result.returncode}: {result.stderr.strip()[-300:]}"
    return result.stdout.splitlines(), died


def run_entries(kind, entries):
    """Returns (problems, calls); each problem is (entry, form, id, text)."""
    with tempfile.TemporaryDirectory(prefix="rtrain-databases-") as folder:
        lines, died = run_rtrain(kind, entries, folder)
    if died and len(entries) > 1:  # runs each entry alone to find the one that crashes
        results = [run_entries(kind, [entry]) for entry in entries]
        return [p for problems, _ in results for p in problems], sum(calls for _, calls in results)
    problems = [tuple(line.split("\t")[1:]) for line in lines if line.startswith("PROBLEM\t")]
    if died:
        problems.append((entries[0]["entry"], "crash", "", died))
    return problems, sum(int(line.split("\t")[1]) for line in lines if line.startswith("CALLS\t"))


def run_chunk(task):
    kind, indices, whole = task
    warnings.simplefilter("ignore")
    load_torch()
    part = importlib.import_module(kind)
    started, entries, problems = time.time(), [], []
    for index in indices:
        try:
            entries.append(part.calls_of(index, whole))
        except Exception as e:  # the database has no such sample on this machine
            problems.append((part.NAMES[index], "python", "", f"{type(e).__name__}: {e}"[:300]))
    made = time.time()
    found, calls = run_entries(kind, entries)
    return (
        kind,
        problems + found,
        calls,
        sum(entry["left_out"] for entry in entries),
        made - started,
        time.time() - made,
    )


def is_expected(problem, exceptions, used):
    entry, form, ident, text = problem
    for place, exception in enumerate(exceptions):
        pattern, forms, says = exception[:3]
        if re.fullmatch(pattern, entry) and re.fullmatch(forms, form) and re.search(says, f"{ident} {text}"):
            used.add(place)
            return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="everything, in less than ten minutes on two cores")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="entries whose name has this regular expression")
    parser.add_argument("kinds", nargs="*", default=[], metavar="operators|modules|optimizers")
    options = parser.parse_args()
    try:
        load_torch()
    except ImportError:
        print("skipped: Python's torch is not here: scripts/test --oracle installs it")
        return SKIPPED
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(HERE))
    sys.dont_write_bytecode = True
    from exceptions import EXCEPTIONS, SOMETIMES

    failed = False
    for kind in options.kinds or KINDS:
        part, started = importlib.import_module(kind), time.time()
        indices = [i for i, name in enumerate(part.NAMES) if re.search(options.only, name)]
        tasks = [
            (kind, indices[i :: max(1, len(indices) // CHUNK)], options.all)
            for i in range(max(1, len(indices) // CHUNK))
            if indices
        ]
        with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
            results = list(pool.imap_unordered(run_chunk, tasks))
        used, wrong = set(), collections.OrderedDict()
        for problem in sorted(p for result in results for p in result[1]):
            if not is_expected(problem, EXCEPTIONS[kind], used):
                wrong.setdefault(problem[:2], []).append(problem[2:])
        for (entry, form), cases in wrong.items():
            print(f"{kind}: {entry} ({form}), {len(cases)} calls, the first: {cases[0][0]}: {cases[0][1]}")
        calls, left_out = sum(r[2] for r in results), sum(r[3] for r in results)
        print(
            f"{kind}: {calls} calls of {len(indices)} entries, {sum(map(len, wrong.values()))} wrong in {len(wrong)} groups, "
            f"{left_out} that Lua cannot say; {time.time() - started:.0f} s ({sum(r[4] for r in results):.0f} s Python, "
            f"{sum(r[5] for r in results):.0f} s rtrain)"
        )
        failed |= bool(wrong)
        if options.all and not options.only:
            for place, exception in enumerate(EXCEPTIONS[kind]):
                if place not in used and SOMETIMES not in exception:
                    failed = True
                    print(f"{kind}: nothing needs this exception any more: {exception}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
