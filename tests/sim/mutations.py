#!/usr/bin/env python3
"""Checks the worlds of tests/sim: makes faults in host/decide, one after the other, and each must break a life.

    tests/sim/mutations.py                          # the faults of faults.py, over all of host/decide
    tests/sim/mutations.py FILE … [--number 30]     # faults at random in these files of host/decide
    options: [--seed 1] [--events 1000000] [--jobs 2]

A random fault omits a statement or an early return, inverts a condition, or replaces an operator. Prints the faults
that break no life: a reader then decides whether the changed code is equivalent, or an invariant is missing. Exits with
1 where there are any. Needs g++; takes some seconds for each fault.
"""

import argparse
import concurrent.futures
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

from faults import FAULTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
DECIDE = ROOT / "host/decide"
COMPILE = [*(["ccache"] if shutil.which("ccache") else []), "g++", "-std=c++20", "-O1", "-w", f"-I{ROOT}", "-c"]
# The files of host/wire, host/loop and host/base that the worlds and host/decide call.
OTHERS = (
    "send_queue link_sequence wire_frame frame error text value record metric_path json_scan json utf8 hash codec "
    "random clock hex terminal_text text_width"
).split()

STATEMENT = re.compile(r"^ +(?:add\(.*\)|m_\.[\w.>-]+ = [^=].*|\w+\(\)|\+\+m_\.\w+|[\w.]+\.reset\(\));$")
EARLY_RETURN = re.compile(r"^ +if \(.*\) return.*;$")
CONDITION = re.compile(r"\bif \((?!constexpr)(.*)\)(?= return| \{|$| \w+\()")
OPERATORS = [(" && ", " || "), (" || ", " && "), (" < ", " <= "), (" >= ", " > "), (" == ", " != "), (" != ", " == ")]


def random_faults(path):
    """Yields (the text of the file with one fault, a description of the fault) for each possible fault."""
    lines = path.read_text().split("\n")
    for number, line in enumerate(lines):
        for becomes in changes_of(line):
            yield (
                path,
                "\n".join([*lines[:number], becomes, *lines[number + 1 :]]),
                f"{number + 1}: {line.strip()} -> {becomes.strip()}",
            )


def changes_of(line):
    if STATEMENT.match(line) or EARLY_RETURN.match(line):
        yield ""
    condition = CONDITION.search(line)
    if condition and condition[1].count("(") == condition[1].count(")"):
        yield line.replace(f"({condition[1]})", f"(!({condition[1]}))", 1)
    if line.lstrip().startswith(("//", "template", "#")):
        return
    for operator, other in OPERATORS:
        if operator in line:
            yield line.replace(operator, other, 1)


def listed_faults():
    for name, before, after in FAULTS:
        path = DECIDE / name
        text = path.read_text()
        if text.count(before) != 1:
            sys.exit(f"mutations: {name} has {text.count(before)} times: {before}")
        yield path, text.replace(before, after), f"{before.strip()} -> {after.strip()}"


def source_named(name):
    folders = ("base", "wire", "loop")
    found = [path for folder in folders for path in (ROOT / "host" / folder).rglob(f"{name}.cpp")]
    if len(found) != 1:
        sys.exit(f"mutations: {len(found)} files have the name {name}.cpp")
    return found[0]


def compiled(source, folder):
    """Returns the object file of a source, or None if it does not compile."""
    made = folder / ("-".join(source.parts[-3:]) + ".o")
    return made if subprocess.run([*COMPILE, source, "-o", made], capture_output=True).returncode == 0 else None


def is_header(path):
    return path.suffix == ".h"


def break_of(objects, folder, events):
    """Returns how a life breaks, or None if no life does."""
    program = folder / "sim"
    subprocess.run(["g++", "-o", program, *objects], check=True)
    try:
        done = subprocess.run(
            [program, "--events", str(events), "--brief", "yes"], capture_output=True, text=True, timeout=300
        )
    except subprocess.TimeoutExpired:
        return "a step that never ends"
    if done.returncode == 0:
        return None
    return done.stdout.strip().split("\n")[-1] if done.returncode == 1 else f"a crash, {done.returncode}"


def changed_objects(path, text, objects, folder):
    """Returns the objects with the fault, or None if they do not compile. A changed header changes all its includers."""
    if not is_header(path):
        changed = folder / path.name
        changed.write_text(text)
        mutant = compiled(changed, folder)
        return mutant and [mutant if source == path else made for source, made in objects.items()]
    include = path.relative_to(ROOT).as_posix()
    (folder / include).parent.mkdir(parents=True, exist_ok=True)
    (folder / include).write_text(text)
    out = []
    for source, made in objects.items():
        header = source.with_suffix(".h")
        if include in source.read_text() or (header.exists() and include in header.read_text()):
            mutant = folder / f"{source.stem}-{source.parts[-2]}.o"
            command = [*COMPILE[:-2], f"-I{folder}", *COMPILE[-2:], source, "-o", mutant]
            if subprocess.run(command, capture_output=True).returncode != 0:
                return None
            made = mutant
        out.append(made)
    return out


def judge(fault, objects, events):
    """Returns (description of the fault, how a life breaks), or None if the fault does not compile."""
    path, text, change = fault
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        mutants = changed_objects(path, text, objects, folder)
        return mutants and (f"{path.relative_to(DECIDE)}: {change}", break_of(mutants, folder, events))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--number", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="how each fault was shown, too")
    options = parser.parse_args()
    if options.files:
        faults = [fault for name in options.files for fault in random_faults(DECIDE / name)]
        random.Random(options.seed).shuffle(faults)
        faults = faults[: options.number]
    else:
        faults = list(listed_faults())
    made = survived = 0
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(temporary)
        sources = [*(ROOT / "tests/sim").rglob("*.cpp"), *DECIDE.rglob("*.cpp"), *map(source_named, OTHERS)]
        objects = dict(zip(sources, pool.map(lambda source: compiled(source, folder), sources)))
        if broken := break_of(objects.values(), folder, options.events):
            sys.exit(f"mutations: a life breaks without a fault: {broken}")
        for judged in pool.map(lambda fault: judge(fault, objects, options.events), faults):
            if judged is None:
                continue
            change, broken = judged
            made += 1
            if broken is None:
                survived += 1
                print(f"not shown by a life: {change}", flush=True)
            elif options.show:
                print(f"{change}\n    {broken}", flush=True)
    print(f"{made} faults, {made - survived} shown")
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
