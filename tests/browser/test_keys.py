"""The keys of the pages of rtrain dash, the list of them, the palette of commands, and the switch of themes."""

from conftest import wait_until
from dash_server import dash, results  # noqa: F401  (fixtures)
from pages import CONTRAST, UNNAMED, go, page, shows  # noqa: F401  (a fixture)
from webdriver import KEYS

FOCUSED = "return document.activeElement.textContent"
CHOSEN = "return document.querySelector('[role=option][aria-selected=true]')?.textContent"
BACK = "return getComputedStyle(document.body).backgroundColor"


def hash_of(window):
    return window.run("return location.hash")


def test_the_list_of_keys_names_what_there_is(page, screenshot):
    page.press("?")
    shows(page, "Next row of a list", "dialog")
    keys = page.run("return [...document.querySelectorAll('dialog tr')].map((row) => row.innerText.trim())")
    assert any("g" in row and "Page Sweeps" in row for row in keys) and any("Ctrl" in row for row in keys)
    assert page.run(FOCUSED) == "Close" and page.run(CONTRAST) == [] and page.run(UNNAMED) == []
    screenshot(page, "keys")
    page.press(KEYS["Escape"])
    wait_until(lambda: page.count("dialog") == 0, message="the end of the list")


def test_keys_go_to_pages_rows_and_the_search(page):
    page.press("g")
    page.press("s")
    shows(page, "No sweeps here")
    page.press("g")
    page.press("r")
    shows(page, "2 runs")
    rows = page.run(
        "return [...document.querySelectorAll('main tbody tr')].map((row) => row.querySelector('a').textContent)"
    )
    page.press("j")
    assert page.run(FOCUSED) == rows[0]
    page.press("j")
    assert page.run(FOCUSED) == rows[1]
    page.press("j")
    assert page.run(FOCUSED) == rows[1], "the last row"
    page.press("x")
    assert page.run("return [...document.querySelectorAll('main tbody input')].map((each) => each.checked)") == [
        False,
        True,
    ]
    page.press("k")
    assert page.run(FOCUSED) == rows[0]
    page.press("/")
    assert page.run("return document.activeElement.tagName") == "INPUT"
    page.press("j")
    assert page.run("return document.activeElement.value") == "j", "a letter in a field is a letter"


def test_keys_turn_the_tabs_of_a_run(page):
    go(page, "run")
    page.press("]")
    wait_until(lambda: hash_of(page) == "#/run/two/charts", message="the next tab")
    page.press("[")
    wait_until(lambda: hash_of(page) == "#/run/two", message="the tab before")
    shows(page, "depth")


def test_keys_without_ctrl_can_be_turned_off(page):
    page.press("?")
    page.click("dialog input[name=letters]")
    page.press(KEYS["Escape"])
    page.press("g")
    page.press("s")
    page.press(KEYS["Control"], "k")
    shows(page, "Page", "dialog.commands")
    assert hash_of(page) in ("", "#/"), "g s did nothing"
    page.press(KEYS["Escape"])
    page.run("location.reload()")
    shows(page, "2 runs")
    page.press("?")
    assert page.count("dialog") == 0, "kept over a reload"


def test_commands_find_pages_runs_and_metrics(page, screenshot):
    page.press(KEYS["Control"], "k")
    shows(page, "Run two", "dialog.commands")
    assert page.run("return document.activeElement.getAttribute('role')") == "combobox"
    assert page.run(CHOSEN) == "Page Runs"
    page.press(KEYS["Down"])
    assert page.run(CHOSEN) == "Page Compare"
    pointed = "return document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent"
    assert page.run(pointed) == "Page Compare"
    assert page.run(CONTRAST) == [] and page.run(UNNAMED) == []
    screenshot(page, "commands")
    page.type("dialog input", "run two" + KEYS["Enter"])
    shows(page, "depth")
    assert hash_of(page) == "#/run/two" and page.count("dialog") == 0
    page.press(KEYS["Control"], "k")
    page.type("dialog input", "signal")
    wait_until(lambda: page.run(CHOSEN) == "Metric signal", message="the metric")
    page.press(KEYS["Enter"])
    wait_until(lambda: hash_of(page) == "#/run/two/charts?metrics=signal", message="its chart")
    wait_until(lambda: page.count("figure canvas[role=img]") == 1, message="that chart alone")
    page.press(KEYS["Control"], "k")
    page.type("dialog input", "nothing's called so")
    shows(page, "Nothing has nothing's called so in its name", "dialog")
    page.press(KEYS["Enter"])
    assert page.count("dialog") == 1


def test_the_theme_is_chosen_and_kept(page, screenshot):
    light = page.run(BACK)
    page.run(
        "const it = document.querySelector('select[name=theme]'); it.value = 'dark'; it.dispatchEvent(new Event('change'))"
    )
    dark = page.run(BACK)
    assert dark != light
    go(page, "run")
    wait_until(lambda: page.count("figure canvas") >= 2, message="the curves")
    assert page.run(CONTRAST) == []
    screenshot(page, "run-theme-dark")
    page.run("location.reload()")
    shows(page, "depth")
    assert page.run(BACK) == dark
    page.press(KEYS["Control"], "k")
    page.type("dialog input", "theme system" + KEYS["Enter"])
    wait_until(lambda: page.run(BACK) == light, message="the theme of the system")
    assert page.run("return document.querySelector('select[name=theme]').value") == ""
