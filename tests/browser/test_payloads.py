"""Texts that would run a script if a page took them for more than text, in every field that a user controls, on every page
and in an exported file.
"""

import json
import urllib.parse

import pytest

from conftest import Rtrain, wait_until
from dash_server import dash  # noqa: F401  (a fixture)
from pages import shows

# Each would set window.taken.
PAYLOADS = {
    "script": "<script>window.taken = 'script'</script>",
    "closing": "</script></style></title></textarea><script>window.taken = 'closing'</script>",
    "comment": "<!--<script>window.taken = 'comment'</script>-->",
    "handler": "<img src=x onerror=\"window.taken = 'handler'\">",
    "svg": "<svg onload=\"window.taken = 'svg'\"><animate onbegin=\"window.taken = 'svg'\" attributeName=x dur=1s></svg>",
    "attribute": "\" autofocus onfocus=\"window.taken = 'attribute'\" x='",
    "quote": '\' onmouseover=\'window.taken = 1\' " style="animation: x" onanimationstart="window.taken = 1',
    "address": "javascript:window.taken='address'",
    "template": "${window.taken='template'}{{constructor.constructor('window.taken=1')()}}`${window.taken=1}`",
    "frame": "<iframe srcdoc=\"<script>parent.taken = 'frame'</script>\"></iframe>",
    "terminal": "\x1b[31mred\x1b]8;;javascript:window.taken=1\x07link\x1b]8;;\x07",
    "direction": "\u202e\u2066txt.exe\u2069\u202c",
    "percent": "%3Cscript%3Ewindow.taken%3D1%3C/script%3E&lt;b&gt;&#60;",
    "prototype": "__proto__",
}
# What a text looks like where it is shown: some are cut, and control characters are left out.
SIGNS = {name: text[:12].replace("\x1b", "") for name, text in PAYLOADS.items()}

LONGEST_TAG = 100
SCRIPT = """
local train = require 'rtrain'
local json = require 'json'
local file = io.open(arg[1])
local payloads = json.decode(file:read 'a')
file:close()
local config, metrics, failure = {}, {loss = 1}, ''
for name, text in next, payloads do
  config[text], config['of ' .. name] = name, text
  metrics[text] = 1
  failure = failure .. text .. ' '
end
train.TorchTrainer {
  train_loop_per_worker = function(config)
    for _, text in next, config.payloads do
      print(text)
      train.annotate(text)
      train.log_text(text, text)
      train.log_table(text, {columns = {text}, rows = {{text}}})
      train.log({[text] = 1}, {step = 0})
    end
    train.report(config.metrics)
    error(config.failure)
  end,
  train_loop_config = {payloads = payloads, metrics = metrics, config = config, failure = failure},
}:fit()
"""
ADDRESSES = [
    "#/",
    "#/?spark=" + "PAYLOAD",
    "#/?tag=" + "PAYLOAD",
    "#/?where=" + "PAYLOAD",
    "#/PAYLOAD",
    "#/run/PAYLOAD",
    "#/run/first/PAYLOAD",
    "#/sweep/PAYLOAD",
    "#/nodes?host=PAYLOAD",
    "#/compare?run=PAYLOAD&run=first",
    "#/sweep/swept?metric=PAYLOAD&x=PAYLOAD&y=PAYLOAD&in:PAYLOAD=0_1",
    "#/run/first/charts?metrics=PAYLOAD&smooth=PAYLOAD&by=PAYLOAD",
]
TABS = ["", "/charts", "/ranks", "/rank/0", "/data", "/logs", "/checkpoints", "/code", "/system", "/media", "/hang"]


def may_be_a_tag(text):
    return len(text) <= LONGEST_TAG and min(text) >= " "


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store whose runs `first` and `second` have the payloads in every field."""
    runner = Rtrain(tmp_path_factory.mktemp("results"))
    folder = tmp_path_factory.mktemp("payloads")
    (folder / "payloads.json").write_text(json.dumps(PAYLOADS))
    script = runner.script(SCRIPT, "payloads.lua")
    for name in ("first", "second"):
        tags = [part for text in PAYLOADS.values() if may_be_a_tag(text) for part in ("--tag", text)]
        note = "\n".join(text for text in PAYLOADS.values())
        result = runner("run", "--name", name, "--note", note, *tags, "-q", script, folder / "payloads.json")
        assert result.returncode != 0 and "payloads.lua" in result.stderr, result.stderr
    return runner.storage


@pytest.fixture
def watched(browser):
    """Opens an address in a browser that reports what its content security policy refuses."""

    def start(address):
        window = browser()
        window.open(address)
        return window

    return start


def untouched(window):
    """Nothing has run, nothing was refused, and no markup has come from a run."""
    assert window.run("return window.taken ?? null") is None
    assert window.count("main :is(script, iframe, b, u, animate, object, embed)") == 0
    assert (
        window.count("main [onerror], main [onload], main [onfocus], main [onmouseover], main [style*=animation]") == 0
    )
    assert not window.run(
        "return [...document.querySelectorAll('[href]')].filter((each) => /^javascript/i.test(each.href)).length"
    )
    assert not window.run("return Object.keys(Object.prototype).length"), "no prototype was changed"


def see_everything(window):
    """Opens what is folded, focuses and hovers everything."""
    window.run(
        "for (const each of document.querySelectorAll('details')) each.open = true;"
        "for (const each of document.querySelectorAll('main *')) {"
        " each.focus?.(); for (const name of ['pointerover', 'mouseover', 'pointermove', 'focus'])"
        " each.dispatchEvent(new MouseEvent(name, {bubbles: name !== 'focus', clientX: 50, clientY: 50})); }"
    )


def test_nothing_that_a_run_says_is_run(dash, watched, screenshot):
    window = watched(dash().url.geturl())
    shows(window, "2 runs")
    for sign in (SIGNS["script"], SIGNS["handler"]):
        shows(window, sign)
    untouched(window)
    for tab in TABS:
        window.run("location.hash = arguments[0]", f"#/run/first{tab}")
        wait_until(lambda: window.count("[role=tabpanel] > div > :not(.loading)") > 0, message=f"the tab {tab}")
        see_everything(window)
        untouched(window)
    window.run("location.hash = '#/run/first/logs'")
    for name in ("script", "svg", "address", "template", "percent", "direction"):
        shows(window, PAYLOADS[name], "pre.log")
    shows(window, "redlink", "pre.log")
    assert window.count("pre.log .red") > 0 and "\x1b" not in window.run(
        "return document.querySelector('pre.log').textContent"
    )
    window.run("location.hash = '#/run/first'")
    shows(window, SIGNS["closing"], ".failure")
    shows(window, PAYLOADS["handler"][:30], "[aria-label=Config]")
    assert window.run("return document.querySelector('textarea[name=note]').value").startswith(PAYLOADS["script"])
    screenshot(window, "payloads")
    window.run("location.hash = '#/compare?run=first&run=second'")
    shows(window, "Environment")
    see_everything(window)
    untouched(window)
    assert window.messages() == []


def test_nothing_in_an_address_is_run(dash, watched):
    server = dash()
    window = watched(server.url.geturl())
    shows(window, "2 runs")
    for address in ADDRESSES:
        for text in PAYLOADS.values():
            window.run(
                "location.hash = arguments[0].replaceAll('PAYLOAD', encodeURIComponent(arguments[1]))", address, text
            )
            wait_until(lambda: window.text().strip() not in ("", "Loading…"), message=f"a page at {address}")
            untouched(window)
    window.open("about:blank")
    window.messages()  # clears the console: the browser reports runs and sweeps that do not exist


def test_nothing_is_run_from_an_exported_file(trained, watched, tmp_path):
    file = tmp_path / "payloads.html"
    assert trained("export", "first", "second", "--html", "-o", file).returncode == 0
    written = file.read_text()
    assert "unsafe" not in written and "<script>window.taken" not in written
    window = watched(file.as_uri())
    shows(window, "2 runs")
    for tab in TABS:
        window.run("location.hash = arguments[0]", f"#/run/first{tab}")
        wait_until(lambda: window.count("[role=tabpanel] > div > :not(.loading)") > 0, message=f"the tab {tab}")
        see_everything(window)
        untouched(window)
    window.run("location.hash = '#/compare?run=first&run=second'")
    shows(window, "Environment")
    see_everything(window)
    untouched(window)
    assert window.messages() == []


def test_what_is_written_on_a_page_stays_text(trained, dash, watched):
    window = watched(dash().url.geturl() + "#/run/second")
    for text in PAYLOADS.values():
        shows(window, "Save the note")
        window.run(
            "const it = document.querySelector('textarea[name=note]'); it.value = `noted ${arguments[0]}`; "
            "it.form.requestSubmit()",
            text,
        )
        wait_until(lambda: trained.json("show", "second")["note"] == "noted " + text, message="the note")
        untouched(window)
    window.run("location.hash = '#/'")
    shows(window, "2 runs")
    untouched(window)
    assert window.messages() == []


REPORT = "# {0}\n\n{0}\n\n- {0}\n\n> {0}\n\n[{0}]({0}) `{0}` **{0}**\n\n![{0}](view:{0})\n\n![loss](view:{0})\n"


def see_names(window):
    """Opens the pages of sweeps, views and reports with the names of payloads."""
    see_everything(window)
    untouched(window)
    window.run("location.hash = '#/sweep'")
    shows(window, SIGNS["script"], "main table")
    see_everything(window)
    untouched(window)
    for text in PAYLOADS.values():
        if may_be_a_tag("sweep:" + text):
            window.run("location.hash = `#/sweep/${encodeURIComponent(arguments[0])}`", text)
            shows(window, "second")
            see_everything(window)
            untouched(window)
        window.run("location.hash = `#/report?text=${encodeURIComponent(arguments[0])}`", REPORT.format(text))
        wait_until(lambda: window.count(".report h2") > 0, message="the report")
        see_everything(window)
        untouched(window)
    assert window.messages() == []


def test_names_of_sweeps_and_views_stay_text(trained, dash, watched, tmp_path):
    server = dash()
    tags = [part for text in PAYLOADS.values() if may_be_a_tag("sweep:" + text) for part in ("--tag", "sweep:" + text)]
    assert trained("edit", "second", *tags).returncode == 0
    names = [text for text in PAYLOADS.values() if len(text.encode()) <= 100]
    for name in names:
        address = f"?text={urllib.parse.quote(name)}"
        assert server.post("/api/views", {"name": name, "address": address}).status == 200
    window = watched(server.url.geturl())
    wait_until(lambda: window.count("select[name=view] option") == 1 + len(names), message="the views")
    see_names(window)
    file = tmp_path / "names.html"
    assert trained("export", "second", "--html", "-o", file).returncode == 0
    offline = watched(file.as_uri())
    wait_until(lambda: offline.count("select[name=view] option") == 1 + len(names), message="the views in the file")
    see_names(offline)
