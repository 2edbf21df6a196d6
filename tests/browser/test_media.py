"""What train functions log apart from numbers, on the pages of rtrain dash in a real browser."""

import pytest

from conftest import Rtrain, wait_until
from dash_server import dash  # noqa: F401  (a fixture)
from pages import UNNAMED

SCRIPT = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config)
    local seconds = torch.arange(4000) / 8000
    for step = 0, 2 do
      train.log_audio('tone', (2 * math.pi * 440 * (step + 1) * seconds):sin(), {step = step, sample_rate = 8000})
    end
    train.report {}
  end,
}:fit()
"""
HEARD = """
return [...document.querySelectorAll('.media audio')]
  .map((each) => [each.ariaLabel, each.error?.message ?? null, Math.round(1000 * each.duration)]);
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with two runs that have logged sounds."""
    runner = Rtrain(tmp_path_factory.mktemp("results"))
    for name in ("first", "second"):
        runner.run_ok(SCRIPT, "--name", name, "-q")
    return runner.storage


def test_audio_of_runs_is_played_side_by_side_at_one_step(dash, browser):
    window = browser()
    window.open(dash().url.geturl() + "#/compare?run=first&run=second")
    last = [[f"tone of {name}, rank 0, step 2", None, 500] for name in ("first", "second")]
    wait_until(lambda: window.run(HEARD) == last, message="half a second of each run")
    window.run(
        "const it = document.querySelector('input[name=step]'); it.value = 0; it.dispatchEvent(new Event('input'))"
    )
    first = [[f"tone of {name}, rank 0, step 0", None, 500] for name in ("first", "second")]
    wait_until(lambda: window.run(HEARD) == first, message="those of the first step")
    assert window.run(UNNAMED) == []


def test_audio_is_in_a_file_without_a_server(trained, browser, tmp_path):
    file = tmp_path / "run.html"
    file.write_text(trained("export", "first", "--html").stdout)
    window = browser()
    window.open(file.as_uri() + "#/run/first/media")
    wait_until(lambda: window.run(HEARD) == [["tone of first, rank 0, step 2", None, 500]], message="the sound")
