"""What train functions log apart from numbers, on the pages of rtrain dash in a real browser."""

import math
import random

import pytest

from conftest import Rtrain, wait_until
from dash_server import dash  # noqa: F401  (a fixture)
from pages import CONTRAST, UNNAMED, shows
from test_axis import pages  # noqa: F401  (a fixture)
from webdriver import KEYS

# The run `second` begins at step 10. At step 10 × n the weights are evenly from n to n + 1.
SCRIPT = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config)
    local seconds = torch.arange(4000) / 8000
    for n = config.first, 2 do
      train.log_audio('tone', (2 * math.pi * 440 * (n + 1) * seconds):sin(), {step = 10 * n, sample_rate = 8000})
      train.log_histogram('weights', torch.linspace(n, n + 1, 1000), {step = 10 * n, bins = 10})
    end
    train.log_video('dot', torch.eye(4):reshape(4, 1, 2, 2), {step = 10, fps = 8})
    for step = 0, config.steps - 1 do train.log_histogram('many', {step, step + 1}, {step = step, bins = 2}) end
    train.report {}
  end,
  train_loop_config = {first = tonumber(arg[1]), steps = tonumber(arg[2])},
}:fit()
"""
HEARD = """
return [...document.querySelectorAll('.media audio')]
  .map((each) => [each.ariaLabel, each.error?.message ?? null, Math.round(1000 * each.duration)]);
"""
# The names of what is on the page: captions of all cells with that name.
CAPTIONS = """
return [...document.querySelectorAll('main details')].filter((each) => each.innerText.startsWith(arguments[0]))
  .flatMap((each) => [...each.querySelectorAll('.media > div > p')]).map((each) => each.innerText);
"""
STEP = """
const slider = document.querySelector('input[name=step]');
slider.value = arguments[0];
slider.dispatchEvent(new Event('input'));
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with two runs."""
    runner = Rtrain(tmp_path_factory.mktemp("results"))
    for name, first, steps in (("first", 0, 160), ("second", 1, 0)):
        runner.run_ok(SCRIPT, "--name", name, "-q", "--", first, steps)
    return runner.storage


@pytest.fixture
def compared(dash, browser):
    """The page that compares both runs."""
    window = browser()
    window.open(dash().url.geturl() + "#/compare?run=first&run=second")
    shows(window, "weights (histogram)")
    return window


def heard(window, *expected):
    """Waits for half a second of audio of each run at that step."""
    wanted = [[f"tone of {name}, rank 0, step {step}", None, 500] for name, step in expected]
    wait_until(lambda: window.run(HEARD) == wanted, message=f"{wanted}")


# Audio.


def test_audio_of_runs_is_played_side_by_side_at_one_step(compared):
    heard(compared, ("first", 20), ("second", 20))
    compared.run(STEP, 10)
    heard(compared, ("first", 10), ("second", 10))
    compared.run("document.querySelector('.media audio').currentTime = 0.25")
    compared.run(STEP, 12)
    shows(compared, "step 12", ".stepped output")
    place = "return document.querySelector('.media audio').currentTime"
    assert compared.run(place) == 0.25, "it is at a place of its own, and the same record stays"
    compared.run(STEP, 0)
    heard(compared, ("first", 0))
    assert compared.run(UNNAMED) == []


def test_audio_is_in_a_file_without_a_server(trained, browser, tmp_path):
    file = tmp_path / "run.html"
    file.write_text(trained("export", "first", "--html").stdout)
    window = browser()
    window.open(file.as_uri() + "#/run/first/media?step=10")
    heard(window, ("first", 10))


# One slider for all runs and names.


def test_each_run_shows_its_last_record_up_to_the_step(compared):
    for step, first, second in ((0, "step 0", None), (9, "step 0", None), (15, "step 10", "step 10")):
        compared.run(STEP, step)
        wait_until(
            lambda: (
                [text.split(", ")[:3] for text in compared.run(CAPTIONS, "tone")]
                == [
                    ["first", "rank 0", first],
                    ["second", "rank 0", second] if second else ["second", f"rank 0: nothing up to step {step}"],
                ]
            ),
            message=f"what was there at step {step}",
        )
    wait_until(lambda: "step=15" in compared.run("return location.hash"), message="the step in the address")
    compared.run("location.reload()")
    shows(compared, "step 15", ".stepped output")


# Videos.

DECODED = """
const [found] = arguments;
return (async () => {
  const {body} = await fetch(document.querySelectorAll('.media img')[found].src);
  const decoder = new ImageDecoder({data: body, type: 'image/png'});
  await decoder.completed;
  const out = [];
  for (let frameIndex = 0; frameIndex < decoder.tracks.selectedTrack.frameCount; ++frameIndex) {
    const {image} = await decoder.decode({frameIndex});
    const g = new OffscreenCanvas(2, 2).getContext('2d');
    g.drawImage(image, 0, 0);
    out.push([image.duration / 1000, [...g.getImageData(0, 0, 2, 2).data].filter((_, at) => at % 4 === 0)]);
  }
  return out;
})();
"""
VIDEO = """
const [video] = [...document.querySelectorAll('.media > div')].filter((each) => each.querySelector('img'));
const [still, moving] = ['canvas', 'img'].map((name) => video.querySelector(name));
const {data} = still.getContext('2d').getImageData(0, 0, 2, 2);
return [still.checkVisibility(), moving.checkVisibility(), [...data].filter((_, at) => at % 4 === 0)];
"""


def test_a_video_has_its_frames_and_stands_still_until_it_is_played(compared):
    wait_until(lambda: len(compared.run("return [...document.querySelectorAll('.media img')]")) == 2, message="videos")
    if compared.run("return typeof ImageDecoder") == "function":
        frames = [[125, [255 if pixel == at else 0 for pixel in range(4)]] for at in range(4)]
        assert compared.run(DECODED, 0) == frames, "as the browser decodes them"
    first = [255, 0, 0, 0]
    wait_until(lambda: compared.run(VIDEO) == [True, False, first], message="its first frame")
    compared.run("document.querySelector('.media button').click()")
    assert compared.run(VIDEO)[:2] == [False, True]
    compared.run("document.querySelector('.media button').click()")
    assert compared.run(VIDEO) == [True, False, first]
    assert compared.run(UNNAMED) == []


# Heat maps of histograms.

HEAT = """
const [run, name] = arguments;
const canvas = document.querySelector(`canvas[aria-label='Step of ${name} of ${run}, rank 0']`);
if (!canvas?.clientWidth) return null;
canvas.scrollIntoView({block: 'center'});
const box = canvas.getBoundingClientRect();
const point = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type,
  {bubbles: true, clientX: box.left + x * box.width, clientY: box.top + y * box.height}));
const said = () => canvas.closest('figure').querySelector('p').textContent;
"""
SAID = HEAT + "return [said(), canvas.getAttribute('aria-valuetext'), Number(canvas.ariaValueNow)];"
READ = HEAT + "point('pointermove', arguments[2], arguments[3]); return said();"
CLICK = HEAT + "point('click', arguments[2], 0.5);"
# How opaque the picture is there.
INK = (
    HEAT
    + """
const at = [arguments[2] * canvas.width, arguments[3] * canvas.height].map(Math.round);
return canvas.getContext('2d').getImageData(...at, 1, 1).data[3];
"""
)


def said(window, run, name, step):
    """Waits until the heat map says that it is at that step. Returns its text."""
    wait_until(lambda: (window.run(SAID, run, name) or [0, 0, None])[2] == step, message=f"a heat map at step {step}")
    text, spoken, _ = window.run(SAID, run, name)
    assert text == spoken
    return text


def test_histograms_over_steps_are_a_heat_map(compared, screenshot):
    assert said(compared, "first", "weights", 20).startswith("Step 20: 1000 numbers, the fullest bin from ")
    # In the last column the numbers are in the upper third.
    assert compared.run(INK, "first", "weights", 0.9, 0.15) == 255
    assert compared.run(INK, "first", "weights", 0.91, 0.62) == 0
    said(compared, "second", "weights", 20)
    assert compared.run(INK, "second", "weights", 0.9, 0.15) == 255
    assert compared.run(INK, "second", "weights", 0.91, 0.42) == 0, "its y axis is that of the other run"
    upper, lower = (compared.run(READ, "first", "weights", 0.9, y) for y in (0.15, 0.62))
    assert upper.startswith("Step 20, 2.") and upper.endswith(": 3 % of 1000 numbers")
    assert lower.startswith("Step 20, ") and lower.endswith(": 0 % of 1000 numbers")
    compared.run(CLICK, "first", "weights", 0.5)
    said(compared, "first", "weights", 10)
    said(compared, "second", "weights", 10)
    wait_until(lambda: compared.run(CAPTIONS, "weights")[0].startswith("first, rank 0, step 10,"), message="its bars")
    assert compared.run(CONTRAST) == [] and compared.run(UNNAMED) == []
    screenshot(compared, "heat-maps")


def test_the_keys_of_a_heat_map_choose_a_step(compared):
    said(compared, "first", "weights", 20)
    compared.run(HEAT + "canvas.focus()", "first", "weights")
    for key, step in (("Home", 0), ("Right", 10), ("Right", 20), ("Right", 20), ("Left", 10), ("End", 20)):
        compared.press(KEYS[key])
        said(compared, "first", "weights", step)
        shows(compared, f"step {step}", ".stepped output")


def test_of_many_steps_some_are_drawn(compared):
    said(compared, "first", "many", 159)
    shows(compared, "150 of 160 steps are drawn.")
    assert compared.run(READ, "first", "many", 0.99, 0.5).startswith("Step 159, ")
    assert compared.run(READ, "first", "many", 0, 0.5).startswith("Step 0, ")


def test_a_heat_map_is_in_a_file_without_a_server(trained, browser, tmp_path):
    file = tmp_path / "run.html"
    file.write_text(trained("export", "first", "--html").stdout)
    window = browser()
    window.open(file.as_uri() + "#/run/first/media")
    said(window, "first", "weights", 20)


def below(histogram, value):
    """How many numbers are below the value, if those of each bin are spread evenly over it."""
    total = 0
    for low, high, count in zip(histogram["edges"], histogram["edges"][1:], histogram["counts"]):
        total += count * (1 if value >= high else 0 if value <= low else (value - low) / (high - low))
    return total


COMMON = """
const [histograms, bins] = arguments;
return import('/media/bins.js').then(({inCommonBins}) => {
  const {edges, counts} = inCommonBins(histograms, bins);
  return {edges, counts: counts.map((each) => [...each])};
});
"""


def test_common_bins_have_the_numbers_of_each_histogram(browser, pages):
    window = browser()
    window.open(f"{pages}/media/bins.js")
    chance = random.Random(1)
    histograms = []
    for _ in range(20):
        edges = sorted(chance.gauss(0, 3) for _ in range(chance.choice([2, 3, 11, 65])))
        histograms.append({"edges": edges, "counts": [chance.randrange(1000) for _ in edges[1:]]})
    for bins in (1, 7, 100):
        common = window.run(COMMON, histograms, bins)
        edges = common["edges"]
        assert len(edges) == bins + 1 and edges == sorted(edges)
        assert edges[0] == min(each["edges"][0] for each in histograms)
        assert edges[-1] == max(each["edges"][-1] for each in histograms)
        for histogram, counts in zip(histograms, common["counts"], strict=True):
            total = sum(histogram["counts"])
            assert math.isclose(sum(counts), total, rel_tol=1e-9)
            expected = [below(histogram, high) - below(histogram, low) for low, high in zip(edges, edges[1:])]
            assert counts == pytest.approx(expected, abs=1e-6 * total)


def test_numbers_that_are_all_the_same_have_a_bin(browser, pages):
    window = browser()
    window.open(f"{pages}/media/bins.js")
    narrow = {"edges": [1e17, 1e17, 1e17], "counts": [2, 3]}
    assert sum(window.run(COMMON, [narrow], 10)["counts"][0]) == 5
    common = window.run(COMMON, [narrow, {"edges": [0, 2e17], "counts": [10]}], 10)
    assert common["counts"] == [[0] * 5 + [5] + [0] * 4, [1] * 10]
    most = 1.7976931348623157e308
    ends = {"edges": [-most, 0, most], "counts": [4, 6]}
    assert window.run(COMMON, [ends], 4)["counts"] == [pytest.approx([2, 2, 3, 3])]
