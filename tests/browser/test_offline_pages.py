"""The file of `rtrain export --html` in a real browser: its pages without a server."""

import json
import shutil

import pytest

from conftest import wait_until
from dash_server import results  # noqa: F401  (a fixture)
from pages import CONTRAST, PAGES, SIGNS, UNNAMED, pictures, reveal, shows

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
OFFLINE_SIGNS = {**SIGNS, "logs": "the last lines as of", "rank": "the last lines as of"}


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
    assert offline.count(".actions, textarea") == 0
    label = "return [...document.querySelectorAll('canvas[role=img]')].map((each) => each.getAttribute('aria-label')).join()"
    reveal(offline)
    wait_until(lambda: "signal: from 0 to 1000" in (offline.run(label) or ""), message="the spike")
    offline.run("location.hash = '#/run/two/media'")
    wait_until(
        lambda: pictures(offline) == ["samples of two, rank 0, step 20", "samples of two, rank 1, step 20"],
        message="the images",
    )
    assert offline.count("main details") >= 4
    offline.run("location.hash = '#/run/two/ranks'")
    shows(offline, "the first attempt fails", "table")
    offline.run("location.hash = '#/run/two/code'")
    shows(offline, "the first attempt fails", "pre")
    offline.run("location.hash = '#/run/two/logs'")
    shows(offline, "hello from rank 1", "pre.log")
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
    shows(offline, "1 run\n")


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
    window.open(file.as_uri() + "#/run/nasty/logs")
    shows(window, "the last lines as of")
    shows(window, nasty, "pre.log")
    window.run("location.hash = '#/run/nasty/media'")
    shows(window, nasty, ".media pre")
    window.run("location.hash = '#/run/nasty'")
    wait_until(lambda: window.count("figcaption [title]") == 2, message="both curves")
    titles = window.run("return [...document.querySelectorAll('figcaption [title]')].map((each) => each.title)")
    assert titles == [f"{nasty}, reported", f"{nasty}, logged"]
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
