"""The page of one run: what is in its first screen, its tabs, and the line of the script that failed."""

from conftest import wait_until
from dash_server import dash, results  # noqa: F401  (fixtures)
from pages import CONTRAST, UNNAMED, go, page, shows  # noqa: F401  (a fixture)
from webdriver import KEYS

TITLES = ["Overview", "Charts", "Ranks", "Data", "Logs", "Checkpoints", "Code and diff", "System", "Media"]
SHOWN = "return document.querySelector('[role=tab][aria-selected=true]')?.textContent"
FOCUSED = "return document.activeElement.textContent"
# Whether the first node with the selector is within the window.
IN_SIGHT = """
const box = document.querySelector(arguments[0])?.getBoundingClientRect();
return box !== undefined && box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
"""
ASKED = "return performance.getEntriesByType('resource').map((each) => each.name.split('/api/')[1]).filter(Boolean)"
# A script whose error is in a module; the script is long enough that lines before and after the error are left out.
FAILING = """
local train = require 'rtrain'
local flowers = require 'flowers'
train.TorchTrainer {
  train_loop_per_worker = function() flowers.pick('rose') end,
}:fit()
"""
MODULE = (
    "\n".join(["-- flowers.lua: a shop.", "local flowers = {}", *["" for _ in range(8)]])
    + """
function flowers.pick(name)
  local stock = {tulip = 3}
  return stock[name] + 1
end

return flowers
"""
)


def test_the_first_screen_has_curves_and_config(page, screenshot):
    page.resize(1280, 800)
    go(page, "run")
    wait_until(lambda: page.count("figure canvas") >= 2, message="the curves")
    for what in ("h1", "[role=tablist]", "figure canvas", "[aria-label=Config] table"):
        assert page.run(IN_SIGHT, what), what
    screenshot(page, "run-first-screen")


def test_a_tab_is_part_of_the_address(page):
    go(page, "run")
    assert page.run("return [...document.querySelectorAll('[role=tab]')].map((each) => each.textContent)") == TITLES
    page.click("#tab-logs")
    shows(page, "the run has ended")
    assert page.run("return location.hash") == "#/run/two/logs" and page.run(SHOWN) == "Logs"
    page.run("location.reload()")
    shows(page, "the run has ended")
    assert page.run(SHOWN) == "Logs"
    page.run("history.back()")
    shows(page, "depth")
    assert page.run(SHOWN) == "Overview"
    page.run("location.hash = '#/run/two/nowhere'")
    shows(page, "A run has no such part", "[role=alert]")


def test_old_addresses_work(page):
    for address, sign, tab in (
        ("#/run/two/rank/1", "Rank 1 of two", "Ranks"),
        ("#/run/two/hang", "Hangs of two", "Ranks"),
        ("#/run/two/data", "read no dataset", "Data"),
    ):
        page.run("location.hash = arguments[0]", address)
        shows(page, sign)
        assert page.run(SHOWN) == tab


def test_tabs_are_used_with_the_keyboard(page):
    go(page, "run")
    page.run("document.getElementById('tab-overview').focus()")
    for key, focused in (
        ("Right", "Charts"),
        ("Left", "Overview"),
        ("Left", "Media"),
        ("Home", "Overview"),
        ("End", "Media"),
    ):
        page.press(KEYS[key])
        assert page.run(FOCUSED) == focused
        assert page.run(SHOWN) == "Overview", "the arrows alone load nothing"
    page.press(" ")
    shows(page, "samples (image)")
    assert page.run(SHOWN) == "Media" and page.run(FOCUSED) == "Media", "the focus stays where it was"
    assert page.count("[role=tab][tabindex='0']") == 1, "one stop for all tabs"
    page.press(KEYS["Home"])
    page.press(KEYS["Enter"])
    shows(page, "depth")
    labelled = page.run(
        "return document.getElementById(document.querySelector('[role=tabpanel]').getAttribute('aria-labelledby')).textContent"
    )
    assert labelled == "Overview"


def test_only_the_tab_that_is_shown_asks(page):
    page.run("location.hash = '#/nodes'")
    shows(page, "Nodes", "h1")
    page.run("performance.clearResourceTimings(); location.hash = '#/run/two/code'")
    shows(page, "train_loop_per_worker")
    asked = page.run(ASKED)
    assert "runs/two/sources" in asked
    for part in ("media", "curve", "logs", "traces", "checkpoints"):
        assert not [each for each in asked if each.startswith(f"runs/two/{part}")], part


def test_a_failed_run_shows_the_line_that_failed(rtrain, dash, browser, screenshot):
    rtrain.script(MODULE, "flowers.lua")
    assert rtrain("run", rtrain.script(FAILING, "shop.lua"), "--name", "shop", "-q").returncode != 0
    window = browser()
    window.open(dash().url.geturl() + "#/run/shop/logs")
    shows(window, "arithmetic", ".failure [role=alert]")
    assert "flowers.lua, line 13" in window.text(".failure figcaption")
    assert window.text(".failure .here").split() == ["▶", "13", "return", "stock[name]", "+", "1"]
    lines = window.text(".failure pre").splitlines()
    assert len([line for line in lines if line.strip()]) == 7 and "function flowers.pick(name)" in lines[1]
    assert window.run("return document.querySelector('.failure').getBoundingClientRect().top") < 200, "on top"
    assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []
    screenshot(window, "run-failed")


def test_an_error_without_a_place_has_the_line_that_raised_it(trained, dash, browser):
    trained.run(
        """
        local train = require 'rtrain'
        train.TorchTrainer {train_loop_per_worker = function() error('elsewhere.lua:1: not here', 0) end}:fit()""",
        "--name",
        "placeless",
        "-q",
    )
    window = browser()
    window.open(dash().url.geturl() + "#/run/placeless")
    shows(window, "elsewhere.lua:1", "[role=alert]")
    shows(window, "error('elsewhere.lua:1: not here', 0)", ".lines .here")
