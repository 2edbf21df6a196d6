"""Ctrl-C and SIGTERM: the first stops the group, the second kills it."""

import contextlib
import pathlib
import signal

import pytest
from conftest import ENDLESS, leftovers, processes_of, wait_until

REPORTING = ENDLESS.replace("name = 'endless'", "name = 'stopped', failure_config = train.FailureConfig{max_failures = 5}")

# Neither reports nor calls anything after its first report.
DEAF = REPORTING.replace("os.execute('sleep 0.02')", "while true do end")


def is_worker(pid):
    with contextlib.suppress(OSError):
        return b"--worker" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return False


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_one_signal_stops_the_run(rtrain, number, code):
    running = rtrain.started("run", rtrain.script(REPORTING), reports=3)
    running.send(number)
    result = running.wait(30)
    assert result.returncode == code, result.stderr
    show = rtrain.json("show", "stopped")
    assert show["status"] == "ABORTED"
    assert len(show["attempts"]) == 1, "a stop is no failure to retry"
    epochs = [row["epoch"] for row in rtrain.reports("stopped")]
    assert epochs == list(range(1, len(epochs) + 1)) and len(epochs) >= 3
    assert not processes_of(rtrain.storage)
    assert leftovers(rtrain.run_folder("stopped") / "staging") == []


def test_a_second_signal_kills_a_group_that_does_not_listen(rtrain):
    running = rtrain.started("run", rtrain.script(DEAF))
    running.send(signal.SIGINT)
    # The second must not be merged with the first by the kernel: wait until that one was taken.
    wait_until(lambda: not running.running or "interrupt" in running.stderr.lower(), 30, "the answer to the first signal")
    running.send(signal.SIGINT)
    result = running.wait(10)
    assert result.returncode == 130
    assert rtrain.json("show", "stopped")["status"] == "ABORTED"
    assert not processes_of(rtrain.storage)


def test_a_signal_before_the_group_is_up_ends_the_run(rtrain):
    running = rtrain.start("run", rtrain.script(REPORTING))
    wait_until(lambda: not running.running or any(map(is_worker, processes_of(rtrain.storage))), 30, "the first worker")
    running.send(signal.SIGINT)
    result = running.wait(30)
    assert result.returncode == 130, result.stderr
    assert not processes_of(rtrain.storage)

