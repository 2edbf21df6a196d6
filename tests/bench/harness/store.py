"""Counts the reports of a run that a second process can see, in the format of each side."""

import os
import sqlite3


def visible_reports(side, storage):
    """Returns how many reports of rank 0 can be read now."""
    return _READERS[side](storage)


def visible_reports_of_rank(storage, rank):
    """Returns how many reports of this rank of an rtrain run can be read now."""
    path = os.path.join(storage, "rtrain.db")
    if not os.path.exists(path):
        return 0
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return connection.execute("SELECT count(*) FROM reports WHERE rank = ?", (rank,)).fetchone()[0]
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return 0  # the tables are still being created


def _rtrain(storage):
    return visible_reports_of_rank(storage, 0)


def _torchrun(storage):
    try:
        with open(os.path.join(storage, "metrics.jsonl")) as file:
            return sum(line.endswith("\n") for line in file)
    except FileNotFoundError:
        return 0


def _ray(storage):
    """Ray stores only reports with a checkpoint, in one snapshot file."""
    path = os.path.join(storage, "run", "checkpoint_manager_snapshot.json")
    return int(os.path.exists(path) and os.path.getsize(path) > 2)


_READERS = {"rtrain": _rtrain, "torchrun": _torchrun, "ray": _ray}
