"""The first hour with the dashboard: a user opens its address, sees a live curve, then a thousand runs, and finds a
spike among a million reports.
"""

from conftest import wait_until
from dash_server import Dash, many_runs, results  # noqa: F401  (a fixture)
from pages import shows
from test_watch import Stepped

REPORTS, SPIKE_AT, SPIKE = 1_000_000, 654_321, 777
LABELS = (
    "return [...document.querySelectorAll('canvas[role=img]')].map((each) => each.getAttribute('aria-label')).join()"
)
# Returns the topmost row of the canvas that has the curve's colour, as a part of its height.
TOP_OF_CURVE = """
const canvas = document.querySelector('figure canvas');
const {width, height} = canvas;
const bytes = canvas.getContext('2d').getImageData(0, 0, width, height).data;
for (let i = 0; i < bytes.length; i += 4) {
  if (bytes[i + 3] > 80 && bytes[i + 2] > bytes[i] + 60) return Math.floor(i / 4 / width) / height;
}
return 1;"""


def test_a_live_curve_in_two_tabs_survives_a_reload(trained, browser, screenshot):
    many_runs(trained, 1000)
    server = Dash(trained)
    assert server.url.scheme == "http" and server.url.hostname == "127.0.0.1", "this machine alone"
    assert server.error("/api/runs", token=False) == (401, "no_token")
    run = Stepped(trained, "live")
    tabs = [browser(), browser()]
    for tab in tabs:
        tab.open(server.url.geturl())
        shows(tab, "1003 runs")
        tab.run("location.hash = '#/run/live'")
        wait_until(lambda: "loss: from 1 to 1" in (tab.run(LABELS) or ""), message="the first report")
    run.go_to(2)
    for tab in tabs:
        wait_until(lambda: "last 0.5" in tab.run(LABELS), message="the second report")
    tabs[0].run("location.reload()")
    wait_until(lambda: "last 0.5" in (tabs[0].run(LABELS) or ""), message="the curve after a reload")
    run.go_to(5)
    for tab in tabs:
        wait_until(lambda: "last 0.2" in tab.run(LABELS), message="the fifth report")
    screenshot(tabs[0], "first-hour")
    run.end()
    for tab in tabs:
        shows(tab, "FINISHED")
        tab.open("about:blank")
    assert server.stop().returncode == 0


def test_a_spike_among_a_million_reports_is_drawn(rtrain, browser, tmp_path, screenshot):
    file = tmp_path / "long.csv"
    with file.open("w") as out:
        out.write("step,loss\n")
        out.writelines(f"{step},{SPIKE if step == SPIKE_AT else 1 / (1 + step / 1000)}\n" for step in range(REPORTS))
    assert rtrain("import", file).returncode == 0
    server = Dash(rtrain)
    window = browser()
    window.open(f"{server.url.geturl()}#/run/long")
    wait_until(lambda: f"to {SPIKE}, last" in (window.run(LABELS) or ""), message="all reports")
    wait_until(lambda: window.run(TOP_OF_CURVE) < 0.2, message="the spike, at the top of the chart")
    screenshot(window, "a-million-reports")
    window.open("about:blank")
    assert server.stop().returncode == 0


def test_over_ssh_it_says_how_to_see_it(rtrain):
    rtrain.env["SSH_CONNECTION"] = "192.0.2.1 50000 192.0.2.2 22"
    server = Dash(rtrain)
    assert f"ssh -L {server.port}:127.0.0.1:{server.port}" in server.running.stderr
    assert server.stop().returncode == 0
