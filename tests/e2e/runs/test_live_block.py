"""The live block of a run on terminals of any width, also while the width changes, and the output in a pipe."""

import contextlib
import re

import pytest

from screen import Screen
from test_terminal import LIVE, OnTerminal

DRAWN = rb"log  lr=0"


@contextlib.contextmanager
def live(rtrain, text, *args, columns):
    """A run on a terminal that continues once the file `seen` exists. Leaving the `with` block ends the run."""
    run = OnTerminal(rtrain, "run", rtrain.script(text), *args, columns=columns)
    try:
        yield run
    finally:
        with contextlib.suppress(ProcessLookupError):
            run.process.kill()
        run.process.wait()


def finish(rtrain, run):
    (rtrain.folder / "seen").touch()
    return run.end().replace(b"\n", b"\r\n")


def expect_only_lines(rows, columns):
    """Asserts that nothing of the live block remains and each permanent line is there once."""
    assert not [row for row in rows if "RUNNING" in row or row.startswith("log  ")], rows
    for index in range(3):
        assert len([row for row in rows if row.startswith(f"report {index}  ")]) == 1, rows
    assert len([row for row in rows if row.startswith("run ")]) == 1, rows
    assert all(len(row) <= columns for row in rows)


@pytest.mark.parametrize("columns", [80, 40, 20])
def test_a_block_leaves_nothing_behind(rtrain, columns):
    with live(rtrain, LIVE, columns=columns) as run:
        run.read_until(DRAWN)
        shown = Screen(columns).feed(run.output).rows()
        assert [row for row in shown if row.startswith("live  RUNNING")], shown
        rows = Screen(columns).feed(finish(rtrain, run)).rows()
    expect_only_lines(rows, columns)


@pytest.mark.parametrize("before, after", [(80, 30), (30, 100), (40, 21)])
def test_a_terminal_that_is_resized_in_the_middle(rtrain, before, after):
    with live(rtrain, LIVE, columns=before) as run:
        run.read_until(DRAWN)
        run.resize(after)
        screen = Screen(before).feed(run.output)
        seen = len(run.output)
        screen.columns = after
        run.read_until(rb"live  RUNNING", shown=lambda output: output[seen:])
        (rtrain.folder / "seen").touch()
        screen.feed(run.end().replace(b"\n", b"\r\n")[seen:])
    rows = screen.rows()
    assert not [row for row in rows if "RUNNING" in row or row.startswith("log  ")], rows
    assert len([row for row in rows if row.startswith("report 2  ")]) == 1, rows


WIDE = (
    LIVE.replace("'live'", "'東京の実験-🚀'")
    .replace("loss =", "['正解率'] =")
    .replace("25%", "進捗二五")
    .replace("50%", "進捗五十")
)


@pytest.mark.parametrize("columns", [80, 40, 21])
def test_wide_characters_in_names(rtrain, columns):
    with live(rtrain, WIDE, columns=columns) as run:
        run.read_until(DRAWN)
        shown = Screen(columns).feed(run.output).rows()
        assert [row for row in shown if row.startswith("東京の実験-🚀")] and [
            row for row in shown if "進捗五" in row
        ], shown
        rows = Screen(columns).feed(finish(rtrain, run)).rows()
    expect_only_lines(rows, columns)
    table = Screen(columns).feed(OnTerminal(rtrain, "ls", columns=columns).end().replace(b"\n", b"\r\n")).rows()
    assert table[1].startswith("東京"), table


def test_no_color_and_dumb_terminals_get_no_colours(rtrain):
    def colours(**env):
        rtrain.env = dict({**rtrain.env, "NO_COLOR": "", "TERM": "xterm", **env}.items())
        (rtrain.folder / "seen").touch()
        with live(rtrain, LIVE, "--name", f"run-{len(rtrain.json('ls'))}", columns=80) as run:
            return set(re.findall(rb"\x1b\[[\d;]*m", run.end()))

    assert colours() == {b"\x1b[1m", b"\x1b[32m", b"\x1b[0m"}
    assert colours(NO_COLOR="1") == set()
    assert colours(TERM="dumb") == set()


EPOCH = """
    local files, torch, train = require 'files', require 'torch', require 'rtrain'
    train.TorchTrainer({
      train_loop_per_worker = function()
        local set = torch.utils.data.TensorDataset(torch.arange(40))
        local loader = train.torch.prepare_data_loader(torch.utils.data.DataLoader(set, {batch_size = 2}))
        for i in loader:enumerate() do
          os.execute 'sleep 0.06'
          if i == 7 then files.wait_for 'seen' end
        end
        train.report {loss = 1}
      end,
      scaling_config = train.ScalingConfig {num_workers = 2},
      run_config = train.RunConfig {name = 'live'},
    }):fit()
    """


def test_an_epoch_under_way_has_a_bar_and_its_start_is_told(rtrain):
    with live(rtrain, EPOCH, columns=80) as run:
        run.read_until(rb"batch +\d+/10  [^\r]*it/s  [\d.]+ s left")
        rows = Screen(80).feed(run.output).rows()
        assert [row for row in rows if re.fullmatch(r"batch +\d+/10  ━+─+  [\d.]+ it/s  [\d.]+ s left", row)], rows
        rows = Screen(80).feed(finish(rtrain, run)).rows()
    assert rows[:2] == [
        "rtrain: 2 workers, shm, CPU",
        "rtrain: batches of 2 on each worker, 4 together; 20 of 40 samples each",
    ], rows
    assert "batches of 2 on each worker, 4 together; 20 of 40 samples each" in rtrain("show", "live").stdout
    assert not [row for row in rows if row.startswith("batch ")], rows


MANY = """
    local train = require 'rtrain'
    train.DataParallelTrainer({
      train_loop_per_worker = function()
        for step = 1, 500 do train.report {step = step} end
      end,
      run_config = train.RunConfig {name = 'many'},
    }):fit()
    """


def test_a_pipe_gets_a_line_for_few_of_many_reports(rtrain):
    result = rtrain.run_ok(MANY)
    lines = [line for line in result.stderr.splitlines() if line.startswith("report ")]
    assert lines[:20] == [f"report {index}  step={index + 1}" for index in range(20)]
    shown = len(lines) + sum(
        int(count) for count in re.findall(r"\((\d+) reports? before it not shown\)", result.stderr)
    )
    assert shown == 500 and lines[-1].startswith("report 499  step=500") and len(lines) < 250
    assert "\x1b" not in result.stderr and "\r" not in result.stderr
    assert len(rtrain.reports("many")) == 500
