"""Pages of rtrain dash whose server ends and begins again, and what counts on by itself."""

from conftest import wait_until
from dash_server import Dash
from pages import CONTRAST, UNNAMED, shows
from test_watch import Stepped

LABELS = (
    "return [...document.querySelectorAll('canvas[role=img]')].map((each) => each.getAttribute('aria-label')).join()"
)


def banner(window):
    return window.run("const it = document.getElementById('banner'); return it.hidden ? '' : it.textContent")


def test_a_page_goes_on_when_its_server_is_back(rtrain, browser, tmp_path, screenshot):
    options = ["--token-file", tmp_path / "token"]
    server = Dash(rtrain, *options)
    run = Stepped(rtrain, "live")
    windows = [browser(), browser()]
    windows[0].open(server.url.geturl() + "#/run/live")
    windows[1].open(server.url.geturl() + "#/")
    wait_until(lambda: "loss: from 1 to 1" in (windows[0].run(LABELS) or ""), message="the first report")
    shows(windows[1], "1 run\n")
    assert banner(windows[0]) == ""
    assert server.stop().returncode == 0
    for window in windows:
        wait_until(lambda: "The server does not answer" in banner(window), message="the banner")
        assert window.run(CONTRAST) == [] and window.run(UNNAMED) == []
    assert "loss: from 1 to 1" in windows[0].run(LABELS), "what it had last"
    screenshot(windows[0], "server-gone")
    windows[1].run("location.hash = '#/nodes'")
    run.go_to(4)
    again = Dash(rtrain, *options, port=server.port)
    for window in windows:
        wait_until(lambda: banner(window) == "", message="no banner")
    wait_until(lambda: "last 0.25" in windows[0].run(LABELS), message="the fourth report")
    shows(windows[1], "in use")
    for window in windows:
        assert "Failed to fetch" not in window.text()
    run.end()
    shows(windows[0], "FINISHED")
    for window in windows:
        window.open("about:blank")
        window.messages()  # clears the console: the browser reports requests without an answer
    assert again.stop().returncode == 0


def test_a_server_with_another_token_is_told_from_one_that_is_gone(rtrain, browser):
    server = Dash(rtrain)
    window = browser()
    window.open(server.url.geturl())
    shows(window, "No runs here")
    assert server.stop().returncode == 0
    wait_until(lambda: "does not answer" in banner(window), message="the banner")
    again = Dash(rtrain, port=server.port)
    wait_until(lambda: "another token" in banner(window), message="the other banner")
    window.open(again.url.geturl())
    shows(window, "No runs here")
    assert banner(window) == ""
    window.open("about:blank")
    window.messages()  # clears the console
    assert again.stop().returncode == 0


def test_a_page_that_is_left_holds_no_connection(rtrain, browser):
    server = Dash(rtrain)
    run = Stepped(rtrain, "live")
    window = browser()
    for _ in range(8):  # a browser opens six connections to a server
        window.open("about:blank")
        window.open(server.url.geturl() + "#/run/live")
        shows(window, "live: 1 reports", "header")
    run.end()
    shows(window, "FINISHED")
    window.open("about:blank")
    assert server.stop().returncode == 0


GROWING = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function(config)
    local function is_there(name)
      local file = io.open(config.folder .. '/' .. name)
      if file then file:close() end
      return file ~= nil
    end
    train.report {loss = 1}
    while not is_there 'go' do os.execute 'sleep 0.02' end
    train.tempdir(function(dir)
      torch.save({1}, dir .. '/state.pt')
      train.report({loss = 0.5, aaa = 3}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
    while not is_there 'end' do os.execute 'sleep 0.02' end
  end,
  train_loop_config = {folder = ''},
}:fit()
"""
TITLES = "return [...document.querySelectorAll('figcaption')].map((each) => each.firstChild.textContent)"
DURATION = "return document.querySelector('.line .counting')?.textContent"


def test_a_live_run_counts_on_and_keeps_its_order(rtrain, browser, tmp_path):
    server = Dash(rtrain)
    running = rtrain.started(
        "run", rtrain.script(GROWING), "--name", "growing", "--set", f"folder={tmp_path}", "-q", reports=1
    )
    window = browser()
    window.open(server.url.geturl() + "#/run/growing")
    wait_until(lambda: "loss: from 1 to 1" in (window.run(LABELS) or ""), message="the first report")
    before = window.run(DURATION)
    wait_until(lambda: window.run(DURATION) not in (before, None), message="a longer duration without a report")
    window.run("location.hash = '#/run/growing/checkpoints'")
    shows(window, "No checkpoint")
    (tmp_path / "go").touch()
    wait_until(lambda: window.count("[aria-label=Checkpoints] tbody tr") == 1, message="the checkpoint")
    window.run("location.hash = '#/run/growing'")
    wait_until(lambda: window.run(TITLES)[:2] == ["aaa", "loss"], message="the new metric in its place")
    order = window.run(TITLES)
    window.run("location.reload()")
    wait_until(lambda: window.run(TITLES) == order, message="the same order after a reload")
    (tmp_path / "end").touch()
    shows(window, "FINISHED")
    wait_until(lambda: window.run(DURATION) is None, message="a duration that stands")
    assert running.wait().returncode == 0
    window.open("about:blank")
    assert server.stop().returncode == 0
