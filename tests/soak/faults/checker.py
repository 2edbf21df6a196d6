"""Checks the promises about the disk that must hold after any fault in a run of saver.lua. Reads only files and SQLite,
without rtrain.
"""

import ctypes
import ctypes.util
import json
import pathlib
import sqlite3

MANIFEST = ".rtrain-checkpoint.json"
WORKERS = 2


class Broken(AssertionError):
    """A promise about the disk that does not hold."""


def demand(condition, text):
    if not condition:
        raise Broken(text)


def xxh3(data):
    """XXH3-64 by the system's library, as 16 hexadecimal digits."""
    library = ctypes.CDLL(ctypes.util.find_library("xxhash"))
    library.XXH3_64bits.restype = ctypes.c_uint64
    library.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return f"{library.XXH3_64bits(data, len(data)):016x}"


def verified_manifest(directory):
    """Returns the manifest of a checkpoint after it has compared every byte with the manifest's hashes."""
    manifest = json.loads((directory / MANIFEST).read_text())["checkpoint"]
    listed = {entry["path"]: entry for entry in manifest["files"]}
    found = {str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir()} - {MANIFEST}
    demand(found == set(listed), f"{directory} holds {found}, its manifest lists {set(listed)}")
    for path, entry in listed.items():
        data = (directory / path).read_bytes()
        demand(len(data) == entry["size_bytes"] and xxh3(data) == entry["xxh3"], f"{directory / path} is torn")
    return manifest


def verified_epoch(directory):
    """Returns the epoch of a verified checkpoint of saver.lua."""
    epoch = verified_manifest(directory)["metrics"]["epoch"]
    demand(int((directory / "epoch").read_text()) == epoch, f"{directory} is of another epoch than its metrics")
    for rank in range(WORKERS):
        demand((directory / f"rank-{rank}").read_text() == f"{epoch} " * 20000, f"{directory}: rank {rank}'s file")
    return epoch


class Disk:
    """The content of a storage folder."""

    def __init__(self, storage, name="saver"):
        self.folder = pathlib.Path(storage) / name
        self.database = pathlib.Path(storage) / "rtrain.db"

    def query(self, text):
        connection = sqlite3.connect(self.database, timeout=10)
        try:
            return connection.execute(text).fetchall()
        finally:
            connection.close()

    def has_run(self):
        return (
            self.database.exists()
            and bool(self.query("SELECT 1 FROM sqlite_master WHERE name = 'runs'"))
            and bool(self.query("SELECT 1 FROM runs WHERE name = 'saver'"))
        )

    def kept(self):
        """Returns the names of the checkpoints that the store calls kept, the oldest first."""
        return [
            name for (name,) in self.query("SELECT name FROM checkpoints WHERE state = 'kept' ORDER BY idx, attempt")
        ]

    def stored(self):
        rows = self.query("SELECT rank, json_extract(metrics, '$.epoch'), json_extract(metrics, '$.kind') FROM reports")
        return {(rank, epoch, kind) for rank, epoch, kind in rows}

    def directories(self):
        folder = self.folder / "checkpoints"
        return sorted(folder.iterdir()) if folder.exists() else []


def acknowledged(path):
    """Returns (rank, epoch, kind) of each report() that returned. Ignores a last line that was not written completely."""
    path = pathlib.Path(path)
    text = path.read_text() if path.exists() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()
    return {(int(rank), int(epoch), kind) for rank, epoch, kind in map(str.split, lines)}


def check(storage, acks, controller_died=False):
    """Raises Broken unless the disk keeps every promise. `acks` is a result of acknowledged().

    A plain report may wait for up to a batch's time in the controller's memory. If the controller was killed, only the
    reports before an acknowledged checkpoint must be in the store.
    """
    disk = Disk(storage)
    if not disk.database.exists():
        return demand(not acks, "reports were acknowledged and there is no store")
    ((integrity,),) = disk.query("PRAGMA integrity_check")
    demand(integrity == "ok", f"integrity_check: {integrity}")
    if not disk.has_run():
        return demand(not acks, "reports were acknowledged and there is no run")
    epochs = {directory.name: verified_epoch(directory) for directory in disk.directories()}
    for name in disk.kept():
        demand(name in epochs, f"the kept checkpoint {name} is not there")
    safe = max([epoch for _, epoch, kind in acks if kind == "saved"], default=0)
    latest = max([epochs[name] for name in disk.kept()], default=0)
    demand(latest >= safe, f"the checkpoint of epoch {safe} was acknowledged, the latest kept is of {latest}")
    must_be_there = {ack for ack in acks if not controller_died or ack[1] <= safe}
    demand(must_be_there <= disk.stored(), f"lost reports: {sorted(must_be_there - disk.stored())}")


def check_finished(storage, epochs):
    """Checks in addition that the run is FINISHED, that its history has no gap and no duplicate, and that staging is
    empty.
    """
    disk = Disk(storage)
    ((status,),) = disk.query("SELECT status FROM runs")
    demand(status == "FINISHED", f"the run is {status}")
    rows = disk.query(
        "SELECT rank, idx, json_extract(metrics, '$.epoch'), json_extract(metrics, '$.kind') FROM reports "
        "WHERE superseded = 0 ORDER BY rank, idx"
    )
    expected = [
        (rank, 2 * (epoch - 1) + i, epoch, kind)
        for rank in range(WORKERS)
        for epoch in range(1, epochs + 1)
        for i, kind in enumerate(("plain", "saved"))
    ]
    demand(rows == expected, f"the history is {rows}")
    demand(
        [verified_epoch(disk.folder / "checkpoints" / name) for name in disk.kept()] == [epochs],
        f"kept are {disk.kept()}",
    )
    demand(len(disk.directories()) == 1, f"checkpoints/ holds {disk.directories()}")
    left = [str(path) for path in (disk.folder / "staging").rglob("*")]
    demand(not left, f"left in staging: {left}")
