"""The pages of `rtrain doc --html`, opened as files: every page and link, the search, light and dark, paper."""

import shutil

import pytest

from conftest import Rtrain, wait_until
from pages import CONTRAST, UNNAMED
from webdriver import KEYS

# Of each page: the addresses of its links, without those that leave the site, and its ids.
FACTS = """
return {
  links: [...document.querySelectorAll('a[href]')].map((link) => link.href).filter((href) => href.startsWith('file:')),
  ids: [...document.querySelectorAll('[id]')].map((node) => node.id),
};
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    runner = Rtrain(tmp_path_factory.mktemp("site"))
    result = runner("doc", "--html", "html")
    shutil.rmtree(runner.runtime)
    assert result.returncode == 0, result.stderr
    return runner.folder.resolve() / "html"


def results(window):
    return window.run("return [...document.querySelectorAll('[role=option]')].map((each) => each.firstChild.data)")


def is_at(window, address):
    wait_until(lambda: window.run("return location.href").endswith(address), message=address)


def test_every_link_of_every_page_leads_to_a_page_and_a_place(site, browser):
    window = browser()
    waiting, facts = [(site / "index.html").as_uri()], {}
    while waiting:
        page = waiting.pop()
        window.open(page)
        facts[page] = window.run(FACTS)
        known = {*facts, *waiting}
        waiting += {link.split("#")[0] for link in facts[page]["links"]} - known
    on_disk = {file.as_uri() for file in site.rglob("*.html")}
    assert set(facts) == on_disk  # each page is found from the first one
    for page, found in facts.items():
        for link in found["links"]:
            address, _, place = link.partition("#")
            assert not place or place in facts[address]["ids"], f"{page}: {link}"


def test_the_search_finds_as_one_types(site, browser):
    window = browser()
    window.open((site / "examples/hello.html").as_uri())
    window.press("/")
    assert window.run("return document.activeElement.type") == "search"
    window.type("input[type=search]", "nn.linear")
    wait_until(lambda: results(window)[:1] == ["nn.Linear"], message="nn.Linear")
    window.type("input[type=search]", "x")
    wait_until(lambda: results(window) == [], message="nothing")
    window.press(KEYS["Escape"])
    assert window.run("return document.querySelector('input[type=search]').value") == ""
    window.type("input[type=search]", "exit codes")
    wait_until(lambda: "Exit codes" in results(window), message="a heading")
    assert window.run("return document.querySelector('[aria-selected=true]').firstChild.data") == results(window)[0]
    at = results(window).index("Exit codes")
    for _ in range(at):
        window.press(KEYS["Down"])
    window.press(KEYS["Enter"])
    is_at(window, "/guide-failures.html#exit-codes")
    assert window.run("return performance.getEntriesByType('resource').every((each) => each.name.startsWith('file:'))")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("page", ["index.html", "guide-data.html", "api/torch.nn.html", "examples/fashion_mnist.html"])
def test_pages_are_readable_in_both_colours(site, browser, screenshot, page, dark):
    window = browser(dark=dark)
    window.open((site / page).as_uri())
    assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []
    screenshot(window, f"doc-{page.replace('/', '-').removesuffix('.html')}{'-dark' if dark else ''}")


def test_the_chosen_theme_is_remembered(site, browser):
    window = browser()
    window.open((site / "index.html").as_uri())
    background = "return getComputedStyle(document.body).backgroundColor"
    light = window.run(background)
    window.run(
        "const select = document.querySelector('select[name=theme]'); select.value = 'dark';"
        "select.dispatchEvent(new Event('change'))"
    )
    dark = window.run(background)
    assert dark != light
    window.open((site / "api/torch.html").as_uri())
    assert window.run(background) == dark and window.run("return document.querySelector('select').value") == "dark"


def test_a_small_window_scrolls_in_one_direction(site, browser):
    window = browser()
    window.resize(420, 800)
    for page in ("index.html", "guide-commands.html", "porting.html", "api/torch.nn.html"):
        window.open((site / page).as_uri())
        wide = window.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 1, page


def test_on_paper_a_page_is_light_and_only_text(site, browser, screenshot):
    window = browser(dark=True)
    window.open((site / "guide-failures.html").as_uri())
    window.emulate_paper()
    assert window.run("return getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    assert window.run("return document.querySelector('header').getClientRects().length") == 0
    assert window.run("return document.querySelector('aside').getClientRects().length") == 0
    assert "Exit codes" in window.text("main")
    screenshot(window, "doc-paper")
