"""The pages of rtrain dash in a real browser: their contents, use by keyboard, dark mode, and small screens."""

import contextlib
import json
import shutil
import sqlite3

import pytest

from conftest import ENDLESS, set_cpus, wait_until
from dash_server import NASTY, SCRIPT, Dash, dash, many_runs, results  # noqa: F401  (fixtures)
from test_dash import PIPELINE
from test_watch import Stepped
from webdriver import KEYS

PAGES = {
    "runs": "#/?spark=loss",
    "run": "#/run/two",
    "rank": "#/run/two/rank/1",
    "compare": "#/compare?run=one&run=two",
    "nodes": "#/nodes",
    "resources": "#/resources",
    "sweeps": "#/sweep",
}
# A text that only the complete page contains.
SIGNS = {
    "runs": "2 runs",
    "run": "the run has ended",
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


def test_the_token_leaves_the_address_and_a_reload_works(page):
    address = page.run("return location.href")
    assert "token" not in address
    go(page, "run")
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
    shows(window, "no such flower", "table")


def test_what_a_run_prints_or_is_called_is_text(page):
    go(page, "run")
    shows(page, NASTY)
    assert page.text("figcaption") == "<i>x</i>"
    shows(page, "<b>look</b>")
    assert page.count("main script, main i, main b") == 0


STEP = """
const slider = document.querySelector('input[name=step]');
slider.value = arguments[0];
slider.dispatchEvent(new Event('input'));"""


def pictures(window):
    """Returns the alternative texts of the images that are loaded completely."""
    return window.run(
        "return [...document.querySelectorAll('.media img')].filter((each) "
        "=> each.complete && each.naturalWidth > 0).map((each) => each.alt)"
    )


def test_media_of_a_run_at_a_step(page, screenshot):
    go(page, "run")
    shows(page, "samples (image)")
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


def test_hosts_of_runs(page):
    go(page, "nodes")
    host = page.run("return document.querySelector('main tbody a').textContent")
    page.click("main tbody a")
    shows(page, f"Host {host}")
    shows(page, "has recorded nothing of")
    page.run("location.hash = '#/nodes?run=two'")
    shows(page, "Hosts of two")
    assert "0 1" in page.text("tbody") and page.run(CONTRAST) == [] and page.run(UNNAMED) == []


def test_who_holds_the_host_and_who_waits(rtrain, browser, screenshot):
    """One run holds all cores, one waits for them, and one is in a launcher's queue."""
    set_cpus(rtrain, 2)
    server = Dash(rtrain)
    holder = rtrain.started("run", rtrain.script(ENDLESS), "--name", "holder", "-q")
    waits = rtrain.start("run", rtrain.script(ENDLESS, "other.lua"), "--name", "waits", "-q")
    window = browser()
    window.open(server.url.geturl() + "#/resources")
    shows(window, "holder")
    shows(window, "waits")
    assert "2 of " in window.text() and "0 are free" in window.text()
    rows = window.run(
        "return [...document.querySelectorAll('section')].map((each) => [each.ariaLabel, "
        "each.querySelector('tbody')?.innerText ?? ''])"
    )
    held, waiting, queued = (dict(rows)[title] for title in ("Held", "Waiting for this host", "Queued by a launcher"))
    assert (
        held.split() == ["holder", str(holder.pid), "2", "0-1"]
        and waiting.split() == ["1", "waits", str(waits.pid)]
        and not queued
    )
    with contextlib.closing(sqlite3.connect(rtrain.storage / "rtrain.db")) as store:
        columns = [row[1] for row in store.execute("PRAGMA table_info(runs)")]
        values = dict(zip(columns, store.execute("SELECT * FROM runs WHERE name = 'holder'").fetchone()))
        values.update(run_id="f" * 32, name="submitted", status="QUEUED", owner=None)
        store.execute(
            f"INSERT INTO runs VALUES ({', '.join('?' * len(columns))})", [values[column] for column in columns]
        )
        store.commit()
    shows(window, "submitted")
    assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []
    screenshot(window, "resources-held")
    window.open("about:blank")
    for each in (waits, holder):
        each.kill()
    assert server.stop().returncode == 0


def test_runs_are_filtered_sorted_and_compared(page):
    page.type("input[name=where]", "config.lr > 0.2" + KEYS["Enter"])
    shows(page, "1 to 1 of 1 runs")
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
    shows(page, "2 of 2 runs")
    page.run("[...document.querySelectorAll('th button')].find((each) => each.textContent.startsWith('Name')).click()")
    page.run("[...document.querySelectorAll('th button')].find((each) => each.textContent.startsWith('Name')).click()")
    wait_until(lambda: page.text("tbody").index("one") < page.text("tbody").index("two"), message="the order")
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
    wait_until(lambda: page.run(label), message="the chart")
    assert "from 0 to 1000" in page.run(label), "the one spike among 5000 points"
    press = (
        f"const canvas = {chart}.querySelector('canvas'); canvas.focus();"
        "canvas.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}));"
        f"return {chart}.querySelector('output').textContent"
    )
    assert page.run(press, "Home").startswith("0: ")
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


def test_a_run_is_seen_as_it_goes_on(rtrain, browser, screenshot):
    server = Dash(rtrain)
    run = Stepped(rtrain, "live")
    windows = [browser(), browser(dark=True)]
    for window in windows:
        window.open(server.url.geturl())
        shows(window, "live")
        window.run("location.hash = '#/run/live'")
    label = "return [...document.querySelectorAll('canvas')].map((each) => each.getAttribute('aria-label')).join()"
    for window in windows:
        wait_until(lambda: "loss: from 1 to 1" in (window.run(label) or ""), message="the first report")
    run.go_to(4)
    for window in windows:
        wait_until(lambda: "last 0.25" in window.run(label), message="the fourth report")
        shows(window, "4 reports", "header")
    screenshot(windows[0], "live")
    run.go_to(-1)
    for window in windows:
        shows(window, "FINISHED")
    assert run.running.wait().returncode == 0
    for window in windows:
        window.open("about:blank")
    assert server.stop().returncode == 0


def test_a_note_is_written_from_the_page(page, trained):
    go(page, "run")
    page.run("document.querySelector('textarea[name=note]').value = 'from the page'")
    page.run("[...document.querySelectorAll('button')].find((each) => each.textContent === 'Save the note').click()")
    wait_until(lambda: trained.json("show", "two")["note"] == "from the page", message="the note")


CLICK = (
    "const it = [...document.querySelectorAll('main button')].find((each) "
    "=> each.textContent === arguments[0]); it.focus(); it.click()"
)
ANSWER = "[...document.querySelectorAll('dialog button')].find((each) => each.textContent === arguments[0]).click()"


@pytest.fixture
def watched(rtrain, browser):
    """Opens the page of a live run in a browser."""
    server = Dash(rtrain)
    run = Stepped(rtrain, "live")
    window = browser()
    window.open(server.url.geturl() + "#/run/live")
    shows(window, "Actions")
    window.live = run
    yield window
    window.open("about:blank")
    run.running.kill()
    assert server.stop().returncode == 0


def test_a_run_is_stopped_behind_a_question(watched):
    watched.run(CLICK, "Stop…")
    assert "next checkpoint?" in watched.text("dialog")
    assert watched.run("return document.activeElement.textContent") == "Cancel", "Enter alone does nothing"
    assert watched.run(CONTRAST) == [] and watched.run(UNNAMED) == []
    watched.run(ANSWER, "Cancel")
    wait_until(lambda: watched.count("dialog") == 0, message="the end of the question")
    assert watched.run("return document.activeElement.textContent") == "Stop…"
    assert watched.live.running.running
    watched.run(CLICK, "Stop now…")
    watched.run(ANSWER, "Kill the workers")
    shows(watched, "ABORTED")
    assert watched.live.running.wait().returncode == 130


def test_a_rank_says_where_it_is_at_a_click(watched, screenshot):
    watched.run("location.hash = '#/run/live/rank/1'")
    shows(watched, "Rank 1 of live")
    watched.run(CLICK, "Show the stack")
    shows(watched, "train.lua:", "pre.stack")
    assert watched.text("pre.stack").startswith("rank 1")
    watched.run(CLICK, "Profile…")
    watched.run("document.querySelector('dialog input[name=seconds]').value = '0.2'")
    watched.run(ANSWER, "Record")
    shows(watched, "events in")
    watched.run(CLICK, "Memory…")
    watched.run("document.querySelector('dialog input[name=seconds]').value = '0.2'")
    watched.run(ANSWER, "Record")
    shows(watched, "At most", ".memory")
    assert watched.run(CONTRAST) == [] and watched.run(UNNAMED) == []
    screenshot(watched, "rank-live")


def test_tags_and_the_archive_change_behind_a_question(page, trained):
    go(page, "run")
    page.type("input[name=tag]", "kept" + KEYS["Enter"])
    wait_until(lambda: trained.json("show", "two")["tags"] == ["a&b", "kept"], message="the tag")
    shows(page, "Remove the tag kept…")
    page.run(CLICK, "Remove the tag a&b…")
    page.run(ANSWER, "Remove")
    wait_until(lambda: trained.json("show", "two")["tags"] == ["kept"], message="one tag")
    page.run(CLICK, "Archive…")
    page.run(ANSWER, "Archive")
    shows(page, "List again…")
    assert [run["name"] for run in trained.json("ls")] == ["one"]
    page.run(CLICK, "List again…")
    page.run(ANSWER, "List it")
    wait_until(lambda: len(trained.json("ls")) == 2, message="both runs")


def test_a_sweep_is_seen_as_a_whole(trained, dash, browser, screenshot):
    script = trained.script(
        """
        local train = require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function(config)
            for i = 1, 3 do train.report {loss = math.abs(math.log10(config.lr) + 2) + config.model.width / 100 / i} end
          end,
          train_loop_config = {lr = 0.1, model = {width = 16, kind = 'plain'}},
        }:fit()""",
        "swept.lua",
    )
    assert (
        trained(
            "sweep", script, "--grid", "lr=1e-1,1e-2,1e-3", "--grid", "model.width=16,32", "--name", "grid"
        ).returncode
        == 0
    )
    window = browser()
    window.open(dash().url.geturl())
    shows(window, "8 runs")
    window.run("location.hash = '#/sweep'")
    shows(window, "grid")
    window.click("a[href='#/sweep/grid']")
    shows(window, "6 FINISHED")
    shows(window, "grid-001", "dl")
    assert window.count(".plane circle") == 6 and window.count(".plane path") == 6
    assert window.run("return [...document.querySelectorAll('.plane .name')].map((each) => each.textContent)") == [
        "lr",
        "model.width",
        "loss",
    ]
    assert window.text("tbody tr").startswith("grid-001"), "the best first"
    window.run(
        "const box = document.querySelector('select[name=parameter]'); box.value = 'model.width'; "
        "box.dispatchEvent(new Event('change'))"
    )
    shows(window, "loss against model.width")
    assert "parameter=model.width" in window.run("return location.hash")
    assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []
    screenshot(window, "sweep")
    window.resize(390, 800)
    assert window.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    window.run("location.hash = document.querySelector('.plane a').getAttribute('href')")
    shows(window, "Attempts")


def test_a_pipeline_shows_what_limits_it(rtrain, browser, screenshot):
    rtrain.run_ok(PIPELINE, "--name", "piped", "-q")
    server = Dash(rtrain)
    window = browser()
    window.open(server.url.geturl() + "#/run/piped")
    shows(window, "What its datasets do")
    window.click("main a[href='#/run/piped/data']")
    shows(window, "What limits it")
    shows(window, "the slowest")
    assert "takes longest" in window.text("dl") and "waiting for rows" in window.text("dl")
    wait_until(lambda: window.count("figure canvas") >= 6, message="the course of the times")
    assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []
    screenshot(window, "data")
    window.open("about:blank")
    assert server.stop().returncode == 0


def test_a_hang_shows_who_waits_for_whom(rtrain, browser, screenshot):
    from test_watchdog import meeting

    rtrain.env.update(RTRAIN_HANG_THRESHOLD_S="2", RTRAIN_BUSY_THRESHOLD_S="3")
    assert (
        rtrain("run", rtrain.script(meeting("local i = 0\n        while true do i = i + 1 end")), "-q").returncode == 6
    )
    server = Dash(rtrain)
    window = browser()
    window.open(server.url.geturl() + "#/run/meeting")
    shows(window, "Who waited for whom")
    window.click("main a[href='#/run/meeting/hang']")
    shows(window, "The order of collectives")
    assert "rank 1" in window.text("[role=alert]")
    rows = window.run("return [...document.querySelectorAll('details[open] tbody tr')].map((row) => row.innerText)")
    assert rows[0].startswith("rank 0") and rows[0].rstrip().endswith("rank 1"), rows
    shows(window, "not called")
    shows(window, "train.lua:")
    assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []
    screenshot(window, "hang")
    window.open("about:blank")
    assert server.stop().returncode == 0


def test_ten_thousand_runs_are_a_page_at_a_time(trained, dash, browser, screenshot):
    many_runs(trained, 10_000)
    window = browser()
    window.open(dash().url.geturl())
    shows(window, "1 to 100 of 10002 runs")
    assert window.count("tbody tr") == 100 and "many-09999" in window.text("tbody")
    window.run(CLICK, "Older")
    shows(window, "101 to 200 of 10002 runs")
    window.type("input[name=where]", "name LIKE '%-00042'" + KEYS["Enter"])
    shows(window, "1 to 1 of 1 runs")
    screenshot(window, "runs-many")


def test_those_who_only_look_have_no_buttons(dash, browser):
    server = dash()
    window = browser()
    window.open(f"{server.url.scheme}://{server.host}/?token={server.viewer()}#/run/two")
    shows(window, "the run has ended")
    shows(window, NASTY)
    assert window.count("textarea") == 0 and "Actions" not in window.text()


def test_without_the_token_a_page_says_what_to_do(dash, browser):
    server = dash()
    window = browser()
    window.open(f"http://{server.host}/")
    assert json.loads(window.text("body"))["error"]["code"] == "no_token"
    window.messages()  # clears the console: the browser reports the status 401


# Pages without a server.


@pytest.fixture
def offline(trained, browser, tmp_path):
    """Opens the exported file of both runs in a browser; their store is deleted."""
    file = tmp_path / "runs.html"
    result = trained("export", "two", "one", "--html", "-o", file)
    assert result.returncode == 0 and f"wrote {file}" in result.stderr, result.stderr
    shutil.rmtree(trained.storage)
    window = browser()
    window.open(file.as_uri())
    shows(window, "2 runs")
    return window


OFFLINE_PAGES = {name: address for name, address in PAGES.items() if name != "resources"}
OFFLINE_SIGNS = {**SIGNS, "run": "the last lines as of", "rank": "the last lines as of"}


def test_a_file_shows_every_page_without_a_server(offline, screenshot):
    for name, address in OFFLINE_PAGES.items():
        offline.run("location.hash = arguments[0]", address)
        shows(offline, OFFLINE_SIGNS[name])
        assert offline.run(CONTRAST) == [] and offline.run(UNNAMED) == [], name
        screenshot(offline, f"offline-{name}")
    assert (
        offline.run(
            "return performance.getEntriesByType('resource').map((each) => each.name).filter((name) "
            "=> !name.startsWith('data:'))"
        )
        == []
    )
    assert "as of 20" in offline.text("nav") and "Resources" not in offline.text("nav")
    offline.run("location.hash = '#/resources'")
    shows(offline, "There is no such page")
    offline.run("location.hash = '#/run/three'")
    shows(offline, "This file does not have it")


def test_a_file_has_curves_media_logs_and_code(offline):
    offline.run("location.hash = '#/run/two'")
    shows(offline, OFFLINE_SIGNS["run"])
    label = "return [...document.querySelectorAll('canvas')].map((each) => each.getAttribute('aria-label')).join()"
    wait_until(lambda: "signal: from 0 to 1000" in (offline.run(label) or ""), message="the spike")
    wait_until(
        lambda: pictures(offline) == ["samples of two, rank 0, step 20", "samples of two, rank 1, step 20"],
        message="the images",
    )
    shows(offline, "the first attempt fails", "table")
    assert "hello from rank 1" in offline.text("pre.log") and offline.count("main details") >= 5
    assert "Actions" not in offline.text() and offline.count("textarea") == 0
    offline.type("input[name=contains]", "rank 0")
    wait_until(
        lambda: "hello from rank 1" not in offline.text("pre.log") and "hello from rank 0" in offline.text("pre.log"),
        message="some lines",
    )
    offline.run("location.hash = '#/compare?run=two&run=one'")
    shows(offline, "Environment")
    shows(offline, "the first attempt fails")
    offline.run("location.hash = '#/?spark=loss&sort=name'")
    wait_until(lambda: offline.count("canvas.spark") == 2, message="small curves")
    assert offline.text("tbody").index("one") < offline.text("tbody").index("two")
    offline.run("location.hash = '#/?tag=a%26b'")
    shows(offline, "1 to 1 of 1 runs")


def test_no_text_of_a_run_is_markup_in_a_file(rtrain, browser, tmp_path):
    nasty = "</script><script>document.title = 'taken'</script><!--<script><img src=x onerror=alert(1)>"
    rtrain.run_ok(
        f"""
        local train, nasty = require 'rtrain', {json.dumps(nasty)}
        train.TorchTrainer {{
          train_loop_per_worker = function()
            print(nasty)
            train.annotate(nasty)
            train.log_text(nasty, nasty)
            train.log({{[nasty] = 1}}, {{step = 0}})
            train.report {{[nasty] = 1}}
          end,
          train_loop_config = {{[nasty] = nasty}},
        }}:fit()""",
        "--name",
        "nasty",
        "--note",
        nasty,
        "--tag",
        "a</script>",
        "-q",
    )
    file = tmp_path / "nasty.html"
    file.write_text(rtrain("export", "nasty", "--html").stdout)
    assert nasty not in file.read_text() and "unsafe" not in file.read_text()
    window = browser()
    window.open(file.as_uri() + "#/run/nasty")
    shows(window, "the last lines as of")
    shows(window, nasty, "pre.log")
    shows(window, nasty, ".media pre")
    assert window.text("figcaption") == nasty
    assert window.run("return document.title") == "rtrain · run · nasty"
    assert window.run("return document.scripts.length") == 2 and window.count("main script, img, iframe") == 0
    # Injected markup must not run.
    window.run(
        "document.body.insertAdjacentHTML('beforeend', \"<img src=x onerror=\\\"document.title = 'taken'\\\">\")"
    )
    window.run(
        "const it = document.createElement('script'); it.textContent = \"document.title = 'taken'\"; document.body.append(it)"
    )
    wait_until(
        lambda: sum("Content Security Policy" in message for message in window.messages()) >= 1, message="a refusal"
    )
    assert window.run("return document.title") == "rtrain · run · nasty"
