"""Provides the fixtures of tests/e2e and a browser. Without chromium all tests are skipped, with the reason."""

import os
import pathlib
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
E2E = HERE.parent / "e2e"
sys.path[:0] = [str(HERE), str(E2E)]

from borrowed import NAMES

globals().update(NAMES)

import webdriver

# The folder for pictures of the pages: scripts/test --browser FOLDER.
SCREENSHOTS = os.environ.get("RTRAIN_TEST_SCREENSHOTS")


def pytest_collection_modifyitems(items):
    for item in [] if webdriver.is_there() else items:
        item.add_marker(pytest.mark.skip(reason="no chromium and chromedriver: scripts/setup --browser installs them"))


@pytest.fixture
def browser():
    """Starts browsers. An error in the console of a page fails the test."""
    started = []
    with tempfile.TemporaryDirectory(prefix="rt-browser-", ignore_cleanup_errors=True) as folder:

        def start(**options):
            own = pathlib.Path(folder) / str(len(started))
            own.mkdir()
            started.append(webdriver.Browser(own, {**os.environ, "HOME": str(own)}, **options))
            return started[-1]

        messages = []
        yield start
        for each in started:
            messages += each.messages()
            each.close()
    assert not messages


def make_small(file):
    """Reduces the picture to few colours, which suffice for pages: its file in the documents becomes two thirds
    smaller.
    """
    try:
        from PIL import Image as image
    except ImportError:
        return  # the picture stays unchanged
    image.open(file).convert("RGB").quantize(48, method=image.Quantize.MEDIANCUT, dither=image.Dither.NONE).save(
        file, optimize=True
    )


@pytest.fixture
def screenshot():
    """Saves a picture under the name if a folder for pictures is given."""

    def keep(browser, name):
        if SCREENSHOTS:
            pathlib.Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
            file = pathlib.Path(SCREENSHOTS) / f"{name}.png"
            browser.screenshot(file)
            make_small(file)

    return keep
