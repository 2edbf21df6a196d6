"""rtrain from Python: what a training script reports (rtrain.train), and the runs of a store (rtrain.runs).

Needs nothing but Python's standard library, and does nothing by itself where rtrain has not started the process.
"""

import json as _json
import shutil as _shutil
import subprocess as _subprocess

__all__ = ["metrics", "runs"]


def _table(*words, storage=None, executable="rtrain"):
    found = _shutil.which(executable)
    if found is None:
        raise FileNotFoundError(f"no {executable} in PATH: rtrain.runs() asks the executable")
    command = [found, *words, "--json", *(["--storage", storage] if storage else [])]
    done = _subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    rows = _json.loads(done.stdout or "[]")
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def runs(storage=None, *, executable="rtrain"):
    """The runs of a store, as `rtrain ls --json` prints them: a pandas.DataFrame where pandas is there, else a list of dicts.

    storage: a folder or URI; default $RTRAIN_STORAGE, else ~/rtrain_results.
    """
    return _table("ls", storage=storage, executable=executable)


def metrics(run, storage=None, *, executable="rtrain"):
    """The reports of rank 0 of a run, as `rtrain metrics RUN --json` prints them; the same type as runs() returns."""
    return _table("metrics", run, storage=storage, executable=executable)
