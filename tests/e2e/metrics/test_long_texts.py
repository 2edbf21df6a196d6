"""Empty names, and very long names, tags and values: in commands, files and pages."""

import os
import re
import sqlite3

import pytest

LONG = "x" * 5000

REPORTS = """
local train = require 'rtrain'
train.DataParallelTrainer {
  train_loop_per_worker = function() %s end,
}:fit()
"""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("train.report {[''] = 1}", "report: an empty string is the name of a metric"),
        (
            "train.report {val = {top = {[''] = 1}}}",
            "report: an empty string is the name of a metric in metrics.val.top",
        ),
        ("train.log {[''] = 1}", "log: a key is empty"),
    ],
)
def test_a_metric_needs_a_name(rtrain, call, words):
    result = rtrain.run(REPORTS % call, "-q")
    assert result.returncode == 1 and words in result.stderr and "train.lua:3" in result.stderr


@pytest.fixture
def nameless(rtrain):
    """A store of an old version that allowed empty names: a report and a series have one."""
    rtrain.run_ok(
        REPORTS % "train.log {a = 1}; train.log {a = 3}; train.report {b = 1}; train.report {b = 2}",
        "-q",
        "--name",
        "old",
    )
    with sqlite3.connect(rtrain.storage / "rtrain.db") as store:
        store.execute("UPDATE series SET key = ''")
        store.execute("""UPDATE reports SET metrics = '{"": 7, "val": {"": 8}, "b": 1}'""")
    return rtrain


@pytest.mark.parametrize(
    "args",
    [
        ("ls",),
        ("show", "old"),
        ("metrics", "old"),
        ("plot", "old", ""),
        ("plot", "old", "", "-o", "chart.svg"),
        ("diff", "old", "old"),
        ("export", "old", "--html", "-o", "page.html"),
        ("export", "old", "-o", "table.csv"),
        ("export", "old", "--logged"),
        ("export", "old", "--format", "parquet", "-o", "table.parquet"),
        ("export", "old", "--format", "tensorboard", "-o", "events"),
    ],
)
def test_a_name_of_an_older_store_is_shown_as_others_are(nameless, args):
    result = nameless(*args)
    assert result.returncode == 0, result.stderr
    if args[-1] == "page.html":
        assert (nameless.folder / "page.html").read_text().rstrip().endswith("</html>")


def test_a_page_that_cannot_be_written_leaves_the_file_as_it_was(rtrain):
    rtrain.run_ok(REPORTS % "for i = 1, 3 do train.report {loss = i} end", "-q", "--name", "a")
    for args in (
        ("export", "a", "--html"),
        ("export", "a"),
        ("export", "a", "--format", "json"),
        ("plot", "a", "loss"),
    ):
        for name in ("out.svg", "old.svg"):
            (rtrain.folder / "old.svg").write_text("before")
            rtrain.fail_calls("write:1:ENOSPC:path=.svg")
            result = rtrain(*args, "-o", name)
            del rtrain.env["LD_PRELOAD"], rtrain.env["RTRAIN_FAULTIO"]
            assert result.returncode != 0 and "No space left" in result.stderr, (args, result.stderr)
            assert sorted(f for f in os.listdir(rtrain.folder) if ".svg" in f) == ["old.svg"]
            assert (rtrain.folder / "old.svg").read_text() == "before"


@pytest.fixture
def long(rtrain):
    script = (
        REPORTS
        % "train.report {text = ('x'):rep(5000), [('n'):rep(5000)] = 0.25, list = {('y'):rep(5000)}, loss = 0.5}"
    )
    script = script.replace("}:fit()", "  train_loop_config = {prompt = ('z'):rep(5000)},\n}:fit()")
    result = rtrain.run_ok(script, "--name", "long", "--tag", "t" * 100)
    assert "text=" + "x" * 79 + "…" in result.stderr and max(map(len, result.stderr.splitlines())) < 1000
    return rtrain


def test_tables_and_pages_cut_what_is_long(long):
    for command in ("ls", "show", "metrics", "diff"):
        args = {"ls": (), "diff": ("long", "long")}.get(command, ("long",))
        result = long(command, *args)
        assert result.returncode == 0, result.stderr
        assert max(map(len, result.stdout.splitlines())) < 1000, command
    shown = long("show", "long").stdout
    assert "x" * 79 + "…" in shown and "n" * 39 + "…" + "n" * 39 + " 0.25" in shown
    assert "z" * 79 + "…" in shown and "t" * 39 + "…" + "t" * 39 in shown


def test_documents_have_all_of_it(long):
    run = long.json("show", "long")
    assert run["metrics"]["text"] == LONG and run["config"]["prompt"] == "z" * 5000 and run["tags"] == ["t" * 100]
    assert long.json("metrics", "long")[0]["metrics"]["n" * 5000] == 0.25


@pytest.mark.parametrize("name", ["ü" * 120, "- " + "n" * 240])
def test_a_run_of_a_script_with_a_long_name_has_a_short_one(rtrain, name):
    """Its name is a folder's, to which others are added, and a line of listings."""
    script = rtrain.script(
        """
        local train = require 'rtrain'
        train.DataParallelTrainer {train_loop_per_worker = function() train.report {loss = 1} end}:fit()
        """,
        f"{name}.lua",
    )
    for _ in range(2):
        assert rtrain("run", script).returncode == 0
    first, second = [run["name"] for run in rtrain.json("ls")]
    base = re.sub(r"[^a-zA-Z0-9_.-]", "_", os.fsencode(name).decode("latin-1")).lstrip("-")[:80]
    for run in (first, second):
        assert re.fullmatch(re.escape(base) + r"-\d{8}-[0-9a-f]{4}", run)
        assert rtrain.json("show", run)["status"] == "FINISHED" and rtrain.run_folder(run).is_dir()
    assert first != second
