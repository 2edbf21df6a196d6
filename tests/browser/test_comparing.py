"""Runs next to each other on the pages of rtrain dash: nested metrics, long names, filters, and trials of a sweep."""

import pytest

from conftest import Rtrain, wait_until
from dash_server import dash  # noqa: F401  (a fixture)
from pages import CONTRAST, UNNAMED, shows
from webdriver import KEYS

LONG = 5000
SCRIPT = """
local train = require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config)
    print 'plain \\27[31mred\\27[0m \\27[1;32mgreen\\27[0m\\27[K'
    for i = 1, 3 do
      train.report {loss = 10 * config.scale, val = {loss = config.scale * i, top = {one = i}}, [('x'):rep(LONG)] = i}
    end
  end,
  train_loop_config = {scale = 1, [('k'):rep(LONG)] = ('v'):rep(LONG)},
}:fit()
""".replace("LONG", str(LONG))
SWEPT = """
local train = require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config)
    train.report {loss = config.width, score = config.width, epoch = 1}
    if config.width == 30 then error 'too wide' end
  end,
  train_loop_config = {width = 1},
}:fit()
"""
WITHOUT_LOSS = SWEPT.replace("loss = config.width, score = config.width, ", "")
WIDER = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with the runs `small` and `big` and two sweeps, each with a trial that failed."""
    runner = Rtrain(tmp_path_factory.mktemp("results"))
    for name, scale in (("small", 1), ("big", 2)):
        runner.run_ok(SCRIPT, "--name", name, "--set", f"scale={scale}", "--tag", "t" * 100, "-q")
    for name, text, options in (
        ("scored", SWEPT, ["--metric", "score", "--mode", "max"]),
        ("usual", SWEPT, []),
        ("unknown", WITHOUT_LOSS, []),
    ):
        script = runner.script(text, f"{name}.lua")
        assert runner("sweep", script, "--grid", "width=10,20,30", "--name", name, *options).returncode == 1
    return runner.storage


@pytest.fixture
def window(dash, browser):
    shown = browser()
    shown.open(dash().url.geturl())
    shows(shown, "11 runs")
    return shown


def go_to(window, address, sign):
    window.run("location.hash = arguments[0]", address)
    shows(window, sign)


ROWS = """
return [...document.querySelectorAll(`[aria-label='${arguments[0]}'] tbody tr`)]
  .map((row) => [...row.children].map((cell) => cell.textContent));
"""


HEADS = "return [...document.querySelectorAll('.grid thead th')].slice(1).map((head) => head.title)"


def test_nested_metrics_have_their_paths(window):
    go_to(window, "#/?col=val/loss&col=val/top/one", "small")
    wait_until(lambda: window.run(HEADS)[-1:] == ["val/top/one"], message="the columns")
    heads = window.run(HEADS)
    assert "val/loss" in heads and "val/top/one" in heads
    small = next(row for row in window.run(ROWS, "Runs") if row[1] == "small")
    assert small[heads.index("val/loss") + 1] == "3" and small[heads.index("val/top/one") + 1] == "3"
    go_to(window, "#/?spark=val/loss&sort=-val/loss&where=val/loss > 0", "2 runs")
    wait_until(lambda: window.count("canvas.spark") == 2, message="the curves in the table")
    rows = window.run(ROWS, "Runs")
    assert [row[1] for row in rows] == ["big", "small"]
    at = window.run(HEADS).index("val/loss", 2) + 1  # behind the curve with that name
    assert [row[at] for row in rows] == ["6", "3"]
    go_to(window, "#/compare?run=small&run=big", "Last metrics")
    shows(window, "Environment")
    metrics = {row[0]: row[1:] for row in window.run(ROWS, "Last metrics")}
    assert metrics["val/loss"] == ["3", "6"] and metrics["val/top/one"] == ["3", "3"] and "val" not in metrics
    go_to(window, "#/run/big", "val/loss 6")


def test_long_names_are_clipped_and_can_be_read(window):
    for address, sign in (
        ("#/?tag=" + "t" * 100, "2 runs"),
        ("#/?spark=" + "x" * LONG, "11 runs"),
        ("#/run/small", "scale"),
        ("#/compare?run=small&run=big", "Environment"),
    ):
        go_to(window, address, sign)
        assert window.run(WIDER) <= 0, address[:20]
        longest = window.run(
            "return Math.max(...[...document.querySelectorAll('main *:not(pre, pre *, details, details *)')]"
            ".filter((each) => !each.children.length).map((each) => each.textContent.length))"
        )
        assert longest < 200, address[:20]
        titles = window.run("return [...document.querySelectorAll('main [title]')].map((each) => each.title.length)")
        assert max(titles) in (100, LONG), address[:20]
        assert window.run(UNNAMED) == []


def test_a_filter_without_a_match_says_so(window):
    window.type("input[name=where]", "loss < -1" + KEYS["Enter"])
    shows(window, "No run matches the filter: where loss < -1.")
    assert "No runs here" not in window.text()


def test_sorting_with_the_keyboard_keeps_the_focus(window):
    focused = "return document.activeElement.dataset.key"
    window.type("th button[data-key=name]", KEYS["Enter"])
    wait_until(lambda: "sort=-name" in window.run("return location.hash"), message="the order")
    assert window.run(focused) == "name"
    window.type("th button[data-key=name]", KEYS["Enter"])
    wait_until(lambda: window.run(ROWS, "Runs")[0][1] == "big", message="the other order")
    assert window.run(focused) == "name"
    assert window.run("return document.querySelector('[aria-sort]').ariaSort") == "ascending"


def test_colours_of_a_log_are_drawn(window):
    go_to(window, "#/run/small/logs", "the run has ended")
    assert window.text("pre.log").endswith("plain red green\n") or "plain red green" in window.text("pre.log")
    assert window.text("pre.log .red") == "red" and window.text("pre.log .green.bold") == "green"
    assert "\x1b" not in window.run("return document.querySelector('pre.log').textContent")
    assert window.run(CONTRAST) == []


def test_a_sweep_is_ordered_by_its_own_metric(window, screenshot):
    go_to(window, "#/sweep/scored", "Compared by")
    assert "score (max; the metric of the sweep)" in window.text("dl") and "scored-001 score 20" in window.text("dl")
    assert [row[0] for row in window.run(ROWS, "Trials")][:2] == ["scored-001", "scored-000"]
    assert [row[:3] for row in window.run(ROWS, "Failed trials")] == [["scored-002", "ERRORED", "30"]]
    assert window.count("[aria-label='Parameters and metrics'] circle") == 2, "of trials that count"
    assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []
    screenshot(window, "sweep-failed")
    go_to(window, "#/sweep/usual", "usual-000 loss 10")
    assert "loss (min;" in window.text("dl")
    go_to(window, "#/sweep/unknown", "No metric is known")
    assert "Compared by" in window.text("dl") and "Best" not in window.text("dl")
