"""The listing commands over a store that Python's sqlite3 wrote by the schema that rtrain prints."""

import contextlib
import json
import re
import sqlite3

import pytest

from listed_store import START, add, add_run, store  # noqa: F401  (a fixture)
from test_terminal import OnTerminal


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


def test_show_has_no_commit_but_that_of_the_script(store):
    environment = {"git_commit": "feedbee", "libtorch": "2.11.0+cpu, commit 70d99e9", "version": "0.1.0", "cores": 2}
    with contextlib.closing(sqlite3.connect(store.storage / "rtrain.db")) as db, db:
        db.execute("UPDATE runs SET environment = ? WHERE name = 'alpha'", [json.dumps(environment)])
    shown = store("show", "alpha").stdout
    lines = shown.splitlines()
    assert "machine     2 cores, LibTorch 2.11.0+cpu, rtrain 0.1.0" in lines
    assert "git         feedbee" in lines and "70d99e9" not in shown
    assert store.json("show", "alpha")["environment"]["libtorch"] == "2.11.0+cpu, commit 70d99e9"


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
        "lost_s": None,
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
