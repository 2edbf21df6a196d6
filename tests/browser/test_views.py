"""Saved views and reports in a real browser: saved, opened, removed, and in an exported file."""

from conftest import wait_until
from dash_server import dash, results  # noqa: F401  (fixtures)
from pages import CONTRAST, UNNAMED, page, shows  # noqa: F401  (a fixture)
from test_workspace import HEADS, press, rows
from webdriver import KEYS

NASTY = "<img src=x onerror=\"document.title='taken'\"> </script>"
REPORT = f"""# Two runs

The *first* one is **slow**: [its page](#/run/one), [not this](javascript:alert(1)). {NASTY}

![loss](view:only one)

- a `list`
> and a quote

![loss](view:unknown)
"""
VIEWS = "return [...document.querySelectorAll('select[name=view] option')].map((each) => each.textContent)"
CHOOSE = (
    "const it = document.querySelector('select[name=view]'); it.value = arguments[0]; "
    "it.dispatchEvent(new Event('change'))"
)


def save(window, name):
    press(window, "Save view…")
    window.run("document.querySelector('input[name=view-name]').value = ''")
    window.type("input[name=view-name]", name + KEYS["Enter"])
    wait_until(lambda: name in window.run(VIEWS), message="the saved view")


def test_a_view_is_saved_opened_and_removed(page, screenshot):
    page.run("location.hash = '#/?col=config.lr&text=one&sort=-loss&charts=0'")
    rows(page, ["one"], "the run with the word")
    save(page, "only one")
    address = page.run("return location.hash")
    save(page, NASTY)
    assert page.run(CONTRAST) == [] and page.run(UNNAMED) == []
    screenshot(page, "views")
    page.run("location.hash = '#/?col=status'")
    rows(page, ["one", "two"], "all runs")
    wait_until(lambda: "only one" in page.run(VIEWS), message="the list of views")
    page.run(CHOOSE, "only one")
    rows(page, ["one"], "the view's run")
    assert page.run("return location.hash") == address and page.run(HEADS) == ["Name", "lr"]
    assert page.run("return document.querySelector('.side').hidden")
    press(page, "Remove view")
    wait_until(lambda: "only one" not in page.run(VIEWS), message="one view less")
    assert NASTY in page.run(VIEWS) and page.run("return document.title") == "rtrain"


def report(window):
    shows(window, "The first one is slow: its page")
    shows(window, "There is no view “unknown”")
    label = "return document.querySelector('.embedded canvas')?.getAttribute('aria-label') ?? ''"
    wait_until(lambda: "Chart of loss. one: from 0.5 to 1.5" in window.run(label), message="the chart")
    text = window.text(".report")
    assert NASTY in text and "[not this](javascript:alert(1))" in text
    assert window.count(".report img, .report script") == 0
    assert window.run(
        "return [...document.querySelectorAll('.report > p a')].map((each) => each.getAttribute('href'))"
    ) == ["#/run/one"]
    assert window.count(".report h2") >= 1 and window.text(".report blockquote") == "and a quote"
    assert window.text(".report li code") == "list"
    assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []


def test_a_report_has_charts_of_views_and_is_one_file(trained, page, browser, tmp_path, screenshot):
    page.run("location.hash = '#/?text=one'")
    rows(page, ["one"], "the run with the word")
    save(page, "only one")
    page.run("location.hash = '#/report'")
    shows(page, "What we found")
    page.run(
        "const it = document.querySelector('textarea[name=text]'); it.value = arguments[0]; "
        "it.dispatchEvent(new Event('input'))",
        REPORT,
    )
    report(page)
    screenshot(page, "report")
    save(page, "the report")
    page.run("location.reload()")
    report(page)
    file = tmp_path / "report.html"
    assert trained("export", "one", "--html", "-o", file).returncode == 0
    offline = browser()
    offline.open(file.as_uri())
    wait_until(lambda: "the report" in offline.run(VIEWS), message="the views in the file")
    offline.run(CHOOSE, "the report")
    report(offline)
