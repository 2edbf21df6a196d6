"""Real images below $RTRAIN_DATA."""

import os

from harness.benchmark import Skipped


def has(name):
    folder = os.environ.get("RTRAIN_DATA")
    return bool(folder) and os.path.isdir(os.path.join(folder, name))


def require(name):
    if not has(name):
        raise Skipped(f"RTRAIN_DATA names no folder that holds {name}/")
