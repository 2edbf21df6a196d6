"""The page of all runs in a real browser: columns, order, search, groups, charts next to the table, and edits."""

import pytest

from conftest import Rtrain, wait_until
from dash_server import Dash, dash, many_runs, results  # noqa: F401  (fixtures)
from pages import CONTRAST, UNNAMED, page, shows  # noqa: F401  (a fixture)
from webdriver import KEYS

SEEDED = """
local train = require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config)
    for step = 1, 30 do
      local left = math.exp(-step * config.lr / 3)
      train.report {loss = left + config.seed / 50, val = {accuracy = 1 - left}}
    end
  end,
  train_loop_config = {lr = 0.1, seed = 1, model = {kind = 'plain'}},
}:fit()
"""
NAMES = [f"lr{lr}-s{seed}" for lr in (0.1, 0.3, 0.9) for seed in (1, 2)]

ROWS = "return [...document.querySelectorAll('.grid tbody:not(.gap) tr')].map((row) => row.dataset.name)"
CELLS = """
const at = [...document.querySelectorAll('.grid thead th')].findIndex((head) => head.title === arguments[0]);
return [...document.querySelectorAll('.grid tbody:not(.gap) tr')].map((row) => row.children[at].textContent);
"""
HEADS = "return [...document.querySelectorAll('.grid thead th')].map((head) => head.title).filter(Boolean)"
# The labels of the charts in sight: the others are as new when they come in sight.
LABELS = """
return [...document.querySelectorAll('.side canvas[role=img]')].filter((each) => each.width > 0)
  .map((each) => each.getAttribute('aria-label')).join();
"""


@pytest.fixture(scope="module")
def seeded_storage(tmp_path_factory):
    """Six runs: two seeds of each of three learning rates."""
    runner = Rtrain(tmp_path_factory.mktemp("workspace"))
    script = runner.script(SEEDED)
    for name in NAMES:
        lr, seed = name[2:].split("-s")
        tags = ["--tag", "fast"] if lr == "0.9" else []
        result = runner("run", script, "--name", name, "--set", f"lr={lr}", "--set", f"seed={seed}", *tags, "-q")
        assert result.returncode == 0, result.stderr
    return runner


@pytest.fixture
def workspace(seeded_storage, browser):
    server = Dash(seeded_storage)
    window = browser()
    window.server = server
    window.open(server.url.geturl())
    shows(window, "6 runs")
    yield window
    window.open("about:blank")
    assert server.stop().returncode == 0


def rows(window, wanted, message):
    wait_until(lambda: window.run(ROWS) == wanted, message=message)


def press(window, text, within="main"):
    """Clicks the button with the text or label."""
    wait_until(
        lambda: window.run(
            "const it = [...document.querySelectorAll(`${arguments[1]} button`)].filter((each) => "
            "each.textContent.trim() === arguments[0] || each.getAttribute('aria-label') === arguments[0])"
            ".find((each) => each.checkVisibility());"
            "it?.click(); return Boolean(it)",
            text,
            within,
        ),
        message=f"the button {text}",
    )


def test_columns_are_chosen_sorted_and_remembered(workspace, screenshot):
    press(workspace, "Columns…")
    for name in ("lr", "loss min", "val/accuracy max", "Host"):
        press(workspace, f"Add {name}", "dialog")
    press(workspace, "Remove Tags", "dialog")
    assert workspace.run(CONTRAST) == [] and workspace.run(UNNAMED) == []
    screenshot(workspace, "runs-columns")
    press(workspace, "Done", "dialog")
    heads = workspace.run(HEADS)
    assert "Tags" not in heads and heads[-4:] == ["lr", "loss min", "val/accuracy max", "Host"]
    wait_until(lambda: "0.9" in workspace.run(CELLS, "lr"), message="the values of config")
    press(workspace, "loss min")
    press(workspace, "loss min ↓")
    rows(workspace, sorted(NAMES, key=lambda name: (-float(name[2:5]), name)), "the least loss first")
    least = [float(cell) for cell in workspace.run(CELLS, "loss min")]
    assert least == sorted(least)
    assert workspace.run("return document.querySelector('[aria-sort]').ariaSort") == "ascending"
    numbers = workspace.run(
        "return [...document.querySelectorAll('.grid tbody td.number')].map((cell) => getComputedStyle(cell))"
        ".map((style) => `${style.textAlign} ${style.fontVariantNumeric}`)"
    )
    assert set(numbers) == {"right tabular-nums"}
    address = workspace.run("return location.hash")
    assert "col=min%28loss%29" in address and "sort=min%28loss%29" in address
    screenshot(workspace, "runs-sorted")
    order = workspace.run(ROWS)
    workspace.run("location.hash = '#/nodes'")
    shows(workspace, "Nodes")
    workspace.run("location.hash = arguments[0]", address)
    rows(workspace, order, "the same page by its address")
    workspace.run("location.hash = '#/nodes'")
    shows(workspace, "Nodes")
    workspace.run("location.hash = '#/'")
    wait_until(lambda: workspace.run(HEADS)[1:] == heads[1:], message="the columns of the last visit")


def test_columns_are_moved_pinned_and_resized(workspace):
    press(workspace, "Columns…")
    press(workspace, "Move up loss", "dialog")
    workspace.click("dialog input[aria-label='Keep loss in sight']")
    press(workspace, "Done", "dialog")
    assert workspace.run(HEADS)[:2] == ["Name", "loss"], "what is pinned comes first"
    pinned = "return document.querySelector('.grid tbody tr').children[2].getBoundingClientRect().left"
    before = workspace.run(pinned)
    workspace.run("document.querySelector('.grid').scrollLeft = 300")
    assert workspace.run(pinned) == before, "it stays in sight"
    width = "return document.querySelector('.grid thead th:nth-child(2)').getBoundingClientRect().width"
    was = workspace.run(width)
    workspace.type("[aria-label='Width of name']", KEYS["Right"])
    assert workspace.run(width) == was + 16
    assert "width=name%3A" in workspace.run("return location.hash")


def test_runs_are_searched_and_filtered_by_a_click(workspace):
    workspace.type("input[name=text]", "lr0.9")
    rows(workspace, ["lr0.9-s2", "lr0.9-s1"], "the runs with the word")
    shows(workspace, "2 runs")
    workspace.run(
        "const it = document.querySelector('input[name=text]'); it.value = ''; it.dispatchEvent(new Event('input'))"
    )
    shows(workspace, "6 runs")
    press(workspace, "Only tag fast")
    rows(workspace, ["lr0.9-s2", "lr0.9-s1"], "the runs with the tag")
    assert workspace.text(".chips") == "tag fast ×" and "tag=fast" in workspace.run("return location.hash")
    press(workspace, "Drop tag fast")
    shows(workspace, "6 runs")
    press(workspace, "Only FINISHED")
    wait_until(lambda: workspace.text(".chips") == "state FINISHED ×", message="the state")
    workspace.type("input[name=where]", "loss < 0")
    wait_until(lambda: workspace.count("[role=option]") == 0, message="no names after a number")
    workspace.type("input[name=where]", KEYS["Enter"])
    shows(workspace, "No run matches the filter: where loss < 0, status FINISHED.")


def test_names_of_columns_are_completed(workspace):
    workspace.type("input[name=where]", "val")
    wait_until(lambda: workspace.text("[role=listbox]") == "val/accuracy", message="the metric")
    workspace.type("input[name=where]", KEYS["Tab"])
    assert workspace.run("return document.querySelector('input[name=where]').value") == "val/accuracy"
    workspace.type("input[name=where]", " > 0.9 and conf")
    wait_until(lambda: "config.lr" in workspace.text("[role=listbox]"), message="names of config")
    assert workspace.run(CONTRAST) == [] and workspace.run(UNNAMED) == []
    workspace.type("input[name=where]", KEYS["Escape"])
    assert workspace.run("return document.querySelector('[role=listbox]').hidden")
    workspace.type("input[name=where]", "ig.lr > 0.5" + KEYS["Enter"])
    rows(workspace, ["lr0.9-s2", "lr0.9-s1"], "the runs that match")


def test_charts_show_what_the_table_shows(workspace, screenshot):
    wait_until(lambda: all(name in (workspace.run(LABELS) or "") for name in NAMES), message="the curves of all runs")
    press(workspace, "Hide the curves of lr0.1-s1")
    wait_until(lambda: "lr0.1-s1" not in workspace.run(LABELS), message="the curves of the others")
    assert "hide=lr0.1-s1" in workspace.run("return location.hash")
    press(workspace, "Show the curves of lr0.1-s1")
    wait_until(lambda: "lr0.1-s1" in workspace.run(LABELS), message="its curves again")
    workspace.type("input[name=text]", "lr0.3")
    wait_until(
        lambda: "lr0.9" not in workspace.run(LABELS) and "lr0.3-s1" in workspace.run(LABELS), message="the found ones"
    )
    screenshot(workspace, "runs-charts")


def test_a_run_is_highlighted_in_both_places(workspace):
    wait_until(lambda: all(name in (workspace.run(LABELS) or "") for name in NAMES), message="the curves")
    strong = """
        const canvas = document.querySelector('.side canvas');
        const bytes = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let count = 0;
        for (let i = 3; i < bytes.length; i += 4) if (bytes[i] > 240) ++count;
        return count;"""
    wait_until(lambda: workspace.run(strong) > 2000, message="the curves drawn")
    before = workspace.run(strong)
    workspace.run(
        "const row = document.querySelector('.grid tr[data-name=\"lr0.9-s1\"]');"
        "row.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    )
    wait_until(lambda: workspace.run(strong) < before * 0.8, message="the other curves are weak")
    workspace.run("document.querySelector('.grid').dispatchEvent(new PointerEvent('pointerleave'))")
    wait_until(lambda: workspace.run(strong) == before, message="all curves as before")
    workspace.run(
        """
        const canvas = document.querySelector('.side canvas');
        const box = canvas.getBoundingClientRect();
        for (let y = box.top + 8; y < box.bottom - 24 && !document.querySelector('.grid tr.lit'); y += 4) {
          canvas.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + box.width / 2, clientY: y, bubbles: true}));
        }"""
    )
    assert workspace.count(".grid tr.lit") == 1
    workspace.run("document.querySelector('.side canvas').dispatchEvent(new PointerEvent('pointerleave'))")
    wait_until(lambda: workspace.count(".grid tr.lit") == 0, message="no row is highlighted")


def test_a_run_has_its_colour_everywhere(workspace):
    colour = "return document.querySelector(arguments[0])?.getAttribute('stroke')"
    row = ".grid tr[data-name='lr0.3-s1'] .swatch path"
    before = workspace.run(colour, row)
    workspace.type("input[name=text]", "s1")
    rows(workspace, ["lr0.9-s1", "lr0.3-s1", "lr0.1-s1"], "other rows")
    assert workspace.run(colour, row) == before
    workspace.run("location.hash = '#/compare?run=lr0.9-s1&run=lr0.3-s1'")
    shows(workspace, "Environment")
    legend = (
        "return [...document.querySelectorAll('.legend li')].find((each) => each.textContent.includes('lr0.3-s1'))"
        ".querySelector('path').getAttribute('stroke')"
    )
    assert workspace.run(legend) == before


def test_runs_whose_names_differ_in_a_number_have_different_colours(workspace):
    strokes = workspace.run("""
      return [...document.querySelectorAll('.grid tbody:not(.gap) tr')].map((row) =>
        [row.dataset.name, row.querySelector('.swatch path').getAttribute('stroke')]);
    """)
    for lr in ("0.1", "0.3", "0.9"):
        assert len({stroke for name, stroke in strokes if name.startswith(f"lr{lr}")}) == 2, strokes


def test_groups_have_means_and_open(workspace, screenshot):
    workspace.run("document.querySelector('select[name=group]').focus()")
    wait_until(lambda: workspace.count("select[name=group] option[value='config.lr']") == 1, message="the columns")
    workspace.run(
        "const it = document.querySelector('select[name=group]'); it.value = 'config.lr'; it.dispatchEvent(new Event('change'))"
    )
    shows(workspace, "3 groups")
    rows(workspace, ["lr=0.9", "lr=0.3", "lr=0.1"], "a row for each learning rate")
    cells = workspace.run(CELLS, "loss")
    assert all(" ± 0.014" in cell for cell in cells), cells
    press(workspace, "loss")
    press(workspace, "loss ↓")
    rows(workspace, ["lr=0.9", "lr=0.3", "lr=0.1"], "the least mean first")
    press(workspace, "▸ lr=0.3")
    rows(workspace, ["lr=0.9", "lr=0.3", "lr0.3-s1", "lr0.3-s2", "lr=0.1"], "the runs of the group")
    wait_until(lambda: "lr=0.9: from" in (workspace.run(LABELS) or ""), message="the mean of each group")
    assert "lr0.3-s1" not in workspace.run(LABELS)
    assert "group=config.lr" in workspace.run("return location.hash")
    assert workspace.run(CONTRAST) == [] and workspace.run(UNNAMED) == []
    screenshot(workspace, "runs-groups")
    press(workspace, "▾ lr=0.3")
    rows(workspace, ["lr=0.9", "lr=0.3", "lr=0.1"], "closed again")
    press(workspace, "Drop by config.lr")
    shows(workspace, "6 runs")


def test_names_notes_and_tags_are_edited_in_place(trained, page):
    page.run("location.hash = '#/?col=note&col=tags'")
    press(page, "Edit the note of one")
    page.type("input[name=edited-note]", "a <b>good</b> one" + KEYS["Enter"])
    wait_until(lambda: "a <b>good</b> one" in page.run(CELLS, "Note"), message="the note as a text")
    assert trained.json("show", "one")["note"] == "a <b>good</b> one"
    press(page, "Edit the tags of one")
    page.type("input[name=edited-tags]", "x, y" + KEYS["Enter"])
    wait_until(lambda: trained.json("show", "one")["tags"] == ["x", "y"], message="the tags")
    press(page, "Edit the name of one")
    page.type("input[name=edited-name]", "only" + KEYS["Enter"])
    rows(page, ["only", "two"], "the new name")
    press(page, "Edit the name of only")
    page.type("input[name=edited-name]", "two" + KEYS["Enter"])
    shows(page, "taken", "[role=alert]")
    page.messages()  # clears the console: the browser reports the status 400
    press(page, "Edit the note of two")
    page.type("input[name=edited-note]", "lost" + KEYS["Escape"])
    assert page.count("input[name=edited-note]") == 0 and "lost" not in page.text()


def test_those_who_only_look_edit_nothing(dash, browser):
    server = dash()
    window = browser()
    window.open(f"{server.url.scheme}://{server.host}/?token={server.viewer()}#/")
    shows(window, "2 runs")
    wait_until(lambda: window.count(".grid .eye") == 2, message="the rows")
    assert window.count(".grid .edit") == 0


def test_ten_thousand_runs_scroll(trained, dash, browser, screenshot):
    many_runs(trained, 10_000)
    window = browser()
    window.open(dash().url.geturl())
    shows(window, "10002 runs")
    assert window.count(".grid tbody tr") < 100 and window.run(ROWS)[0] == "many-09999"
    scroll = "const it = document.querySelector('.grid'); it.scrollTop = arguments[0] * it.scrollHeight"
    for place, name in ((0.5, "many-04990"), (0.999, "many-00000"), (0, "many-09999")):
        window.run(scroll, place)
        wait_until(lambda: name in window.run(ROWS), message=name)
    assert window.run("return document.querySelector('.grid table').getAttribute('aria-rowcount')") == "10003"
    screenshot(window, "runs-many")
    window.type("input[name=where]", "name LIKE '%-00042'" + KEYS["Enter"])
    wait_until(lambda: window.run(ROWS) == ["many-00042"], message="the one that matches")
