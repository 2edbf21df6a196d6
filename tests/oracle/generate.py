#!/usr/bin/env python3
"""Writes the golden files of the oracle tests with Python's torch, or checks that they are what it answers.

generate.py [--check] [part …]      a part is a file of cases/; without one all of them

--check leaves out what takes Python long, whose version is a fixed one, except with RTRAIN_TEST_ALL=1 (scripts/test --nightly).
"""

import argparse
import importlib
import multiprocessing
import os
import pathlib
import re
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE / "golden"
MAX_BYTES = 3_000_000
SKIPPED = 5
TOKEN = re.compile(r"(?<![\w'.])-?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)(?![\w'.])")


def lines_of(part, is_long_left_out):
    """Returns one line for each case, with equal names numbered and None for a case that is left out; and the invalid
    cases.
    """
    out, problems, seen = [], [], {}
    for case in importlib.import_module(f"cases.{part}").CASES:
        seen[case.name] = seen.get(case.name, 0) + 1
        if seen[case.name] > 1:
            case.name = f"{case.name}_{seen[case.name]}"
        try:
            out.append(None if is_long_left_out and getattr(case, "is_long", False) else case.line())
        except (AssertionError, RuntimeError) as e:
            problems.append(str(e))
    return out, problems


def differs(kept, made):
    """Returns whether the texts differ in more than the rounding of numbers, which depends on the machine."""
    if kept == made:
        return False
    if TOKEN.sub("#", kept) != TOKEN.sub("#", made):
        return True
    pairs = zip(map(float, TOKEN.findall(kept)), map(float, TOKEN.findall(made)))
    return any(abs(a - b) > 2e-2 * abs(b) + 2e-4 for a, b in pairs)


def check(path, made):
    if not path.exists():
        return [f"{path.name} is missing"]
    kept = path.read_text().splitlines()
    if len(kept) != len(made):
        return [f"{path.name}: {len(kept)} cases are kept, {len(made)} are there"]
    pairs = [(i, a, b) for i, (a, b) in enumerate(zip(kept, made), 1) if b is not None]
    return [f"{path.name}:{i}:\n  kept {a}\n  made {b}" for i, a, b in pairs if differs(a, b)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    os.environ["MKL_CBWR"] = "COMPATIBLE"  # otherwise MKL chooses its code by the kind of processor
    try:
        import torch
    except ImportError:
        print("skipped: Python's torch is not here: scripts/test --oracle installs it")
        return SKIPPED
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    sys.path.insert(0, str(HERE))
    sys.dont_write_bytecode = True
    GOLDEN.mkdir(exist_ok=True)
    problems = []
    is_long_left_out = options.check and os.environ.get("RTRAIN_TEST_ALL") != "1"
    # A separate process for each part: imports of one part (torch._dynamo, …) change the names that another part sees.
    pool = multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1)
    for part in options.parts or sorted(p.stem for p in (HERE / "cases").glob("*.py")):
        path = GOLDEN / f"{part}.txt"
        made, wrong = pool.apply(lines_of, (part, is_long_left_out))
        problems += wrong
        if options.check:
            problems += check(path, made)
        else:
            path.write_text("".join(line + "\n" for line in made))
        print(f"{part}: {len(made)} cases, {path.stat().st_size // 1000 if path.exists() else 0} kB")
    total = sum(p.stat().st_size for p in GOLDEN.iterdir())
    if total > MAX_BYTES:
        problems.append(f"the golden files have {total} bytes, {MAX_BYTES} are allowed")
    print("\n".join(problems) + "\n" if problems else "", end="")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
