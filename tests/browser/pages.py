"""The pages of rtrain dash: their addresses, and what a browser finds on them."""

import pytest

from conftest import wait_until

PAGES = {
    "runs": "#/?spark=loss",
    "run": "#/run/two",
    "charts": "#/run/two/charts",
    "ranks": "#/run/two/ranks",
    "data": "#/run/two/data",
    "logs": "#/run/two/logs",
    "checkpoints": "#/run/two/checkpoints",
    "code": "#/run/two/code",
    "system": "#/run/two/system",
    "media": "#/run/two/media",
    "hang": "#/run/two/hang",
    "rank": "#/run/two/rank/1",
    "compare": "#/compare?run=one&run=two",
    "nodes": "#/nodes",
    "resources": "#/resources",
    "sweeps": "#/sweep",
}
# A text that only the complete page contains.
SIGNS = {
    "runs": "2 runs",
    "run": "depth",
    "charts": "signal",
    "ranks": "the first attempt fails",
    "data": "read no dataset",
    "logs": "the run has ended",
    "checkpoints": "latest",
    "code": "train_loop_per_worker",
    "system": "Environment",
    "media": "samples (image)",
    "hang": "No rank of this run was found to hang",
    "rank": "the run has ended",
    "compare": "Code",
    "nodes": "idle",
    "resources": "cores are offered",
    "sweeps": "No sweeps here",
}

# Texts whose contrast with their background is too low (WCAG AA), as [text, ratio].
CONTRAST = """
const channels = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
const light = (text) => {
  const [r, g, b] = channels(text).map((c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const isSeen = (colour) => channels(colour)[3] !== 0;
const behind = (node) => {
  for (; node; node = node.parentElement) {
    const colour = getComputedStyle(node).backgroundColor;
    if (isSeen(colour)) return colour;
  }
  return 'rgb(255, 255, 255)';
};
const out = [];
for (const node of document.querySelectorAll('body *')) {
  const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  if (!own || node.closest('svg') || node.disabled || !node.getClientRects().length) continue;
  const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) out.push([node.textContent.slice(0, 40), ratio]);
}
return out;
"""

# Controls without a name, images without a text, and table heads without a scope.
UNNAMED = """
const named = (node) => node.getAttribute('aria-label') || node.labels?.length || node.textContent.trim();
return [...document.querySelectorAll('input, button, select, textarea, a, canvas[role=img], [role=region]')]
  .filter((node) => !named(node)).concat([...document.querySelectorAll('th:not([scope])')])
  .map((node) => node.outerHTML.slice(0, 200));
"""


def shows(browser, text, selector="main"):
    wait_until(lambda: text in browser.text(selector), message=f"{text!r} on the page")


def go(browser, page):
    browser.run("location.hash = arguments[0]", PAGES[page])
    shows(browser, SIGNS[page])


@pytest.fixture
def page(dash, browser):
    """Opens the page of all runs in a browser."""
    server = dash()
    window = browser()
    window.open(server.url.geturl())
    shows(window, "2 runs")
    window.server = server
    return window


def pictures(window):
    """Returns the alternative texts of the images that are loaded completely."""
    return window.run(
        "return [...document.querySelectorAll('.media img')].filter((each) "
        "=> each.complete && each.naturalWidth > 0).map((each) => each.alt)"
    )


def reveal(window):
    """Unfolds all sections of charts in a window that is high enough for all of them: those in sight load."""
    window.resize(1280, 8000)
    window.run("for (const each of document.querySelectorAll('.sections > details')) each.open = true")


CLICK = (
    "const it = [...document.querySelectorAll('main button')].find((each) "
    "=> each.textContent === arguments[0]); it.focus(); it.click()"
)
