"""The page of a sweep: which parameters matter, parts of axes that are chosen, the best so far, and trials by rung."""

import pytest

from conftest import Rtrain, wait_until
from dash_server import dash  # noqa: F401  (a fixture)
from pages import CONTRAST, UNNAMED, shows
from webdriver import KEYS

# A loss that is three times as sensitive to a as to b (over the same range), and not to c.
GRID = """
local train = require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config) train.report {loss = 3 * config.a + config.b, other = config.c} end,
  train_loop_config = {a = 0, b = 0, c = 0},
}:fit()
"""
RUNGS = """
local train = require 'rtrain'
train.Tuner {
  trainer = train.TorchTrainer {
    train_loop_per_worker = function(config)
      for step = 1, 9 do train.report {loss = config.width / step} end
    end,
  },
  param_space = {width = train.tune.grid_search {1, 2, 4, 8}},
  tune_config = train.tune.TuneConfig {
    metric = 'loss', mode = 'min', max_concurrent_trials = 1,
    scheduler = train.tune.schedulers.ASHAScheduler {max_t = 9, grace_period = 1, reduction_factor = 3},
  },
  run_config = train.RunConfig {name = 'halved'},
}:fit()
"""
ROWS = """
const part = document.querySelector(`[aria-label="${arguments[0]}"]`);
return [...part.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText.trim()));
"""
DRAG = """
const [name, from, to] = arguments;
const axis = [...document.querySelectorAll('.brushed')].find((each) => each.querySelector('.name').textContent === name);
const box = axis.querySelector('.handle').getBoundingClientRect();
const send = (type, at) => axis.dispatchEvent(new PointerEvent(type,
  {bubbles: true, pointerId: 1, clientX: box.x + box.width / 2, clientY: box.bottom - at * box.height}));
axis.setPointerCapture = () => {};
send('pointerdown', from);
send('pointermove', to);
send('pointerup', to);
"""
VALUES = (0, 1, 2)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    runner = Rtrain(tmp_path_factory.mktemp("results"))
    grid = runner.script(GRID, "grid.lua")
    options = [part for name in "ab" for part in ("--grid", f"{name}=0,1,2")]
    assert runner("sweep", grid, *options, "--grid", "c=0,1", "--name", "grid").returncode == 0
    assert runner("run", runner.script(RUNGS, "rungs.lua"), "-q").returncode == 0
    return runner.storage


def open_sweep(dash, browser, name):
    window = browser()
    window.open(f"{dash().url.geturl()}#/sweep/{name}")
    shows(window, "Best so far")
    return window


def test_the_importance_of_parameters_is_estimated(dash, browser, screenshot):
    """The shares of a sum of independent parameters are the shares of their variances: 9 to 1 to 0."""
    window = open_sweep(dash, browser, "grid")
    rows = {row[0]: row[2:] for row in window.run(ROWS, "Importance of parameters")}
    shares = {name: int(row[0].removesuffix(" %")) for name, row in rows.items()}
    assert 80 <= shares["a"] <= 98 and 4 <= shares["b"] <= 16 and shares["c"] <= 2, shares
    losses = [3 * a + b for a in VALUES for b in VALUES for _ in (0, 1)]
    for name, values in (
        ("a", [a for a in VALUES for _ in VALUES for _ in (0, 1)]),
        ("b", [b for _ in VALUES for b in VALUES for _ in (0, 1)]),
    ):
        assert float(rows[name][1]) == pytest.approx(spearman(values, losses), abs=0.006), name
    assert abs(float(rows["c"][1])) < 0.01
    shows(window, "fANOVA of first order")
    assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []
    screenshot(window, "sweep-grid")


def spearman(first, second):
    """Pearson's correlation of mean ranks."""

    def ranks(values):
        return [
            (sum(other < value for other in values) + sum(other <= value for other in values)) / 2 for value in values
        ]

    a, b = ranks(first), ranks(second)
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    covariance = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b))
    spreads = sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)
    return covariance / spreads**0.5


def test_a_part_of_an_axis_chooses_trials(dash, browser, screenshot):
    window = open_sweep(dash, browser, "grid")
    assert len(window.run(ROWS, "Trials")) == 18 and window.count(".plane .line") == 18
    window.run(DRAG, "a", 0.4, 1)
    shows(window, "12 of 18 runs are chosen")
    assert {row[3] for row in window.run(ROWS, "Trials")} == {"1", "2"}
    assert window.count(".plane .line.out") == 6 and window.count(".plane .point.out") == 6
    screenshot(window, "sweep-chosen")
    window.run("location.reload()")
    shows(window, "12 of 18 runs are chosen")
    window.run(DRAG, "a", 0.5, 0.5)
    wait_until(lambda: window.count(".plane .out") == 0, message="all trials after a click")
    window.run("[...document.querySelectorAll('.brushed')].find((each) => each.ariaLabel.startsWith('b:')).focus()")
    for _ in range(8):
        window.press(KEYS["Down"])
    shows(window, "12 of 18 runs are chosen")
    assert {row[4] for row in window.run(ROWS, "Trials")} == {"0", "1"}
    assert "b: 0 to 1.2" in window.run("return document.activeElement.ariaLabel")
    window.press(KEYS["Escape"])
    wait_until(lambda: window.count(".plane .out") == 0, message="all trials again")


def test_the_best_runs_have_the_strongest_colour(dash, browser):
    window = open_sweep(dash, browser, "grid")
    colours = window.run(
        "return [...document.querySelectorAll('.plane .line')].map((each) => "
        "[Number(each.textContent.match(/loss (\\d+)/)[1]), Number(each.getAttribute('stroke').match(/(\\d+)%/)[1])])"
    )
    assert [colour for _, colour in colours] == sorted(colour for _, colour in colours), "the strongest is on top"
    strength = dict(map(tuple, colours))
    assert strength[0] == 100 and strength[8] == min(strength.values()) and strength[3] > strength[6]


def test_any_two_values_make_a_scatter(dash, browser):
    window = open_sweep(dash, browser, "grid")
    for name, value in (("x", "b"), ("y", "other")):
        window.run(
            "const it = document.querySelector(`select[name=${arguments[0]}]`); it.value = arguments[1]; "
            "it.dispatchEvent(new Event('change'))",
            name,
            value,
        )
    shows(window, "other against b")
    assert window.run("return location.hash") == "#/sweep/grid?x=b&y=other"


def test_the_best_so_far_never_gets_worse(dash, browser):
    window = open_sweep(dash, browser, "grid")
    heights = window.run(
        "return document.querySelector('.plane .steps').getAttribute('d').slice(1).split('L').map((each) => "
        "Number(each.split(' ')[1]))"
    )
    assert heights == sorted(heights), "a smaller loss is further down"
    assert window.count("[aria-label='Best so far'] circle") == 18


def test_trials_of_asha_are_shown_by_rung(dash, browser, screenshot):
    window = open_sweep(dash, browser, "halved")
    rows = window.run(ROWS, "Rungs")
    assert [row[0] for row in rows] == ["1", "3", "9"]
    assert rows[0][1] == "4" and [row[1] for row in rows[1:]] == ["1", "1"], "only the first was among the best third"
    assert [row[3] for row in rows] == ["3", "0", "1"]
    assert window.count("[aria-label='Trials by rung'] a rect") == 4
    assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []
    screenshot(window, "sweep-rungs")
