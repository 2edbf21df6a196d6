"""rtrain sql, logs and others over a store that Python's sqlite3 wrote; and stores and places that commands look for."""

import contextlib
import json
import os
import sqlite3

import pytest

from listed_store import START, add, add_run, store  # noqa: F401  (a fixture)


def test_sql_answers_and_changes_nothing(store):
    assert store.json("sql", "SELECT name, num_workers AS n, error FROM runs WHERE name = 'beta'") == [
        {"name": "beta", "n": 2, "error": None}
    ]
    assert store.json("sql", "SELECT name, duration_s FROM run_list ORDER BY name LIMIT 1") == [
        {"name": "alpha", "duration_s": 61.5}
    ]
    assert "beta" in store("sql", "SELECT name FROM runs").stdout
    for query in (
        "DELETE FROM runs",
        "PRAGMA user_version=7",
        f"ATTACH '{store.storage}/x.db' AS x",
        "SELECT 1; SELECT 2",
        "SELECT nme FROM runs",
        "",
        f"VACUUM INTO '{store.storage}/copy.db'",
    ):
        assert store("sql", query).returncode == 2, query
    for query, reason in (
        ("SELECT abs(-9223372036854775807 - 1)", "integer overflow"),
        ("SELECT json('x') FROM runs", "malformed JSON"),
        ("SELECT zeroblob(2000000000)", "a text or blob in it is too large"),
    ):
        failed = store("sql", query)
        assert (failed.returncode, failed.stderr) == (2, f"rtrain: the query: {reason}\n")
    assert store("ls", "--where", "json('x')").returncode == 2
    assert sorted(path.name for path in store.storage.iterdir()) == ["alpha", "rtrain.db"]


@pytest.mark.parametrize(
    "query, reason",
    [
        ("SELECT name FROM rnus", "no such table: rnus: did you mean 'runs'?"),
        ("SELECT name FROM main.run_lits", "no such table: main.run_lits: did you mean 'run_list'?"),
        ("SELECT * FROM xyz", "no such table: xyz: valid names: annotations, attempts, "),
        ("SELECT nmae, status FROM runs", "no such column: nmae: did you mean 'name'?"),
        (
            "SELECT r.metrisc FROM Reports AS r JOIN runs USING(run_id)",
            "no such column: r.metrisc: did you mean 'metrics'?",
        ),
        ("SELECT duration FROM run_list", "no such column: duration: did you mean 'duration_s'?"),
        (
            "SELECT loss FROM metric_list",
            "no such column: loss: valid names: name, idx, attempt, time, metrics, nonfinite",
        ),
    ],
)
def test_sql_says_which_table_or_column_may_be_meant(store, query, reason):
    failed = store("sql", query)
    assert failed.returncode == 2 and f"rtrain: the query: {reason}" in failed.stderr, failed.stderr


def test_logs_of_the_last_attempt_or_one_rank(store):
    for attempt, rank in ((1, 0), (2, 0), (2, 1)):
        path = store.storage / "alpha" / "logs" / f"attempt-{attempt}" / f"rank-{rank}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"one of {attempt}.{rank}\nlast")
    assert store("logs", "alpha").stdout == "[rank 0] one of 2.0\n[rank 0] last\n[rank 1] one of 2.1\n[rank 1] last\n"
    assert store("logs", "alpha", "--rank", "1").stdout == "[rank 1] one of 2.1\n[rank 1] last\n"
    assert store("logs", "alpha", "--attempt", "1").stdout.startswith("[rank 0] one of 1.0\n")
    assert store.json("logs", "alpha", "--rank", "1")[0] == {"attempt": 2, "rank": 1, "line": "one of 2.1"}
    assert store("logs", "alpha", "--grep", "^(one|two) of 2\\.[1-9]$").stdout == "[rank 1] one of 2.1\n"
    assert [line["line"] for line in store.json("logs", "alpha", "--grep", "l.st")] == ["last", "last"]
    lines = store("logs", "alpha", "--rank", "0", "--json=lines").stdout.splitlines()
    assert [json.loads(line)["line"] for line in lines] == ["one of 2.0", "last"]
    assert "one of 1.0" in store("logs", "alpha", "-f").stdout, "a run that has ended is not waited for"
    assert store("logs", "beta").stdout == ""
    wrong = store("logs", "alpha", "--grep", "(")
    assert wrong.returncode == 2 and "--grep (: Unmatched ( or" in wrong.stderr, wrong.stderr


def test_a_run_whose_controller_is_gone_is_lost(store):
    with sqlite3.connect(store.storage / "rtrain.db") as db:
        add_run(db, "gone", "cc44", START + 5000, status="RUNNING", ended_at=None)
    db.close()
    assert store.json("show", "gone")["status"] == "LOST"
    assert [run["name"] for run in store.json("ls", "--where", "status = 'LOST'")] == ["gone"]


def test_without_a_store_there_are_no_runs(rtrain):
    result = rtrain("ls")
    assert (result.returncode, result.stdout) == (0, "")
    assert str(rtrain.storage) in result.stderr
    assert rtrain.json("ls") == []
    assert rtrain.json("sql", "SELECT 1 FROM runs") == []
    assert rtrain("show", "last").returncode == 2
    assert not rtrain.storage.exists(), "reading makes nothing"


def test_the_storage_option_goes_before_the_environment(store):
    empty = store.folder / "empty"
    empty.mkdir()
    assert store.json("ls", "--storage", str(empty)) == []
    store.env["RTRAIN_STORAGE"] = str(empty)
    assert len(store.json("ls", "--storage", str(store.storage))) == 3
    os.rename(store.storage, store.folder / "rtrain_results")
    del store.env["RTRAIN_STORAGE"]
    assert len(store.json("ls")) == 3


@pytest.mark.parametrize(
    "args, hint",
    [
        (["lss"], "did you mean 'ls'?"),
        (["shwo", "x"], "did you mean 'show'?"),
        (["ls", "--jsno"], "did you mean '--json'?"),
        (["show", "--storge=x", "y"], "did you mean '--storage'?"),
        (["show"], "RUN"),
        (["completion", "bsh"], "unknown 'bsh': did you mean 'bash'?"),
        (["run", "x", "--resume", "yes"], "--resume: unknown 'yes': valid names: "),
        ([], "List the runs"),
    ],
)
def test_a_wrong_command_line_names_the_nearest(rtrain, args, hint):
    result = rtrain(*args)
    assert result.returncode == 2 and hint in result.stderr, result.stderr
    assert result.stdout == ""


def test_env_names_every_place_of_the_libraries(rtrain):
    rtrain.env["RTRAIN_LIBTORCH"] = "/nowhere/at/all"
    rtrain.env["RTRAIN_ARROW"] = "/no/arrow/here"
    document = rtrain.json("env")
    assert document["arrow"]["places"] == [
        {"path": "/no/arrow/here", "source": "RTRAIN_ARROW", "finding": "no libarrow.so.2600"}
    ]
    assert "/no/arrow/here" in rtrain("env").stdout
    assert {"version", "libtorch", "arrow", "cores", "memory_bytes", "gpus", "gpu_reason"} <= set(document)
    assert document["libtorch"]["places"][0]["path"].startswith("/nowhere/at/all")
    assert document["cores"] >= 1 and document["memory_bytes"] > 0
    assert bool(document["gpus"]) != bool(document["gpu_reason"])
    assert "/nowhere/at/all" in rtrain("env").stdout
    assert rtrain("--version").stdout == f"rtrain {document['version']}\n"


@pytest.fixture
def wide_store(store):
    """A store with one run of 2,500 metrics, and one whose metrics differ only in case from each other and from
    columns."""
    with contextlib.closing(sqlite3.connect(store.storage / "rtrain.db", isolation_level=None)) as db:
        for i, (name, metrics) in enumerate(
            (
                ("wide", {f"layer_{n}/norm": n for n in range(2500)}),
                ("cases", {"loss": 1, "Loss": 2, "Status": "mine", "key": 5, "val/Acc": 7, "it's": 8}),
            )
        ):
            add_run(db, name, f"dd{i}", START + 9000 + i)
            add(db, "reports", run_id=f"dd{i}", attempt=1, idx=0, rank=0, time=START, metrics=metrics)
    return store


@pytest.mark.parametrize(
    "options, names",
    [
        (["--where", "status = 'FINISHED' AND accuracy > 0.7"], ["beta"]),
        (["--where", '"layer_2499/norm" = 2499'], ["wide"]),
        (["--sort", "-layer_7/norm", "--limit", "1"], ["wide"]),
        (["--where", "loss = 1"], ["cases"]),
        (["--where", "Loss = 2"], ["cases"]),
        (["--where", "Loss = 1"], []),
        (["--where", "list.loss = 1 AND [Loss] = 2 AND `key`=5 AND key IN (5)"], ["cases"]),
        (["--where", "Status = 'mine'"], ["cases"]),
        (["--where", "Status IS NULL AND name = 'beta'"], ["beta"]),
        (["--where", "NAME = 'beta' AND ACCURACY > 0.7"], ["beta"]),
        (["--where", '"val/acc" = 7 AND "it\'s" = 8'], ["cases"]),
        (["--where", "name = 'loss' /* loss */ OR name = 'Loss it''s' -- Loss"], []),
        (["--sort", "Loss", "--limit", "1"], ["cases"]),
        (["--sort", "ACCURACY", "--limit", "1"], ["alpha"]),
    ],
)
def test_metrics_are_found_among_many_by_their_very_names(wide_store, options, names):
    assert [run["name"] for run in wide_store.json("ls", *options)] == names


@pytest.mark.parametrize(
    "options, hint",
    [
        (["--where", "LOSS < 3"], "'LOSS' may be Loss or loss: write one of them"),
        (["--sort", "LOSS"], "'LOSS' may be Loss or loss: write one of them"),
        (["--where", "STATUS = 1"], "'STATUS' may be status or Status: write one of them"),
        (["--where", "los < 3"], "did you mean 'Loss'?"),
    ],
)
def test_a_name_that_could_be_two_is_wrong_usage(wide_store, options, hint):
    result = wide_store("ls", *options)
    assert result.returncode == 2 and hint in result.stderr, result.stderr
