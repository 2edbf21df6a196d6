"""What is read of charts of rtrain dash in a real browser: tooltip, linked cursors, legends, ranges, x, and downloads."""

import base64
import csv
import io
import statistics
import struct
import xml.etree.ElementTree

import pytest

from conftest import Rtrain, wait_until
from dash_server import dash  # noqa: F401  (a fixture)
from measured import FIGURE, POINTER_MS
from pages import CONTRAST, UNNAMED
from webdriver import KEYS

RUNS = 20
SCRIPT = """
local train = require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function()
    for step = 0, 399 do
      train.log({loss = 4 / (1 + step), rough = step % 2, spike = step == 200 and 1e6 or 1 + step % 10 / 10,
        zeros = step % 4 == 0 and 0 or step + 1, negative = -1 - step, ['<b>bold</b>'] = step}, {step = step})
    end
    os.execute 'sleep 0.05' -- all of it has an earlier time than the first report
    for epoch = 0, 3 do train.report {epoch = epoch, accuracy = epoch / 4} end
  end,
}:fit()
"""

# Sends pointer events to a chart: [types, part of its width, part of its height].
POINTER = (
    FIGURE
    + """
const canvas = figure.querySelector('canvas');
const box = canvas.getBoundingClientRect();
for (const type of arguments[1]) {
  canvas.dispatchEvent(new PointerEvent(type, {
    clientX: box.left + arguments[2] * box.width, clientY: box.top + arguments[3] * box.height, bubbles: true,
  }));
}
"""
)
TOOLTIP = """
const tooltip = document.querySelector('.tooltip');
return tooltip && {
  title: tooltip.firstChild.textContent, isKept: tooltip.classList.contains('kept'),
  rows: [...tooltip.querySelectorAll('li')].map((row) => [...row.children].slice(1).map((each) => each.textContent)),
  colours: [...tooltip.querySelectorAll('li path')].map((each) => each.getAttribute('stroke')),
};
"""
# Draws the charts again and returns what one of them has written.
WRITTEN = (
    FIGURE
    + """
const out = [];
const type = CanvasRenderingContext2D.prototype;
const plain = window.plainFill ??= type.fillText;
type.fillText = function (text, ...place) {
  if (this.canvas.parentNode?.parentNode === figure) out.push(text);
  plain.call(this, text, ...place);
};
document.querySelector('input[name=smooth]').dispatchEvent(new Event('input'));
return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(out))));
"""
)
# How many pixels of the chart, or of its cursor, have the colour of the legend's entry.
PIXELS = (
    FIGURE
    + """
const canvas = figure.querySelectorAll('canvas')[arguments[1]];
const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
const colour = arguments[2] && [1, 3, 5].map((at) => parseInt(arguments[2].slice(at, at + 2), 16));
let count = 0;
for (let at = 0; at < data.length; at += 4) {
  if (data[at + 3] > 200 && (!colour || colour.every((each, part) => Math.abs(each - data[at + part]) < 8))) ++count;
}
return count;
"""
)
# Presses the button of the chart's menu and returns the file that it would save, as base64.
SAVED = (
    FIGURE
    + """
figure.querySelector('[aria-label^="Menu of"]').click();
const saved = new Promise((done) => {
  HTMLAnchorElement.prototype.click = function () { fetchText(this.href, this.download, done); };
});
const plain = URL.createObjectURL;
let blob;
URL.createObjectURL = (given) => { blob = given; return plain.call(URL, given); };
const fetchText = (href, name, done) => {
  const reader = new FileReader();
  reader.onload = () => done([name, reader.result.split(',')[1]]);
  reader.readAsDataURL(blob);
};
[...document.querySelectorAll('.menu button')].find((each) => each.textContent === arguments[1]).click();
return saved;
"""
)
LABEL = FIGURE + "return figure?.querySelector('canvas').getAttribute('aria-label') ?? ''"
NAMES = [f"seed-{at:02}" for at in range(RUNS)]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with the run `read` and twenty runs with a curve each."""
    folder = tmp_path_factory.mktemp("results")
    runner = Rtrain(folder)
    runner.run_ok(SCRIPT, "--name", "read", "-q")
    for at, name in enumerate(NAMES):
        file = folder / f"{name}.csv"
        rows = "".join(f"{step},{at + step / 1000},{step}\n" for step in range(400))
        file.write_text("step,loss,other\n" + rows)
        assert runner("import", file).returncode == 0
    return runner.storage


@pytest.fixture
def opened(dash, browser):
    """Opens a page in a window, and waits for the chart of that title."""
    url = dash().url.geturl()

    def start(address, title, **options):
        window = browser(**{"size": (1280, 2600), **options})
        window.open(url + address)
        wait_until(lambda: "from" in window.run(LABEL, title), message=f"the chart of {title}")
        return window

    return start


def compare(query=""):
    return f"#/compare?runs={RUNS}&{query}" + "&".join(f"run={name}" for name in NAMES)


def point(window, title, x, y, *types):
    window.run(POINTER, title, types or ("pointermove",), x, y)


def tooltip(window):
    return window.run(TOOLTIP)


def test_the_tooltip_has_all_curves_the_nearest_first(opened, screenshot):
    window = opened(compare(), "loss")
    wait_until(lambda: "seed-19: from 19" in window.run(LABEL, "loss"), message="all curves")
    point(window, "loss", 0.5, 0.98)
    shown = tooltip(window)
    assert [row[0] for row in shown["rows"]] == NAMES, "from below, where the pointer is"
    step = int(shown["title"].removeprefix("report "))
    assert 150 < step < 250
    assert [row[1:] for row in shown["rows"]] == [[f"{at + step / 1000:.5g}", f"report {step}"] for at in range(RUNS)]
    legend = window.run(
        "return [...document.querySelectorAll('.legend path')].map((each) => each.getAttribute('stroke'))"
    )
    assert shown["colours"] == legend
    point(window, "loss", 0.5, 0.02)
    assert [row[0] for row in tooltip(window)["rows"]] == NAMES[::-1]
    assert window.count(".tooltip") == 1
    screenshot(window, "tooltip")
    assert window.run(CONTRAST) == []


def test_the_tooltip_covers_no_point_of_its_line(opened):
    for size in ((1280, 800), (390, 844)):
        window = opened("#/run/read", "loss", size=size)
        window.run(FIGURE + "figure.scrollIntoView({block: 'center'})", "loss")
        for x in (0.2, 0.5, 0.8, 0.97):
            for y in (0.1, 0.5, 0.9):
                point(window, "loss", x, y)
                box, at, edge = window.run(
                    FIGURE + "const box = figure.querySelector('.tooltip').getBoundingClientRect();"
                    "const canvas = figure.querySelector('canvas').getBoundingClientRect();"
                    "return [[box.left, box.right, box.top, box.bottom], [canvas.left + arguments[1] * canvas.width, "
                    "canvas.top + arguments[2] * canvas.height], document.documentElement.clientWidth]",
                    "loss",
                    x,
                    y,
                )
                left, right, top, bottom = box
                assert left >= 0 and right <= edge, (size, x, y, box)
                assert right < at[0] or left > at[0] or bottom < at[1] or top > at[1], (size, x, y, box, at)


def test_cursors_are_linked_and_a_click_keeps_them(opened, screenshot):
    window = opened("#/run/read", "loss")
    wait_until(lambda: "from" in window.run(LABEL, "accuracy"), message="the reported metric")
    assert window.run(PIXELS, "rough", 1, None) == 0
    point(window, "loss", 0.5, 0.5)
    step = int(tooltip(window)["title"].removeprefix("step "))
    assert window.run(PIXELS, "rough", 1, None) > 50, "a line and a point"
    values = window.run(
        "return Object.fromEntries([...document.querySelectorAll('figcaption')]"
        ".map((each) => [each.firstChild.textContent, each.querySelector('.value').textContent]))"
    )
    assert values["rough"] == str(step % 2) and values["negative"] == str(-1 - step) and values["loss"] == ""
    assert values["accuracy"] in ("0", "0.25"), "of another axis: the point of the same time"
    point(window, "loss", 0.5, 0.5, "pointerdown", "pointerup", "pointerleave")
    assert tooltip(window)["isKept"]
    point(window, "loss", 0.8, 0.5)
    assert tooltip(window)["title"] == f"step {step}", "a kept tooltip stays"
    screenshot(window, "linked")
    window.run("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))")
    assert tooltip(window) is None and window.run(PIXELS, "rough", 1, None) == 0


def test_a_kept_tooltip_scrolls(opened):
    window = opened(compare(), "loss")
    wait_until(lambda: "seed-19: from 19" in window.run(LABEL, "loss"), message="all curves")
    point(window, "loss", 0.5, 0.5, "pointermove", "pointerdown", "pointerup")
    high, seen, may_scroll, tab = window.run(
        "const list = document.querySelector('.tooltip ol');"
        "return [list.scrollHeight, list.clientHeight, getComputedStyle(list.parentNode).pointerEvents, list.tabIndex]"
    )
    assert high > seen and (may_scroll, tab) == ("auto", 0)
    assert "20 curves" in window.text(".tooltip")


def test_the_keys_do_the_same(opened):
    window = opened("#/run/read", "loss")
    window.run(FIGURE + "figure.querySelector('canvas').focus()", "loss")
    press = FIGURE + (
        "figure.querySelector('canvas').dispatchEvent(new KeyboardEvent('keydown', "
        "{key: arguments[1], bubbles: true, cancelable: true})); return figure.querySelector('output').textContent"
    )
    assert window.run(press, "loss", "Home") == "step 0: 4"
    assert window.run(press, "loss", "ArrowRight") == "step 1: 2"
    assert tooltip(window)["rows"] == [["read", "2", "step 1"]]
    window.run(press, "loss", "Enter")
    assert tooltip(window)["isKept"]
    window.run(press, "loss", "Escape")
    assert tooltip(window) is None


def test_a_tooltip_of_twenty_curves_is_drawn_within_a_frame(opened):
    """The median is printed: no speed is asserted but that it is far from a second."""
    window = opened(compare(), "loss")
    wait_until(lambda: "seed-19: from 19" in window.run(LABEL, "loss"), message="all curves")
    point(window, "loss", 0.5, 0.5)
    times = window.run(POINTER_MS, "loss")
    print(f"a tooltip of {RUNS} curves takes {statistics.median(times):.1f} ms, at most {max(times):.1f} ms")
    assert statistics.median(times) < 500


def test_a_legend_hides_curves(opened):
    window = opened(compare(), "loss")
    wait_until(lambda: "seed-19: from 19" in window.run(LABEL, "loss"), message="all curves")
    window.click(".legend button[aria-label='seed-03']")
    assert window.run("return document.querySelector('[aria-label=seed-03]').ariaPressed") == "false"
    named = lambda: [row[0] for row in tooltip(window)["rows"]]  # noqa: E731

    def names_at(y):
        point(window, "loss", 0.5, y)
        return named()

    wait_until(lambda: names_at(0.98) == [name for name in NAMES if name != "seed-03"], message="a curve less")
    window.run(
        "document.querySelector('[aria-label=seed-05]').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))"
    )
    wait_until(lambda: names_at(0.98) == ["seed-05"], message="one curve alone")
    assert window.count(".legend button[aria-pressed=true]") == 1
    window.run(
        "document.querySelector('[aria-label=seed-05]').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))"
    )
    wait_until(lambda: names_at(0.98) == NAMES, message="all again")
    assert window.run(UNNAMED) == []


def test_raw_values_are_faint_behind_smoothed_ones(opened):
    window = opened("#/run/read?smooth=0.9", "rough")
    point(window, "rough", 0.9, 0.5)
    [[_, value, where]] = tooltip(window)["rows"]
    step = int(where.removeprefix("step "))
    smooth, raw = value.split(" raw ")
    weight = sum_of = 0
    for at in range(step + 1):
        weight, sum_of = 0.9 * weight + 0.1, 0.9 * sum_of + 0.1 * (at % 2)
    assert float(smooth) == pytest.approx(sum_of / weight, rel=1e-4) and raw == str(step % 2)
    assert window.run(PIXELS, "rough", 0, tooltip(window)["colours"][0]) > 100, "the smoothed line is not faint"


def test_outliers_can_be_left_out_and_are_marked(opened, screenshot):
    window = opened("#/run/read", "spike")
    assert "1.0M" in window.run(WRITTEN, "spike") or "1M" in window.run(WRITTEN, "spike")
    window.run("document.querySelector('input[name=outliers]').click()")
    written = window.run(WRITTEN, "spike")
    assert "▲ up to 1000000" in written and not any(text.endswith("M") for text in written), written
    assert any(text.startswith("1.") for text in written)
    assert "outliers=0" in window.run("return location.hash")
    screenshot(window, "outliers")


def test_zeros_on_a_logarithmic_axis_are_said_and_drawn(opened):
    window = opened("#/run/read?logy=1", "zeros")
    written = window.run(WRITTEN, "zeros")
    assert "0 is at the bottom" in written and "0" in written and "zeros, logarithmic" in written
    point(window, "zeros", 0.01, 0.95)
    assert tooltip(window)["rows"] == [["read", "0", "step 0"]]
    assert window.run(PIXELS, "zeros", 1, tooltip(window)["colours"][0]) > 20, "the point of the zero"
    assert "no value above 0: linear y" in window.run(WRITTEN, "negative")


def test_a_range_of_y_by_hand_is_in_the_address(opened):
    window = opened("#/run/read", "loss")
    window.run(FIGURE + "figure.querySelector('[aria-label=\"Menu of loss\"]').click()", "loss")
    window.type("input[name=y-from]", "1")
    window.type("input[name=y-to]", "0.5" + KEYS["Enter"])
    assert "1 is not below 0.5." in window.text(".menu")
    window.type("input[name=y-to]", KEYS["End"] + KEYS["Backspace"] * 3 + "2" + KEYS["Enter"])
    wait_until(lambda: "▲ up to 4   ▼ down to 0.01" in window.run(WRITTEN, "loss"), message="what is left out")
    assert window.count(".menu") == 0
    assert "y%3Aloss=1%2C2" in window.run("return location.hash")
    window.run("location.reload()")
    wait_until(lambda: "from" in window.run(LABEL, "loss"), message="the chart again")
    assert "▲ up to 4   ▼ down to 0.01" in window.run(WRITTEN, "loss")


def test_x_is_a_step_a_time_the_clock_or_a_metric(opened):
    window = opened("#/run/read", "loss")
    assert "step" in window.run(WRITTEN, "loss") and "report" in window.run(WRITTEN, "accuracy")

    def choose(value, title, chart="loss"):
        window.run(
            "const it = document.querySelector('select[name=by]'); it.value = arguments[0];"
            "it.dispatchEvent(new Event('change'))",
            value,
        )
        wait_until(lambda: title in window.run(WRITTEN, chart), message=title)

    choose("time", "time since the start")
    point(window, "loss", 0.5, 0.5)
    assert tooltip(window)["title"].endswith(" s")
    choose("clock", "time (UTC)")
    point(window, "loss", 0.5, 0.5)
    started = window.run("return fetch('api/runs/read').then((answer) => answer.json()).then((run) => run.started_at)")
    assert tooltip(window)["title"].startswith(started[:14].replace("T", " "))
    choose("metric:accuracy", "accuracy", "epoch")
    assert "no values of accuracy" in window.run(WRITTEN, "loss"), "all of it was logged before"
    point(window, "epoch", 0.99, 0.1)
    assert tooltip(window)["title"] == "accuracy 0.75" and tooltip(window)["rows"] == [["read", "3", "report 3"]]
    assert "by=metric" in window.run("return location.hash")


def saved(window, title, kind):
    name, content = window.run(SAVED, title, f"Save as {kind}")
    return name, base64.b64decode(content)


def test_a_chart_is_saved_as_csv(opened):
    window = opened(compare(), "loss")
    wait_until(lambda: "seed-19: from 19" in window.run(LABEL, "loss"), message="all curves")
    name, content = saved(window, "loss", "CSV")
    assert name == "loss.csv"
    rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    assert len(rows) == RUNS * 400 and list(rows[0]) == ["run", "step", "time", "x (report)", "loss", "min", "max"]
    for row in rows:
        assert float(row["loss"]) == pytest.approx(int(row["run"][-2:]) + int(row["step"]) / 1000)


def test_a_chart_is_saved_as_a_picture(opened):
    window = opened("#/run/read", "<b>bold</b>")
    name, content = saved(window, "<b>bold</b>", "SVG")
    assert name == "_b_bold_b_.svg"
    root = xml.etree.ElementTree.fromstring(content)
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("<b>bold</b>") == 2 and "step" in texts and "0" in texts
    paths = [each.get("d") for each in root.iter("{http://www.w3.org/2000/svg}path")]
    assert max(path.count("L") for path in paths) == 399, "the line of 400 points"
    window.run("location.reload()")
    wait_until(lambda: "from" in window.run(LABEL, "loss"), message="the chart again")
    name, content = saved(window, "loss", "PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert name == "loss.png" and content[:8] == b"\x89PNG\r\n\x1a\n" and width >= 1280 and height >= 720
