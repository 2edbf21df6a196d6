"""The pages of rtrain dash in a real browser: their contents, use by keyboard, dark mode, and small screens."""

import json

import pytest

from conftest import wait_until
from dash_server import NASTY, dash, results  # noqa: F401  (fixtures)
from pages import CLICK, CONTRAST, PAGES, UNNAMED, go, page, pictures, shows  # noqa: F401  (a fixture)
from webdriver import KEYS


def test_the_token_leaves_the_address_and_a_reload_works(page):
    address = page.run("return location.href")
    assert "token" not in address
    go(page, "logs")
    page.open(page.run("return location.href"))
    page.run("location.reload()")
    shows(page, "the run has ended")


@pytest.mark.parametrize("dark", [False, True])
def test_every_page_can_be_read_by_everybody(dash, browser, screenshot, dark):
    server = dash()
    window = browser(dark=dark)
    window.open(server.url.geturl())
    shows(window, "2 runs")
    assert window.run("return matchMedia('(prefers-color-scheme: dark)').matches") is dark
    for name in PAGES:
        go(window, name)
        assert window.run(CONTRAST) == [], name
        assert window.run(UNNAMED) == [], name
        assert window.count("h1") == 1
        screenshot(window, f"{name}{'-dark' if dark else ''}")


def test_no_page_is_wider_than_a_phone(page, screenshot):
    page.resize(390, 800)
    for name in PAGES:
        go(page, name)
        wide = page.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, name
        screenshot(page, f"{name}-phone")


def test_a_page_weighs_little(page):
    go(page, "run")
    sizes = page.run(
        "return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
        ".filter((each) => !each.name.includes('/api/')).map((each) => each.transferSize)"
    )
    assert 10_000 < sum(sizes) <= 300_000


def test_the_cause_of_a_failed_run_is_two_clicks_away(trained, dash, browser):
    trained.run(
        """
        local train = require 'rtrain'
        train.TorchTrainer {train_loop_per_worker = function() error('no such flower') end}:fit()""",
        "--name",
        "broken",
        "-q",
    )
    window = browser()
    window.open(dash().url.geturl())
    shows(window, "broken")
    window.click("a[href='#/run/broken']")
    shows(window, "no such flower", "[role=alert]")
    shows(window, "error('no such flower')", ".lines .here")
    window.run("location.hash = '#/run/broken/ranks'")
    shows(window, "no such flower", "table")


def test_what_a_run_prints_or_is_called_is_text(page):
    go(page, "run")
    assert page.run("return document.querySelector('textarea[name=note]').value") == NASTY
    titles = "return [...document.querySelectorAll('figcaption')].map((each) => each.innerText)"
    wait_until(lambda: "<i>x</i>" in page.run(titles), message="the curves")
    go(page, "logs")
    shows(page, NASTY, "pre.log")
    shows(page, "<b>look</b>")
    assert page.count("main script, main i, main b") == 0


STEP = """
const slider = document.querySelector('input[name=step]');
slider.value = arguments[0];
slider.dispatchEvent(new Event('input'));"""


def test_media_of_a_run_at_a_step(page, screenshot):
    go(page, "media")
    wait_until(
        lambda: pictures(page) == ["samples of two, rank 0, step 20", "samples of two, rank 1, step 20"],
        message="the last step",
    )
    page.run(STEP, 1)
    wait_until(
        lambda: pictures(page) == ["samples of two, rank 0, step 10", "samples of two, rank 1, step 10"],
        message="the step before",
    )
    shows(page, "rank 1 <u>said</u> so")
    shows(page, "<s>nine</s>")
    assert page.count(".bars rect") == 4 and "1 not finite" in page.text(), "two bins of two ranks"
    assert page.count(".media u, .media s") == 0
    page.run("document.querySelector('.media').scrollIntoView()")
    screenshot(page, "media")


def test_media_of_runs_side_by_side(page, screenshot):
    go(page, "compare")
    wait_until(lambda: page.count("section[aria-label=Media]") > 0, message="the media")
    page.run("document.querySelector('section[aria-label=Media]').scrollIntoView()")
    wait_until(
        lambda: (
            sorted(pictures(page))
            == ["samples of one, rank 0, step 0", "samples of two, rank 0, step 20", "samples of two, rank 1, step 20"]
        ),
        message="the pictures of both",
    )
    page.run(STEP, 0)
    wait_until(
        lambda: (
            sorted(pictures(page))
            == ["samples of one, rank 0, step 0", "samples of two, rank 0, step 0", "samples of two, rank 1, step 0"]
        ),
        message="the first step of both",
    )
    page.run("document.querySelector('.media').scrollIntoView()")
    screenshot(page, "compare-media")


def test_nodes_of_runs(page):
    go(page, "nodes")
    host = page.run("return document.querySelector('main tbody a').textContent")
    page.click("main tbody a")
    shows(page, f"Node {host}")
    shows(page, "has recorded nothing of")
    page.run("location.hash = '#/nodes?run=two'")
    shows(page, "Nodes of two")
    assert "0 1" in page.text("tbody") and page.run(CONTRAST) == [] and page.run(UNNAMED) == []


def test_runs_are_filtered_sorted_and_compared(page):
    page.type("input[name=where]", "config.lr > 0.2" + KEYS["Enter"])
    shows(page, "1 run\n")
    assert "where=config.lr" in page.run("return location.hash")
    page.run(
        "const box = document.querySelector('input[name=where]'); box.value = 'nonsense ='; "
        "box.dispatchEvent(new Event('change'))"
    )
    shows(page, "nonsense", "[role=alert]")
    page.messages()  # clears the console: the browser reports the status 400
    page.run(
        "const box = document.querySelector('input[name=where]'); box.value = ''; box.dispatchEvent(new Event('change'))"
    )
    shows(page, "2 runs")
    page.run("[...document.querySelectorAll('th button')].find((each) => each.textContent.startsWith('Name')).click()")
    page.run("[...document.querySelectorAll('th button')].find((each) => each.textContent.startsWith('Name')).click()")
    wait_until(lambda: page.count("tbody[aria-busy=false]") == 1, message="the rows in that order")
    assert page.text("tbody").index("one") < page.text("tbody").index("two")
    page.click("tbody tr:nth-child(1) input")
    page.click("tbody tr:nth-child(2) input")
    page.run("[...document.querySelectorAll('button')].find((each) => each.textContent.startsWith('Compare')).click()")
    shows(page, "Environment")
    assert (
        page.run("return [...document.querySelectorAll('.differs, td')].map((each) => each.textContent)").count("0.5")
        >= 1
    )


def test_a_chart_is_read_with_the_keyboard(page):
    go(page, "run")
    chart = "[...document.querySelectorAll('figure')].find((each) => each.innerText.startsWith('signal'))"
    label = f"return {chart}.querySelector('canvas').getAttribute('aria-label')"
    wait_until(lambda: page.run(f"{chart}?.scrollIntoView(); return Boolean({chart})"), message="the chart")
    wait_until(lambda: "from 0 to 1000" in page.run(label), message="the one spike among 5000 points")
    press = (
        f"const canvas = {chart}.querySelector('canvas'); canvas.focus();"
        "canvas.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}));"
        f"return {chart}.querySelector('output').textContent"
    )
    assert page.run(press, "Home").startswith("step 0: ")
    assert page.run(press, "ArrowRight") != page.run(press, "ArrowLeft")
    before = page.run(label)
    page.run(press, "+")
    wait_until(lambda: page.run(label) != before, message="a smaller part")
    page.run(press, "Escape")
    wait_until(lambda: page.run(label) == before, message="all of it again")


def test_a_chart_draws_its_curve(page):
    go(page, "run")
    drawn = """
        const canvas = document.querySelector('figure canvas');
        const bytes = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let blue = 0;
        for (let i = 0; i < bytes.length; i += 4) if (bytes[i + 3] > 200 && bytes[i + 2] > bytes[i] + 60) ++blue;
        return blue;"""
    wait_until(lambda: page.run(drawn) > 200, message="pixels of the curve")


def test_those_who_only_look_have_no_buttons(dash, browser):
    server = dash()
    window = browser()
    window.open(f"{server.url.scheme}://{server.host}/?token={server.viewer()}#/run/two")
    shows(window, "depth")
    shows(window, NASTY)
    assert window.count("textarea") == 0 and window.count(".actions") == 0


def test_without_the_token_a_page_says_what_to_do(dash, browser):
    server = dash()
    window = browser()
    window.open(f"http://{server.host}/")
    assert json.loads(window.text("body"))["error"]["code"] == "no_token"
    window.messages()  # clears the console: the browser reports the status 401
