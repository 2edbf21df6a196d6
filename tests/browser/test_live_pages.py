"""The pages of rtrain dash in a real browser while runs go on: who waits, what limits a run, and its buttons."""

import contextlib
import sqlite3

import pytest

from conftest import ENDLESS, set_cpus, wait_until
from dash_server import Dash, dash, results  # noqa: F401  (fixtures)
from pages import CLICK, CONTRAST, UNNAMED, go, page, shows  # noqa: F401  (a fixture)
from test_dash import PIPELINE
from test_watch import STEPPED, Stepped
from webdriver import KEYS

# The focused box of a flame graph: its name, and the width and place of its rectangle.
FOCUSED_BOX = """
const box = document.activeElement, rect = box.querySelector('rect');
return [box.ariaLabel, rect.getAttribute('width'), rect.getAttribute('y')];
"""


def test_who_holds_the_node_and_who_waits(rtrain, browser, screenshot):
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
    held, waiting, queued = (dict(rows)[title] for title in ("Held", "Waiting for this node", "Queued by a launcher"))
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


def test_a_run_is_seen_as_it_goes_on(rtrain, browser, screenshot):
    server = Dash(rtrain)
    run = Stepped(rtrain, "live")
    windows = [browser(), browser(dark=True)]
    for window in windows:
        window.open(server.url.geturl())
        shows(window, "live")
        window.run("location.hash = '#/run/live'")
    label = "return [...document.querySelectorAll('canvas[role=img]')].map((each) => each.getAttribute('aria-label')).join()"
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


ANSWER = "[...document.querySelectorAll('dialog button')].find((each) => each.textContent === arguments[0]).click()"


@pytest.fixture
def watched(rtrain, browser):
    """Opens the page of a live run in a browser."""
    server = Dash(rtrain)
    run = Stepped(rtrain, "live")
    window = browser()
    window.open(server.url.geturl() + "#/run/live")
    shows(window, "Stop now…")
    window.live = run
    yield window
    window.open("about:blank")
    run.running.kill()
    assert server.stop().returncode == 0


# The texts of all cells on the page of media.
TEXTS = "return [...document.querySelectorAll('.media pre')].map((each) => each.textContent)"


def test_the_media_of_a_live_run_appear(rtrain, browser):
    logging = STEPPED.replace(
        "torch.distributed.barrier()",
        "if rank == 0 then train.log_text('said', 'at ' .. done, {step = done}) "
        "train.log_histogram('weights', {0, done}, {step = done}) end torch.distributed.barrier()",
    )
    server = Dash(rtrain)
    run = Stepped(rtrain, "live", logging)
    window = browser()
    window.open(server.url.geturl() + "#/run/live/media")
    wait_until(lambda: window.run(TEXTS) == ["at 1"], message="the first text")
    assert window.run("return document.querySelector('.heat').checkVisibility()") is False, (
        "of one step there is no map"
    )
    run.go_to(3)
    wait_until(lambda: window.run(TEXTS) == ["at 3"], message="the newest text")
    steps = "return document.querySelector('.heat canvas').ariaValueMax"
    wait_until(lambda: window.run(steps) == "3", message="the heat map")
    window.run(
        "const slider = document.querySelector('input[name=step]'); slider.value = 0;"
        "slider.dispatchEvent(new Event('input'));"
    )
    wait_until(lambda: window.run(TEXTS) == ["at 1"], message="the text of the step that was chosen")
    run.go_to(4)
    wait_until(lambda: window.run(steps) == "4", message="the new step on the heat map")
    assert window.run(TEXTS) == ["at 1"], "a step that was chosen stays"
    run.end()
    window.open("about:blank")
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
    watched.run(CLICK, "Flame graph…")
    watched.run("document.querySelector('dialog input[name=seconds]').value = '0.5'")
    watched.run(ANSWER, "Record")
    wait_until(lambda: watched.count("svg.flame g") > 2, message="the flame graph")
    watched.type("input[name=frames]", "train.lua")
    shows(watched, "found: ")
    assert watched.count("svg.flame g.found") >= 1 and watched.count("svg.flame g.callers") == 0
    watched.run("document.querySelector('svg.flame g.found').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert watched.run("return document.querySelector('svg.flame g.found rect').getAttribute('width')") == "1200.00"
    assert watched.count("svg.flame g.callers") >= 2, "those above it"
    # With the keyboard: all boxes again, then the longest one that the first has called, as wide as the picture.
    watched.run("document.querySelector('svg.flame [tabindex=\"0\"]').focus()")
    for key in ("Escape", "Home", "Down", "Enter"):
        watched.press(KEYS[key])
    name, width, top = watched.run(FOCUSED_BOX)
    assert width == "1200.00" and top == "18", "in the second row"
    assert name in watched.text("main .bar:has(input[name=frames])")
    assert watched.count("svg.flame [tabindex='0']") == 1
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
    assert window.count("[aria-label='Parameters and metrics'] circle") == 6 and window.count(".plane .line") == 6
    assert window.run("return [...document.querySelectorAll('.plane .name')].map((each) => each.textContent)") == [
        "lr",
        "model.width",
        "loss",
    ]
    assert window.text("tbody tr").startswith("grid-001"), "the best first"
    window.run(
        "const box = document.querySelector('select[name=x]'); box.value = 'model.width'; "
        "box.dispatchEvent(new Event('change'))"
    )
    shows(window, "loss against model.width")
    assert "x=model.width" in window.run("return location.hash")
    assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []
    screenshot(window, "sweep")
    window.resize(390, 800)
    assert window.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    window.run("location.hash = document.querySelector('.plane a').getAttribute('href')")
    shows(window, "Last metrics")


def test_a_pipeline_shows_what_limits_it(rtrain, browser, screenshot):
    rtrain.run_ok(PIPELINE, "--name", "piped", "-q")
    server = Dash(rtrain)
    window = browser()
    window.open(server.url.geturl() + "#/run/piped")
    shows(window, "Data", "[role=tablist]")
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
