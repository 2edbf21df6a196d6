"""A store that Python's sqlite3 writes by the schema that rtrain prints."""

import json
import sqlite3

import pytest

START = 1_770_000_000_000  # 2026-02-02T02:40:00Z


def add(db, table, **values):
    values = {key: json.dumps(value) if isinstance(value, (dict, list)) else value for key, value in values.items()}
    marks = ", ".join("?" * len(values))
    db.execute(f"INSERT INTO {table}({', '.join(values)}) VALUES({marks})", list(values.values()))


def add_run(db, name, run_id, started_at, **values):
    row = {
        "status": "FINISHED",
        "num_workers": 2,
        "script": "train.lua",
        "note": "",
        "command": ["rtrain", "run", "train.lua"],
        "tags": [],
        "config": {"lr": 0.1},
        "scaling": {"num_workers": 2},
        "checkpoint_config": {},
        "owner_epoch": 1,
        "started_at": started_at,
        "ended_at": started_at + 61_500,
        "updated_at": started_at + 61_500,
        "environment": {"git_commit": "abc", "git_dirty": False, "hostname": "node", "command": ["rtrain"], "pid": 1},
    }
    add(db, "runs", name=name, run_id=run_id, **{**row, **values})


@pytest.fixture
def store(rtrain):
    schema = rtrain("sql", "--schema")
    assert schema.returncode == 0
    rtrain.storage.mkdir()
    db = sqlite3.connect(rtrain.storage / "rtrain.db", isolation_level=None)
    db.executescript("PRAGMA journal_mode=WAL;" + schema.stdout + "PRAGMA user_version=9;")
    add_run(
        db,
        "alpha",
        "aa11",
        START,
        tags=["red"],
        note="the first",
        checkpoint_config={"num_to_keep": 2, "checkpoint_score_attribute": "accuracy", "checkpoint_score_order": "max"},
    )
    add_run(
        db,
        "alphabet",
        "ab22",
        START + 1000,
        status="ERRORED",
        error={"code": "user", "message": "boom"},
        config={"lr": 0.4},
    )
    add_run(db, "beta", "bb33", START + 2000, config={"lr": 0.1, "opt": {"momentum": 0.9}, "weight-decay": 0.01})
    for attempt in (1, 2):
        add(
            db,
            "attempts",
            run_id="aa11",
            attempt=attempt,
            nonce="n",
            status=("ERRORED", "FINISHED")[attempt - 1],
            started_at=START,
            ended_at=START + 1,
        )
        for rank in (1, 0):
            add(
                db,
                "workers",
                run_id="aa11",
                attempt=attempt,
                rank=rank,
                pid=100 + rank,
                host="node",
                device="cpu",
                exit_code=0 if attempt == 2 else None,
                signal=9 if attempt == 1 else None,
            )
    for attempt, idx, superseded in ((1, 0, 0), (1, 1, 1), (2, 1, 0)):
        for rank in (0, 1):
            add(
                db,
                "reports",
                run_id="aa11",
                attempt=attempt,
                idx=idx,
                rank=rank,
                time=START + idx,
                superseded=superseded,
                metrics='{"accuracy":0.%d,"loss":null,"low":-1e999,"rank":%d}' % (5 + idx, rank),
                nonfinite='{"loss":"NaN","low":"-Infinity"}',
            )
    add(db, "reports", run_id="bb33", attempt=1, idx=0, rank=0, time=START, metrics={"accuracy": 0.9})
    for idx, state in enumerate(("kept", "dropped", "kept")):
        name = f"checkpoint_{idx:06d}"
        add(
            db,
            "checkpoints",
            run_id="aa11",
            name=name,
            attempt=1,
            idx=idx,
            metrics={"accuracy": (0.9, 0.1, 0.5)[idx]},
            size_bytes=1234,
            created_at=START,
            state=state,
        )
        if state == "kept":
            (rtrain.storage / "alpha" / "checkpoints" / name).mkdir(parents=True)
    db.close()
    return rtrain
