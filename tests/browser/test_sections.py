"""The sections of the charts of rtrain dash in a real browser: prefixes, search, pins, folds, order, rows, whole window."""

import pytest

from conftest import Rtrain, wait_until
from dash_server import dash  # noqa: F401  (a fixture)
from pages import CONTRAST, UNNAMED
from webdriver import KEYS

SCRIPT = """
local train = require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function()
    for step = 0, 9 do
      train.log({['train/loss'] = 1 / (1 + step), ['train/speed'] = 100 + step, rate = step}, {step = step})
    end
    for epoch = 0, 3 do train.report {val = {loss = 2 / (1 + epoch)}, score = epoch} end
    os.execute 'sleep 0.5'
  end,
}:fit()
"""
WIDE = """
local train = require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function()
    local values = {}
    for i = 0, 499 do values[('m%03d'):format(i)] = i end
    train.report(values)
  end,
}:fit()
"""
# [[title of the section, whether it is open, titles of its charts]]
SECTIONS = """
const titleOf = (node) => node.querySelector('figcaption').firstChild.textContent;
return [...document.querySelectorAll('.sections > details')].map((each) => [
  each.querySelector('summary').textContent, each.open, [...each.querySelectorAll('figure')].map(titleOf)]);
"""
MENU = """
const figure = [...document.querySelectorAll('figure')]
  .find((each) => each.querySelector('figcaption').firstChild.textContent === arguments[0]);
figure.querySelector('[aria-label^="Menu of"]').click();
[...document.querySelectorAll('.menu button')].find((each) => each.textContent === arguments[1]).click();
"""
# Drags the first chart to the place of the second one.
DRAG = """
const [from, to] = [...arguments].map((title) => [...document.querySelectorAll('figure')]
  .find((each) => each.querySelector('figcaption').firstChild.textContent === title));
const send = (node, type) => node.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true}));
send(from.querySelector('figcaption'), 'dragstart');
send(to, 'dragover');
send(to, 'drop');
send(from.querySelector('figcaption'), 'dragend');
"""
DRAWN = "return [...document.querySelectorAll('canvas[role=img]')].filter((each) => each.width > 1).length"
ROW = """
const tops = [...document.querySelectorAll('[data-section=plain] figure')].map((each) => each.offsetTop);
return tops.filter((top) => top === tops[0]).length;
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with the run `parts` and the run `wide` of 500 metrics."""
    runner = Rtrain(tmp_path_factory.mktemp("results"))
    runner.env["RTRAIN_HOST_SAMPLE_S"] = "0.1"
    runner.run_ok(SCRIPT, "--name", "parts", "-q")
    runner.run_ok(WIDE, "--name", "wide", "-q")
    return runner.storage


@pytest.fixture
def window(dash, browser):
    shown = browser(size=(1280, 1200))
    shown.address = dash().url.geturl()
    shown.open(shown.address + "#/run/parts")
    wait_until(lambda: len(shown.run(SECTIONS)) >= 4, message="the sections")
    return shown


def again(window):
    window.run("location.reload()")
    wait_until(lambda: len(window.run(SECTIONS)) >= 4, message="the sections")


def test_metrics_are_in_sections_and_those_of_the_system_are_folded(window, screenshot):
    *parts, system = window.run(SECTIONS)
    assert parts == [
        ["Metrics 2", True, ["rate", "score"]],
        ["train/ 2", True, ["train/loss", "train/speed"]],
        ["val/ 1", True, ["val/loss"]],
    ]
    assert system[0].startswith("System ") and not system[1] and "host/memory_used_bytes" in system[2]
    wait_until(lambda: window.run(DRAWN) >= 5, message="the charts in sight")
    screenshot(window, "sections")
    assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []


def test_folds_are_remembered(window):
    window.click("[data-section='of/train'] summary")
    window.click("[data-section=own] summary")
    wait_until(lambda: [each[1] for each in window.run(SECTIONS)] == [True, False, True, True], message="other folds")
    again(window)
    assert [each[1] for each in window.run(SECTIONS)] == [True, False, True, True]


def test_a_search_finds_metrics_of_folded_sections(window):
    window.type("input[name=metrics]", "MEMORY_used")
    wait_until(lambda: len(window.run(SECTIONS)) == 1, message="one section")
    [[title, is_open, charts]] = window.run(SECTIONS)
    assert title.startswith("System") and is_open and charts == ["host/memory_used_bytes"]
    assert "metrics=MEMORY_used" in window.run("return location.hash")
    window.run(
        "const it = document.querySelector('input[name=metrics]'); it.value = ''; it.dispatchEvent(new Event('input'))"
    )
    wait_until(lambda: len(window.run(SECTIONS)) == 4, message="all")
    assert not window.run(SECTIONS)[-1][1], "a search folds and opens nothing for good"


def test_a_chart_is_pinned_to_the_top(window):
    window.run(MENU, "val/loss", "Pin to the top")
    window.run(MENU, "train/speed", "Pin to the top")
    assert window.run(SECTIONS)[0] == ["Pinned 2", True, ["val/loss", "train/speed"]]
    again(window)
    assert window.run(SECTIONS)[0] == ["Pinned 2", True, ["val/loss", "train/speed"]]
    window.run(MENU, "val/loss", "Take from the top")
    assert window.run(SECTIONS)[0] == ["Pinned 1", True, ["train/speed"]]


def test_charts_are_put_into_another_order(window):
    window.run(DRAG, "rate", "score")
    assert window.run(SECTIONS)[0][2] == ["score", "rate"]
    again(window)
    assert window.run(SECTIONS)[0][2] == ["score", "rate"]
    window.run(MENU, "train/loss", "Move after")
    assert window.run(SECTIONS)[1][2] == ["train/speed", "train/loss"] and window.run(SECTIONS)[0][2] == [
        "score",
        "rate",
    ]
    window.run(DRAG, "score", "val/loss")
    assert window.run(SECTIONS)[0][2] == ["score", "rate"], "within a section only"


def test_the_order_can_be_changed_with_keys(window):
    window.run("document.querySelector('[aria-label=\"Menu of rate\"]').focus()")
    window.type("[aria-label='Menu of rate']", KEYS["Enter"])
    wait_until(lambda: "Pin to the top" in window.run("return document.activeElement.textContent"), message="the menu")
    window.type(".menu button:nth-of-type(3)", KEYS["Enter"])
    wait_until(lambda: window.run(SECTIONS)[0][2] == ["score", "rate"], message="the other order")
    assert window.run("return document.activeElement.ariaLabel") == "Menu of rate", "the focus stays at the chart"


def test_as_many_charts_are_in_a_row_as_one_likes(window):
    choose = (
        "const it = document.querySelector('select[name=columns]'); it.value = arguments[0]; "
        "it.dispatchEvent(new Event('change'))"
    )
    window.run(choose, "1")
    assert window.run(ROW) == 1
    window.run(choose, "4")
    assert window.run(ROW) == 2
    width = window.run("return document.querySelector('figure').offsetWidth")
    assert width < 1280 / 4
    again(window)
    assert window.run("return document.querySelector('figure').offsetWidth") == width
    window.resize(500, 900)
    wait_until(lambda: window.run(ROW) == 1, message="one chart in a row of a phone")


def test_choices_hold_where_the_browser_refuses_to_keep_them(window):
    window.run("Storage.prototype.setItem = () => { throw new DOMException('no', 'SecurityError'); }")
    window.run("Storage.prototype.getItem = () => { throw new DOMException('no', 'SecurityError'); }")
    window.run(MENU, "val/loss", "Pin to the top")
    assert window.run(SECTIONS)[0][0] == "Pinned 1"


def test_a_chart_fills_the_window(window, screenshot):
    size = "const {width, height} = document.querySelector('dialog canvas').getBoundingClientRect(); return [width, height]"
    window.click("[aria-label='Whole window: score']")
    wait_until(lambda: window.count("dialog[open] figure") == 1, message="the dialog")
    width, height = window.run(size)
    assert width > 1000 and height > 700
    wait_until(lambda: window.run("return document.querySelector('dialog canvas').width") >= width - 1, message="drawn")
    screenshot(window, "whole-window")
    window.run("document.querySelector('dialog canvas').focus()")
    window.type("dialog canvas", KEYS["Escape"])
    wait_until(lambda: window.count("dialog") == 0, message="the page")
    assert window.run(SECTIONS)[0][2] == ["rate", "score"]


def test_of_500_metrics_those_in_sight_load_and_draw(window, screenshot):
    asked = "return performance.getEntriesByType('resource').filter(({name}) => name.includes('/curve?')).length"
    window.open("about:blank")
    window.open(window.address + "#/run/wide")
    wait_until(lambda: window.count("[data-section=plain] figure") == 500, message="all charts")
    wait_until(lambda: window.run(DRAWN) > 0, message="those in sight")
    assert window.run(asked) < 60 and window.run(DRAWN) < 60
    window.run("document.querySelectorAll('[data-section=plain] figure')[498].scrollIntoView()")
    label = "return document.querySelectorAll('[data-section=plain] canvas[role=img]')[498].ariaLabel"
    wait_until(lambda: "from 498 to 498" in window.run(label), message="a chart far below")
    wait_until(lambda: window.run(DRAWN) < 60, message="pixels of those in sight alone")
    assert window.run(asked) < 120
