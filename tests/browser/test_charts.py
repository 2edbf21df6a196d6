"""The charts of the pages of rtrain dash in a real browser: their axes, zoom, number, and what is read of them."""

import pytest

from conftest import Rtrain, wait_until
from dash_server import Dash, dash, many_runs  # noqa: F401  (a fixture)
from pages import reveal, shows

SCRIPT = """
local train = require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function()
    for step = 0, 999 do
      train.log({memory_bytes = 79e6 + 3000 * step, large = 82e6 + step % 7, near = 1 + step % 3 * 1e-7,
        loss = 5 - step / 1000}, {step = step})
    end
    for index = 0, 4 do train.report {loss = 1 / (index + 1)} end
    os.execute 'sleep 1.5'
  end,
}:fit()
"""
MANY = """
local train = require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function()
    local values = {}
    for i = 0, 499 do values[('m%03d'):format(i)] = i end
    train.report(values)
  end,
}:fit()
"""

# Draws all charts again: {title: [[text, align, left, right, width of the canvas]]} of what they have written.
WRITTEN = """
const out = {};
const type = CanvasRenderingContext2D.prototype;
const plain = window.plainFill ??= type.fillText;
type.fillText = function (text, x, y) {
  const width = this.measureText(text).width;
  const {b: turn, f} = this.getTransform();
  const middle = turn ? f / devicePixelRatio : x;
  const left = middle - (this.textAlign === 'right' ? width : this.textAlign === 'center' ? width / 2 : 0);
  const title = this.canvas.closest('figure').querySelector('figcaption').firstChild.textContent;
  const room = turn ? this.canvas.clientHeight : this.canvas.clientWidth;
  (out[title] ??= []).push([text, turn ? 'turned' : this.textAlign, left, left + width, room]);
  plain.call(this, text, x, y);
};
document.querySelector('input[name=smooth]').dispatchEvent(new Event('input'));
const later = (done) => requestAnimationFrame(() => requestAnimationFrame(() => done(out)));
return new Promise(later);
"""
LABELS = "return [...document.querySelectorAll('canvas[role=img]')].map((each) => each.getAttribute('aria-label'))"
TITLES = "return [...document.querySelectorAll('figcaption')].map((each) => each.firstChild.textContent)"
PRESS = """
const figure = [...document.querySelectorAll('figure')]
  .find((each) => each.querySelector('figcaption').firstChild.textContent === arguments[0]);
const canvas = figure.querySelector('canvas');
canvas.focus();
canvas.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[1], bubbles: true}));
return figure.querySelector('output').textContent;
"""
BY = "const it = document.querySelector('select[name=by]'); it.value = arguments[0]; it.dispatchEvent(new Event('change'))"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with the run `charted`, which has system metrics and a metric that was reported and logged."""
    runner = Rtrain(tmp_path_factory.mktemp("results"))
    runner.env["RTRAIN_HOST_SAMPLE_S"] = "0.2"
    runner.run_ok(SCRIPT, "--name", "charted", "-q")
    runner.run_ok(MANY, "--name", "wide", "-q")
    return runner.storage


def label(window, title):
    """Returns the text of a chart for those who do not see it; "" before it has one."""
    found = [text for text in window.run(LABELS) if (text or "").startswith(f"Chart of {title}.")]
    return found[0] if found else ""


@pytest.fixture
def page(dash, browser):
    window = browser()
    window.open(dash().url.geturl() + "#/run/charted")
    wait_until(lambda: window.count("figure") > 5, message="the charts")
    reveal(window)
    wait_until(lambda: "from" in label(window, "host/memory_used_bytes"), message="the system's charts")
    wait_until(lambda: all("from" in (text or "") for text in window.run(LABELS)), message="all of them")
    return window


def y_labels(written, title):
    """Those left of the axis, from below."""
    return [text for text, align, _, right, _ in written[title] if align == "right" and right < 200]


def test_labels_of_axes_are_whole_and_have_units(page, screenshot):
    written = page.run(WRITTEN)
    assert {"memory_bytes", "large", "near", "host/memory_used_bytes"} <= written.keys()
    for title, texts in written.items():
        for text, _, left, right, width in texts:
            assert left >= 0 and right <= width + 1, (title, text, left, right, width)
        shown = y_labels(written, title)
        assert len(shown) >= 2 and len(set(shown)) == len(shown), (title, shown)
    assert all(text.endswith(" MiB") for text in y_labels(written, "memory_bytes"))
    assert all(text.endswith("M") for text in y_labels(written, "large"))
    assert any(text.startswith("1.0000001") for text in y_labels(written, "near"))
    assert all(text.endswith("iB") for text in y_labels(written, "host/memory_used_bytes"))
    assert "MiB" in label(page, "memory_bytes")
    screenshot(page, "charts")


def empty(written):
    return [(title, text) for title, texts in written.items() for text, *_ in texts if text.startswith("no values")]


def x_labels(written, title):
    texts = [text for text, align, *_ in written[title] if align == "center"]
    return texts[:-1]  # the last one is the title of the axis


def test_what_a_node_records_is_by_the_time_since_the_start(page):
    texts = x_labels(page.run(WRITTEN), "host/memory_used_bytes")
    assert texts and all(text.endswith(" s") for text in texts), texts
    assert page.run(PRESS, "host/memory_used_bytes", "Home").split(":")[0].endswith(" s")
    assert x_labels(page.run(WRITTEN), "large")[0] == "0"
    page.run(BY, "time")
    wait_until(lambda: x_labels(page.run(WRITTEN), "large")[-1].endswith(" s"), message="the other axis")


def test_a_zoom_is_of_one_axis(page):
    page.run(PRESS, "large", "+")
    wait_until(lambda: x_labels(page.run(WRITTEN), "large")[0] != "0", message="a part of the steps")
    written = page.run(WRITTEN)
    assert x_labels(written, "near") == x_labels(written, "large"), "the same axis"
    assert x_labels(written, "loss, reported")[0] == "0"
    assert empty(written) == []
    before = x_labels(written, "large")
    all_of_it = label(page, "host/memory_used_bytes")
    page.run(PRESS, "host/memory_used_bytes", "+")  # around the middle: rates begin one sample later
    wait_until(
        lambda: x_labels(page.run(WRITTEN), "host/cpu_percent") != x_labels(written, "host/cpu_percent"),
        message="a part of the time",
    )
    written = page.run(WRITTEN)
    assert x_labels(written, "large") == before
    assert empty(written) == []
    page.run(PRESS, "large", "Escape")
    wait_until(lambda: x_labels(page.run(WRITTEN), "large")[0] == "0", message="all steps")
    wait_until(lambda: label(page, "host/memory_used_bytes") == all_of_it, message="all times")


def test_a_metric_that_was_reported_and_logged_has_two_charts(page):
    titles = page.run(TITLES)
    assert titles[:5] == ["large", "loss, reported", "loss, logged", "memory_bytes", "near"]
    assert titles[5].startswith("host/") and titles[-1].startswith("process/"), "what rtrain records of itself is last"
    assert "from 0.2 to 1, last 0.2" in label(page, "loss, reported")
    assert "from 4.001 to 5, last 4.00" in label(page, "loss, logged")


def test_every_metric_is_reached(dash, browser, screenshot):
    window = browser()
    window.open(dash().url.geturl() + "#/run/wide")
    wait_until(lambda: window.count("figure") >= 500, message="the charts")
    total = window.count("figure")
    shows(window, "and 480 more")
    assert window.count("details tbody tr") >= 500, "all last metrics"
    screenshot(window, "charts-many")
    window.type("input[name=metrics]", "m499")
    wait_until(lambda: window.run(TITLES) == ["m499"], message="one chart")
    wait_until(lambda: "from 499 to 499" in label(window, "m499"), message="its value")
    window.type("input[name=metrics]", "x")
    shows(window, f"None of {total} metrics has this in its name.")


def test_every_run_is_compared_and_read(trained, browser, tmp_path, screenshot):
    names = [f"curve-{at}" for at in range(18)]
    for at, name in enumerate(names):
        file = tmp_path / f"{name}.csv"
        file.write_text("step,loss\n" + "".join(f"{step},{at + step / 10}\n" for step in range(4)))
        assert trained("import", file).returncode == 0
    server = Dash(trained)
    window = browser()
    runs = "&".join(f"run={name}" for name in names)
    window.open(f"{server.url.geturl()}#/compare?{runs}")
    shows(window, "The first 16 of 18 runs.")
    wait_until(lambda: "curve-15: from 15 to 15.3" in label(window, "loss"), message="sixteen curves")
    read = window.run(PRESS, "loss", "End")
    assert all(f"{name} " in read for name in names[:16]), read
    assert "curve-15 15.3" in read and "curve-0 0.3" in read
    screenshot(window, "readout")
    window.run("[...document.querySelectorAll('main a')].find((each) => each.textContent === 'Show 18').click()")
    wait_until(lambda: "curve-17: from 17 to 17.3" in label(window, "loss"), message="all curves")
    assert "The first" not in window.text("main > p[role=status]")
    window.open("about:blank")
    assert server.stop().returncode == 0
