"""The table of `rtrain ls`: its columns, and which of them a narrow terminal shows."""

import contextlib
import re
import sqlite3
import unicodedata

import pytest

from conftest import refused
from listed_store import START, add, add_run, store  # noqa: F401  (a fixture)

SEEDS = [f"resnet50-imagenet-augmented-label-smoothing-seed{seed}" for seed in (1, 2, 3)]


def width_of(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@pytest.fixture
def listed(store):
    """Runs with long names that differ at their ends, nested metrics, and one of another kind."""
    with contextlib.closing(sqlite3.connect(store.storage / "rtrain.db", isolation_level=None)) as db:
        db.execute("DELETE FROM reports")
        db.execute("DELETE FROM attempts")
        db.execute("UPDATE runs SET checkpoint_config = '{}'")
        for i, name in enumerate([*SEEDS, "東京の実験"]):
            run_id = f"ee{i}"
            add_run(
                db,
                name,
                run_id,
                START + 9000 + i,
                tags=["augmented", "paper"],
                note=f"seed {i}",
                config={"lr": 0.5 / 10**i, "model": {"name": "resnet50"}, "decay": None},
            )
            metrics = {"accuracy": i / 8, "epoch": 9, "grad_norm": 123.456, "val": {"loss": 2**-i, "top5": 0.5}}
            if name == SEEDS[1]:
                metrics["val"]["loss"] = None
            nonfinite = {"val": {"loss": "NaN"}} if name == SEEDS[1] else None
            add(
                db, "reports", run_id=run_id, attempt=1, idx=0, rank=0, time=START, metrics=metrics, nonfinite=nonfinite
            )
        for run_id, started_at in db.execute("SELECT run_id, started_at FROM runs").fetchall():
            ended = {"status": "FINISHED", "started_at": started_at, "ended_at": started_at + 60_000}
            add(db, "attempts", run_id=run_id, attempt=1, nonce="n", **ended)
    return store


def table(store, *args, columns=None):
    """Returns the header and the lines by the first word of each, and stderr."""
    store.env.pop("COLUMNS", None)
    if columns:
        store.env["COLUMNS"] = str(columns)
    result = store("ls", *args)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert not columns or max(map(width_of, lines)) <= columns, lines
    return lines[0].split("  "), {line.split()[0]: line.split()[1:] for line in lines[1:]}, result.stderr


def header_of(store, *args, columns=None):
    return [name.strip() for name in table(store, *args, columns=columns)[0] if name.strip()]


OWN = ["NAME", "STATUS", "WORKERS", "STARTED (UTC)", "RAN", "TAGS"]


def test_a_pipe_gets_each_metric_as_a_column(listed):
    header, rows, said = table(listed)
    metrics = ["val/loss", "accuracy", "epoch", "grad_norm", "val/top5"]
    assert [name.strip() for name in header if name.strip()] == OWN + metrics
    assert rows[SEEDS[0]][-5:] == ["1", "0", "9", "123.46", "0.5"]
    assert rows[SEEDS[1]][-5:] == ["nan", "0.125", "9", "123.46", "0.5"]
    assert rows["beta"] == ["FINISHED", "2", "2026-02-02", "02:40:02", "1", "m", "00", "s"], "neither tags nor metrics"
    assert said == ""
    assert header_of(listed, "--where", "name = 'beta'") == OWN[:-1], "without columns that are empty"


@pytest.mark.parametrize(
    "columns, shown",
    [
        (40, ["NAME", "STATUS", "val/loss"]),
        (80, ["NAME", "STATUS", "val/loss", "accuracy", "epoch"]),
        (100, ["NAME", "STATUS", "RAN", "val/loss", "accuracy", "epoch"]),
        (200, OWN + ["val/loss", "accuracy", "epoch", "grad_norm", "val/top5"]),
    ],
)
def test_a_terminal_gets_the_columns_that_fit(listed, columns, shown):
    header, rows, said = table(listed, columns=columns)
    assert [name.strip() for name in header if name.strip()] == shown
    assert len(rows) == 7, "names that are cut stay distinct"
    ends = [name for name in rows if re.search("seed[123]$", name)]
    assert len(ends) == 3 and all(name.startswith(("resnet50", "…")) for name in ends)
    left_out = len(OWN) + 5 - len(shown)
    assert said == (f"rtrain: {left_out} more columns: --wide, or --columns NAME,…\n" if left_out else "")
    assert listed("ls", "--wide").stdout.split("\n")[0].endswith("  val/top5")


def test_the_metric_of_the_order_or_of_the_star_is_shown(listed):
    assert "grad_norm" in header_of(listed, "--sort", "-grad_norm", columns=60)
    header, _, said = table(listed, "--sort", "val/top5", columns=60)
    assert "val/top5" in "".join(header) and "* has the smallest val/top5" in said
    starred = table(listed, "--sort", "val/loss", "--where", "name LIKE 'resnet%'", columns=60)[1]
    assert [name[-5:] for name, cells in starred.items() if cells[0] == "*"] == ["seed3"], "where the name is cut too"


def test_a_column_that_orders_the_list_is_shown(listed):
    header, rows, _ = table(listed, "--sort", "config.lr", "--where", "name LIKE 'resnet%'", columns=80)
    assert "config.lr" in "  ".join(header) and [cells[1] for cells in rows.values()] == ["0.005", "0.05", "0.5"]
    assert header_of(listed, "--sort", "max(accuracy)")[-6:-4] == ["max(accuracy)", "val/loss"]
    assert header_of(listed, "--sort", "started_at") == header_of(listed)


def test_columns_are_chosen(listed):
    header, rows, _ = table(listed, "--columns", "config.lr,config.model.name,val/loss,note,config.decay")
    assert [name.strip() for name in header if name.strip()] == [
        *OWN,
        "config.lr",
        "config.model.name",
        "val/loss",
        "note",
        "config.decay",
    ]
    assert rows[SEEDS[0]][-5:] == ["0.5", "resnet50", "1", "seed", "0"]
    assert rows[SEEDS[1]][-5:] == ["0.05", "resnet50", "nan", "seed", "1"]
    assert rows["alphabet"][-1] == "0.4", "without those that the run does not have"
    names = ["config.lr", "val/top5"]
    assert header_of(listed, "--columns", ",".join(names), columns=76) == ["NAME", "STATUS", *names]
    listed.env["COLUMNS"] = "40"
    names = ["config.lr", "config.model.name", "val/top5", "script"]
    narrow = listed("ls", "--columns", ",".join(names)).stdout
    assert all(name in narrow for name in names), "they are never left out"
    assert max(map(width_of, narrow.splitlines())) <= 40
    assert table(listed, "--limit", "0", "--columns", "config.lr")[1] == {}


def test_a_wrong_column_is_wrong_usage(listed):
    refused(listed("ls", "--columns", "config.rl"), "--columns: no column 'config.rl': did you mean 'config.lr'?")
    refused(listed("ls", "--columns", "config.lr,val/los"), "no column 'val/los': did you mean 'val/loss'?")
    refused(listed("ls", "--columns", "config.lr,"), "--columns: no column ''")
    refused(listed("ls", "--columns", "config.lr", "--json"), "--columns", "--json")


def test_columns_are_completed(listed):
    def offered(word):
        return listed("--complete", "metrics", word, "ls").stdout.split()

    assert offered("config.l") == ["config.lr"] and offered("val/") == ["val/loss", "val/top5"]
    assert offered("config.lr,config.m") == ["config.lr,config.model.name"]
    assert offered("-val/t") == ["-val/top5"]
