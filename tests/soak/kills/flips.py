#!/usr/bin/env python3
"""Bits that flip on one rank are found at the next commit, the rank is named, and the run ends with the bits of a calm one.

    flips.py [--flips 1000] [--replicas 3] [--seed 0]

flips.lua runs twice: once as it is, once with that many flips one after the other, each of a random bit of a random
parameter or tensor of an optimizer, on a random rank, between a step and its commit. Of three replicas or more the damaged one
gets the state of the others. Of two nobody knows which is right: they go back to a checkpoint, and the damaged one is named
when the step has been made again. Each flip must be in an event with its commit, its tensor and its rank, and there may be no
other. The executable is $RTRAIN.
"""

import argparse
import collections
import contextlib
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RTRAIN = os.path.abspath(os.environ.get("RTRAIN", "build/rtrain"))
LOG_SHOWN = 4000  # characters from the end of the log
NAMED = r"after commit (\d+) '(\S+)' of rank (\d+) differs from the other ranks"
UNDECIDED = r"after commit \d+ '(\S+)' of ranks 0 and 1 differ from each other"
AGAIN = r"were made again: rank (\d+) had another state"


class FlipRun:
    """One run of the script in its own folder."""

    def __init__(self, folder, options, is_calm):
        self.folder = folder
        folder.mkdir()
        (folder / "rt").mkdir(mode=0o700)
        settings = {
            "seed": options.seed,
            "flips": options.flips,
            "share": 0.5 if options.replicas > 2 else 0.1,
            "save_every": 0 if options.replicas > 2 else 5,
            "calm": str(is_calm).lower(),
        }
        command = [RTRAIN, "run", str(HERE / "flips.lua"), "-q", "-n", str(options.replicas), "--oversubscribe"]
        for name, value in settings.items():
            command += ["--set", f"{name}={value}"]
        env = {
            **os.environ,
            "RTRAIN_STORAGE": str(folder / "storage"),
            "RTRAIN_RUNTIME_DIR": str(folder / "rt"),
            "HOME": str(folder),
            "LUA_PATH": f"{HERE.parent.parent / 'e2e' / 'scripts'}/?.lua;;",
        }
        done = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"the run in {folder} ended with {done.returncode}:\n{done.stderr[-LOG_SHOWN:]}")
        self.ends = [(folder / f"last-{rank}").read_bytes() for rank in range(options.replicas)]

    def query(self, sql):
        with contextlib.closing(sqlite3.connect(f"file:{self.folder}/storage/rtrain.db?mode=ro", uri=True)) as db:
            return [text for (text,) in db.execute(sql)]

    def flips(self):
        """Returns the rank, the tensor and the type of each flip, by its step."""
        out = {}
        for path in self.folder.glob("flip-*"):
            rank, name, dtype, _ = path.read_text().split()
            out[int(path.name.removeprefix("flip-"))] = (int(rank), name, dtype)
        return out

    def named(self):
        """Returns the commit, the tensor and the rank of each difference that was found."""
        texts = self.query("SELECT text FROM events WHERE text LIKE '%from the other ranks%'")
        found = [re.search(NAMED, text).groups() for text in texts]
        return sorted((int(commit), name, int(rank)) for commit, name, rank in found)

    def named_later(self):
        """Returns the tensor of each difference of two replicas and the rank that had it, in their order."""
        errors = self.query("SELECT error FROM attempts WHERE status = 'ERRORED' ORDER BY attempt")
        texts = self.query("SELECT text FROM events WHERE text LIKE '%were made again%' ORDER BY rowid")
        ranks = [int(re.search(AGAIN, text)[1]) for text in texts]
        return list(zip([re.search(UNDECIDED, error)[1] for error in errors], ranks, strict=True))


def check(flipped, options):
    flips = flipped.flips()
    assert len(flips) == options.flips, f"{len(flips)} flips"
    if options.replicas > 2:
        wanted, found = sorted((step, name, rank) for step, (rank, name, _) in flips.items()), flipped.named()
    else:
        wanted, found = [(flips[step][1], flips[step][0]) for step in sorted(flips)], flipped.named_later()
    missing = [each for each in wanted if each not in found]
    assert found == wanted, f"{len(found)} found of {len(wanted)}, not these: {missing[:10]}"
    return collections.Counter(dtype for _, _, dtype in flips.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix="rf-"))
    calm = FlipRun(place / "calm", options, is_calm=True)
    begun = time.monotonic()
    flipped = FlipRun(place / "flipped", options, is_calm=False)
    dtypes = check(flipped, options)
    assert len(set(calm.ends)) == 1 and not calm.named()
    assert flipped.ends == calm.ends, f"other bits: {place}"
    print(
        f"seed {options.seed}: {options.flips} flips on {options.replicas} replicas in {time.monotonic() - begun:.1f} s, "
        f"{dict(dtypes)}: all were found at the next commit and named, and the run ended with the same bits"
    )
    shutil.rmtree(place)


if __name__ == "__main__":
    sys.exit(main())
