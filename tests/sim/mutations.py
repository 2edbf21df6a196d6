#!/usr/bin/env python3
"""Checks the worlds of tests/sim: makes faults in host/decide, one after the other, and each must break a life.

    tests/sim/mutations.py [FILE …] [--number 30] [--seed 1] [--events 1000000]

A fault is a statement or an early return that is left out, a condition that is turned round, or another operator. FILE: of
host/decide, state_machine.cpp without one. Prints the faults that no life has shown, which are for a reader: the lines are
equivalent, or an invariant is missing. Ends with 1 where there are any. Needs g++; takes some seconds for each fault.
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILE = ["g++", "-std=c++20", "-O1", "-w", f"-I{ROOT}", "-c"]
# What the worlds and host/decide call.
OTHERS = [
    "host/wire/send_queue",
    "host/wire/link_sequence",
    "host/wire/wire_frame",
    "host/loop/frame",
    *(
        f"host/base/{name}"
        for name in (
            "error text value record metric_path json_scan json utf8 hash codec random clock hex "
            "terminal_text text_width"
        ).split()
    ),
]

STATEMENT = re.compile(r"^ +(?:add\(.*\)|m_\.[\w.>-]+ = [^=].*|\w+\(\)|\+\+m_\.\w+|[\w.]+\.reset\(\));$")
EARLY_RETURN = re.compile(r"^ +if \(.*\) return.*;$")
CONDITION = re.compile(r"\bif \((?!constexpr)(.*)\)(?= return| \{|$| \w+\()")
OPERATORS = [(" && ", " || "), (" || ", " && "), (" < ", " <= "), (" >= ", " > "), (" == ", " != "), (" != ", " == ")]


def faults_of(source):
    """(line number, what the line becomes) of every fault that can be made in the text of a file."""
    for number, line in enumerate(source.split("\n")):
        if STATEMENT.match(line) or EARLY_RETURN.match(line):
            yield number, ""
        condition = CONDITION.search(line)
        if condition and condition[1].count("(") == condition[1].count(")"):
            yield number, line.replace(f"({condition[1]})", f"(!({condition[1]}))", 1)
        if line.lstrip().startswith(("//", "template", "#")):
            continue
        for operator, other in OPERATORS:
            if operator in line:
                yield number, line.replace(operator, other, 1)


def compiled(source, folder):
    """The object of a source; None where it does not compile."""
    made = folder / ("-".join(source.parts[-3:]) + ".o")
    return made if subprocess.run([*COMPILE, source, "-o", made], capture_output=True).returncode == 0 else None


def is_found(objects, folder, events):
    program = folder / "sim"
    subprocess.run(["g++", "-o", program, *objects], check=True)
    try:
        return subprocess.run([program, "--events", str(events)], capture_output=True, timeout=120).returncode != 0
    except subprocess.TimeoutExpired:  # a step that never ends
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=["state_machine.cpp"])
    parser.add_argument("--number", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", type=int, default=1_000_000)
    options = parser.parse_args()
    texts = {ROOT / "host/decide" / name: (ROOT / "host/decide" / name).read_text() for name in options.files}
    faults = [(path, *fault) for path, text in texts.items() for fault in faults_of(text)]
    random.Random(options.seed).shuffle(faults)
    survived = made = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        sources = [
            *(ROOT / "tests/sim").glob("*.cpp"),
            *(ROOT / "host/decide").glob("*.cpp"),
            *(ROOT / f"{name}.cpp" for name in OTHERS),
        ]
        objects = {source: compiled(source, folder) for source in sources}
        if is_found(objects.values(), folder, options.events):
            sys.exit("mutations: a life breaks without a fault: run sim")
        for path, number, becomes in faults:
            if made == options.number:
                break
            lines = texts[path].split("\n")
            changed = folder / path.name
            changed.write_text("\n".join([*lines[:number], becomes, *lines[number + 1 :]]))
            mutant = compiled(changed, folder)
            if mutant is None:
                continue
            made += 1
            if not is_found(
                [mutant if source == path else made_of for source, made_of in objects.items()], folder, options.events
            ):
                survived += 1
                print(
                    f"{path.relative_to(ROOT)}:{number + 1}: not shown by a life:\n- "
                    f"{lines[number].strip()}\n+ {becomes.strip()}",
                    flush=True,
                )
    print(f"{made} faults, {made - survived} shown")
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
