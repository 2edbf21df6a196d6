"""The listing commands over a store that Python's sqlite3 wrote by the schema that rtrain prints."""

import contextlib
import json
import os
import re
import sqlite3

import pytest

from test_terminal import OnTerminal

START = 1_770_000_000_000  # 2026-02-02T02:40:00Z
MANIFEST = ".rtrain-checkpoint.json"


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
    db.executescript("PRAGMA journal_mode=WAL;" + schema.stdout + "PRAGMA user_version=7;")
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


def test_ls_lists_the_newest_first(store):
    runs = store.json("ls")
    assert [run["name"] for run in runs] == ["beta", "alphabet", "alpha"]
    alpha = runs[-1]
    assert alpha == {
        "name": "alpha",
        "run_id": "aa11",
        "status": "FINISHED",
        "num_workers": 2,
        "started_at": "2026-02-02T02:40:00.000Z",
        "ended_at": "2026-02-02T02:41:01.500Z",
        "duration_s": 61.5,
        "waiting_s": 0.0,
        "running_s": 0.002,
        "script": "train.lua",
        "tags": ["red"],
        "metrics": {"accuracy": 0.6, "loss": "NaN", "low": "-Infinity", "rank": 0},
    }
    assert runs[1]["metrics"] == {}


@pytest.mark.parametrize(
    "options, names",
    [
        (["--where", "status = 'FINISHED'"], ["beta", "alpha"]),
        (["--where", "accuracy > 0.7"], ["beta"]),
        (["--where", "tags LIKE '%red%' OR name = 'beta' -- why"], ["beta", "alpha"]),
        (["--sort", "name"], ["alpha", "alphabet", "beta"]),
        (["--sort", "accuracy"], ["alpha", "beta", "alphabet"]),
        (["--sort", "-accuracy", "--limit", "1"], ["beta"]),
        (["--limit", "0"], []),
        (["--tag", "red"], ["alpha"]),
        (["--tag", "red", "--tag", "blue"], []),
        (["--where", "tag = 'red'"], ["alpha"]),
        (["--where", "tag IN ('blue', 'red') AND accuracy > 0.5"], ["alpha"]),
        (["--where", "tag IS NULL"], ["beta", "alphabet"]),
        (["--where", "config.lr < 0.2 AND config.opt.momentum = 0.9"], ["beta"]),
        (["--where", 'config."weight-decay" > 0'], ["beta"]),
        (["--sort", "-config.lr", "--limit", "1"], ["alphabet"]),
    ],
)
def test_ls_selects_and_sorts(store, options, names):
    assert [run["name"] for run in store.json("ls", *options)] == names


@pytest.mark.parametrize(
    "options, hint",
    [
        (["--where", "acuracy > 1"], "did you mean 'accuracy'?"),
        (["--where", "status ="], "--where"),
        (["--where", "1) ; DELETE FROM runs; --"], "--where"),
        (["--sort", "nam"], "did you mean 'name'?"),
        (["--sort", "config.rl"], "did you mean 'config.lr'?"),
        (["--where", "config.opt.momentun = 1"], "did you mean 'config.opt.momentum'?"),
        (
            ["--where", "run_id IN (SELECT run_id FROM checkpoint)"],
            "no such table: checkpoint: did you mean 'checkpoints'?",
        ),
        (["--json=xml"], "--json: unknown form 'xml': say lines"),
    ],
)
def test_a_wrong_expression_is_wrong_usage(store, options, hint):
    result = store("ls", *options)
    assert result.returncode == 2 and hint in result.stderr, result.stderr
    assert len(store.json("ls")) == 3


def test_a_value_of_the_config_is_what_sqlite_makes_of_it(store):
    values = {
        "i": -7,
        "f": 0.1,
        "large": 1e300,
        "wide": 2**70,
        "yes": True,
        "no": False,
        "none": None,
        "text": 'a "b" \u00e4\n',
        "list": [1, {"x": 2}],
        "map": {"y": "}", "z": 3},
        "a b": 1,
        'quo"te': 2,
        "": 3,
    }
    with sqlite3.connect(store.storage / "rtrain.db") as db:
        add_run(db, "values", "ee55", START + 9000, config=values)
    db.close()
    for key in [*values, "missing"]:
        if '"' in key:
            continue  # a JSON path cannot express such a key
        [row] = json.loads(
            store(
                "sql",
                "SELECT config_value(config, '%s') AS own, json_extract(config, '$.\"%s\"') AS its,"
                " typeof(config_value(config, '%s')) AS own_type, typeof(json_extract(config, '$.\"%s\"'))"
                " AS its_type FROM runs WHERE name = 'values'" % ((key,) * 4),
                "--json",
            ).stdout
        )
        own = row["own"].replace(" ", "") if key in ("list", "map") else row["own"]  # json_extract drops spaces
        assert (own, row["own_type"]) == (row["its"], row["its_type"]), key
    for where in (
        "config.i = -7",
        "config.map.z = 3",
        "config.yes",
        'config."a b" = 1',
        'config."quo""te" = 2',
        "config.none IS NULL AND config.i < 0",
    ):
        assert [run["name"] for run in store.json("ls", "--where", where)] == ["values"], where


def test_show_tells_all_of_a_run(store):
    show = store.json("show", "aa11")
    assert show["path"] == str(store.storage / "alpha")
    assert show["environment"] == {"git_commit": "abc", "git_dirty": False, "hostname": "node", "command": ["rtrain"]}
    assert [attempt["status"] for attempt in show["attempts"]] == ["ERRORED", "FINISHED"]
    assert show["attempts"][0]["workers"][1] == {
        "rank": 1,
        "pid": 101,
        "host": "node",
        "device": "cpu",
        "gpu": None,
        "data": None,
        "timing": None,
        "exit_code": None,
        "signal": 9,
    }
    assert [row["name"] for row in show["best_checkpoints"]] == ["checkpoint_000000", "checkpoint_000002"]
    assert show["last_report"] == {
        "training_iteration": 2,
        "time_total_s": 0.002,
        "timestamp": START // 1000,
        "pid": 100,
        "hostname": "node",
        "node_ip": "127.0.0.1",
    }
    assert store.json("show", "alphabet")["last_report"] is None
    text = store("show", "alpha").stdout
    for word in (
        "alpha",
        "the first",
        "signal 9",
        "checkpoint_000002",
        "1 m 02 s",
        "last report",
        "training_iteration",
    ):
        assert word in text
    assert "boom" in store("show", "alphabet").stdout


# Everything below these keys is the user's own, or is described with another command.
NOT_DESCRIBED = {"metrics", "config", "scaling", "ranks", "checkpoints", "best_checkpoints"}


def keys_in(value):
    if isinstance(value, list):
        return set().union(*map(keys_in, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys_in(item) for key, item in value.items() if key not in NOT_DESCRIBED))


@pytest.mark.parametrize(
    "command",
    [
        ["ls"],
        ["show", "alpha"],
        ["metrics", "alpha", "--superseded", "--ranks"],
        ["checkpoint", "ls", "alpha", "--dropped"],
        ["logs", "alpha"],
    ],
)
def test_the_help_names_every_key_of_json(store, command):
    folder = store.storage / "alpha/logs/attempt-1"
    folder.mkdir(parents=True)
    (folder / "rank-0.log").write_text("line\n")
    words = command[: 2 if command[0] == "checkpoint" else 1]
    documented = store(*words, "--help").stdout.split("Keys of --json")[1]
    found = keys_in(store.json(*command))
    assert found and found <= set(re.findall("[a-z_]+", documented)), "undocumented keys"


def test_metrics_are_those_that_count(store):
    rows = store.json("metrics", "alpha")
    assert [(row["index"], row["attempt"]) for row in rows] == [(0, 1), (1, 2)]
    assert set(rows[0]) == {"index", "attempt", "time", "metrics"}
    assert rows[1]["metrics"] == {"accuracy": 0.6, "loss": "NaN", "low": "-Infinity", "rank": 0}
    every = store.json("metrics", "alpha", "--superseded", "--ranks")
    assert [(row["index"], row["attempt"], row["superseded"]) for row in every] == [
        (0, 1, False),
        (1, 1, True),
        (1, 2, False),
    ]
    assert [[metrics["rank"] for metrics in row["ranks"]] for row in every] == [[0, 1]] * 3
    assert "superseded" in store("metrics", "alpha", "--superseded").stdout


def test_checkpoints_mark_best_and_latest(store):
    rows = store.json("checkpoint", "ls", "alpha")
    assert [(row["index"], row["best"], row["latest"]) for row in rows] == [(0, True, False), (2, False, True)]
    assert rows[0]["path"] == str(store.storage / "alpha/checkpoints/checkpoint_000000")
    every = store.json("checkpoint", "ls", "alpha", "--dropped")
    assert [row["kept"] for row in every] == [True, False, True]
    assert "1.2 kB" in store("checkpoint", "ls", "alpha").stdout


def test_a_run_is_found_by_name_beginning_and_last(store):
    for given, name in (("alpha", "alpha"), ("aa11", "alpha"), ("b", "beta"), ("ab", "alphabet"), ("last", "beta")):
        assert store.json("show", given)["name"] == name, given
    for given, hint in (
        ("alp", "alphabet, alpha"),
        ("betta", "did you mean 'beta'?"),
        ("lsat", "'last'?"),
        ("nothing-like-it", "no run"),
    ):
        result = store("show", given)
        assert result.returncode == 2 and hint in result.stderr, result.stderr


def test_the_best_run_is_that_of_the_last_values(store):
    for given, name in (
        ("best:accuracy", "beta"),
        ("best:accuracy:max", "beta"),
        ("best:accuracy:min", "alpha"),
        ("best:rank:min", "alpha"),
    ):
        assert store.json("show", given)["name"] == name, given
    for given, hint in (
        ("best:rank", "best:rank:min or best:rank:max"),
        ("best:acuracy", "did you mean 'accuracy'?"),
        ("best:accuracy:mxa", "unknown order 'mxa': did you mean 'max'?"),
        ("best:", "best:METRIC"),
        ("best:loss:min", "no run has a number"),
        ("", "is empty"),
    ):
        result = store("show", given)
        assert result.returncode == 2 and hint in result.stderr, result.stderr
    with contextlib.closing(sqlite3.connect(store.storage / "rtrain.db", isolation_level=None)) as db:
        db.execute(
            "UPDATE runs SET checkpoint_config = ? WHERE name = 'beta'",
            [json.dumps({"checkpoint_score_attribute": "accuracy", "checkpoint_score_order": "min"})],
        )
    result = store("show", "best:accuracy")
    assert result.returncode == 2 and "differs" in result.stderr, result.stderr


def starred(store, *args):
    """Returns the names with a star, and the explanation of the star on a terminal."""
    listed = store("ls", *args)
    assert listed.returncode == 0 and listed.stderr == "", listed.stderr
    said = re.findall(r"\* has the (.*)\r?\n", OnTerminal(store, "ls", *args).end().decode())
    return re.findall(r"^(\S+) \*", listed.stdout, re.MULTILINE), said


def test_the_best_of_the_list_has_a_star(store):
    # Only the CheckpointConfig of one run names accuracy.
    assert starred(store) == (["beta"], ["largest accuracy"])
    assert starred(store, "--sort", "accuracy") == (["beta"], ["largest accuracy"]), "the runs say which is better"
    assert starred(store, "--sort", "name") == (["beta"], ["largest accuracy"])
    assert starred(store, "--where", "name != 'beta'") == ([], []), "of one run none is the best"
    assert starred(store, "--limit", "1") == ([], [])
    with contextlib.closing(sqlite3.connect(store.storage / "rtrain.db", isolation_level=None)) as db:
        add(db, "reports", run_id="ab22", attempt=1, idx=0, rank=0, time=START, metrics={"accuracy": 0.2, "rank": 3})
        assert starred(store, "--sort", "rank") == (["alpha"], ["smallest rank"])
        assert starred(store, "--sort", "-rank") == (["alphabet"], ["largest rank"])
        db.execute(
            "UPDATE runs SET checkpoint_config = ? WHERE name = 'beta'",
            [json.dumps({"checkpoint_score_attribute": "accuracy", "checkpoint_score_order": "min"})],
        )
        assert starred(store) == ([], []), "they differ"
        assert starred(store, "--sort", "accuracy") == (["alphabet"], ["smallest accuracy"]), "so the order decides"
        db.execute("UPDATE runs SET checkpoint_config = '{}'")
        assert starred(store) == ([], [])
        assert starred(store, "--sort", "-accuracy") == (["beta"], ["largest accuracy"])
        add(
            db,
            "reports",
            run_id="bb33",
            attempt=1,
            idx=1,
            rank=0,
            time=START,
            metrics={"val": {"loss": 1}, "accuracy": None},
        )
        add(
            db,
            "reports",
            run_id="ab22",
            attempt=1,
            idx=1,
            rank=0,
            time=START,
            metrics={"val": {"loss": 2}, "accuracy": None},
        )
        db.execute(
            "UPDATE runs SET checkpoint_config = ?",
            [json.dumps({"checkpoint_score_attribute": "val/loss", "checkpoint_score_order": "min"})],
        )
        assert starred(store) == (["beta"], ["smallest val/loss"]), "a metric of a map"


def test_an_ambiguous_beginning_lists_the_newest(store):
    with contextlib.closing(sqlite3.connect(store.storage / "rtrain.db", isolation_level=None)) as db:
        for i in range(20):
            add_run(db, f"many-{i:02d}", f"ee{i:02d}", START + 9000 + i)
    stderr = store("show", "many").stderr
    assert "'many' is the beginning of 20 runs: many-19, many-18" in stderr and "and 12 more" in stderr, stderr


def test_json_lines_are_a_document_a_line(store):
    lines = store("ls", "--json=lines").stdout.splitlines()
    assert [json.loads(line) for line in lines] == store.json("ls")
    (line,) = store("show", "alpha", "--json=lines").stdout.splitlines()
    assert json.loads(line) == store.json("show", "alpha")
    assert store("ls", "--names", "--sort", "name").stdout == "alpha\nalphabet\nbeta\n"


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
