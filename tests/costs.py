#!/usr/bin/env python3
"""Writes tests/costs.txt out of what CTest has measured in a build folder.

tests/costs.py [BUILD FOLDER]
"""

import pathlib
import sys

LEAST_SECONDS = 8
tests = pathlib.Path(__file__).parent
folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tests.parent / "build")
head = (tests / "costs.txt").read_text().splitlines()[0]
rows = []
for line in (folder / "Testing/Temporary/CTestCostData.txt").read_text().splitlines():
    if line == "---":  # behind it stand the tests that failed
        break
    name, _, seconds = line.split()
    if float(seconds) >= LEAST_SECONDS and name.split(".")[0] in ("e2e", "cluster", "oracle"):
        rows.append((round(float(seconds)), name))
text = "".join(f"{name} {seconds}\n" for seconds, name in sorted(rows, reverse=True))
(tests / "costs.txt").write_text(f"{head}\n{text}")
