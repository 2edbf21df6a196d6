"""rtrain logs: the output of the workers, of any size, with bounded use of the disk."""

import json
import resource
import subprocess

import pytest

from conftest import RTRAIN

PRINTING = """
local train = require 'rtrain'
train.TorchTrainer{
  train_loop_per_worker = function(config)
    local rank = train.get_context():get_world_rank()
    for i = 1, config.lines do print(('%d %07d '):format(rank, i) .. ('x'):rep(config.width)) end
    io.stdout:write('the end')
  end,
  train_loop_config = {lines = 3, width = 10},
  run_config = train.RunConfig{name = 'run', log_bytes = 131072},
}:fit()
"""
LIMIT = 131072


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_log_keeps_its_newest_lines(rtrain, workers):
    rtrain.run_ok(PRINTING, "-n", workers, "--set", "lines=9000", "--set", "width=90", "-q")
    folder = rtrain.run_folder("run") / "logs" / "attempt-1"
    for rank in range(max(workers, 1)):
        parts = list(folder.glob(f"rank-{rank}.log*"))
        assert len(parts) == 2 and LIMIT // 2 <= sum(part.stat().st_size for part in parts) <= LIMIT
        shown = rtrain("logs", "run", "--rank", rank)
        assert shown.returncode == 0
        assert f"rank {rank} has printed more than its log keeps (RunConfig.log_bytes)" in shown.stderr
        lines = shown.stdout.splitlines()
        assert lines[-1] == f"[rank {rank}] the end"
        numbers = [int(line.split()[3]) for line in lines[:-1]]
        assert numbers == list(range(numbers[0], 9001)), "whole lines, and none is missing"


def test_a_log_below_its_limit_is_whole(rtrain):
    rtrain.run_ok(PRINTING, "-n", 2, "--set", "lines=1000", "--set", "width=90")
    shown = rtrain("logs", "run", "--rank", 1)
    assert shown.stderr == "" and len(shown.stdout.splitlines()) == 1001
    assert [path.name for path in sorted((rtrain.run_folder("run") / "logs/attempt-1").iterdir())] == [
        "rank-0.log",
        "rank-0.log.1",
        "rank-0.times",
        "rank-0.times.1",
        "rank-1.log",
        "rank-1.log.1",
        "rank-1.times",
        "rank-1.times.1",
    ]


def test_the_last_lines(rtrain):
    rtrain.run_ok(PRINTING, "-n", 2, "--set", "lines=1000", "--set", "width=90", "-q")
    everything = rtrain("logs", "run").stdout.splitlines()
    for count in (1, 3, 1000):
        shown = rtrain("logs", "run", "--tail", count)
        assert shown.stdout.splitlines() == everything[-count:] and shown.stderr == ""
    own = [line for line in everything if line.startswith("[rank 1]") and " 0000" in line]
    shown = rtrain("logs", "run", "--tail", 2, "--rank", 1, "--grep", " 0000", "-t").stdout.splitlines()
    assert [line.split(" ", 1)[1] for line in shown] == own[-2:]
    assert [line["line"] for line in rtrain.json("logs", "run", "--tail", 5000)] == [
        line.split("] ", 1)[1] for line in everything
    ]
    assert rtrain("logs", "run", "-f", "--tail", 4).stdout.splitlines() == everything[-4:]
    refused = rtrain("logs", "run", "--tail", 0)
    assert refused.returncode == 2 and "--tail" in refused.stderr


def test_a_log_of_any_size_is_shown_in_little_memory(rtrain):
    rtrain.run_ok(PRINTING)
    log = rtrain.run_folder("run") / "logs/attempt-1/rank-0.log"
    line = "y" * 999 + "\n"
    with open(log, "w") as file:
        for _ in range(100):
            file.write(line * 1000)
        file.write("z" * 50_000_000)
    assert log.stat().st_size == 150_000_000

    def limited():
        resource.setrlimit(resource.RLIMIT_DATA, (64 << 20, 64 << 20))

    for args in ((), ("--json",)):
        with subprocess.Popen(
            [RTRAIN, "logs", "run", *args], env=rtrain.env, stdout=subprocess.PIPE, preexec_fn=limited, text=True
        ) as process:
            shown = sum("y" * 999 in text for text in process.stdout)
        assert process.returncode == 0 and shown == 100_000


def test_the_documents_lines(rtrain):
    rtrain.run_ok(PRINTING, "-n", 2)
    lines = json.loads(rtrain("logs", "run", "--json").stdout)
    assert len(lines) == 8
    assert all(sorted(line) == ["attempt", "line", "rank", "time"] and line["attempt"] == 1 for line in lines)
    assert [line["line"] for line in lines if line["rank"] == 1] == [f"1 {i:07} " + "x" * 10 for i in (1, 2, 3)] + [
        "the end"
    ]
    shown = rtrain.json("show", "run")
    assert all(shown["started_at"] <= line["time"] <= shown["ended_at"] for line in lines)
    empty = rtrain.run_folder("run") / "logs/attempt-1"
    for path in empty.iterdir():
        path.write_text("")
    assert json.loads(rtrain("logs", "run", "--json").stdout) == []


IN_TURN = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer {
  train_loop_per_worker = function()
    local rank = train.get_context():get_world_rank()
    for turn = 0, 5 do
      if turn % 3 == rank then print('turn ' .. turn) end
      io.stdout:flush()
      os.execute('sleep 0.05')
      torch.distributed.barrier()
    end
  end,
  run_config = train.RunConfig {name = 'run'},
}:fit()
"""


def test_lines_of_all_ranks_come_in_the_order_in_which_they_were_printed(rtrain):
    rtrain.run_ok(IN_TURN, "-n", 3, "-q")
    expected = [f"[rank {turn % 3}] turn {turn}" for turn in range(6)]
    assert rtrain("logs", "run").stdout.splitlines() == expected
    assert rtrain("logs", "run", "--grep", "[024]").stdout.splitlines() == expected[::2]
    timed = rtrain("logs", "run", "--times").stdout.splitlines()
    assert [line.split(" ", 1)[1] for line in timed] == expected
    clocks = [line.split(" ", 1)[0] for line in timed]
    assert clocks == sorted(clocks) and len(set(clocks)) == 6
    times = [line["time"] for line in rtrain.json("logs", "run")]
    assert [time[11:23] for time in times] == clocks


def test_lines_without_times_come_rank_by_rank(rtrain):
    rtrain.run_ok(IN_TURN, "-n", 3, "-q")
    for path in (rtrain.run_folder("run") / "logs/attempt-1").glob("*.times"):
        path.unlink()  # older versions of rtrain did not write it
    assert [line["line"] for line in rtrain.json("logs", "run")] == [f"turn {turn}" for turn in (0, 3, 1, 4, 2, 5)]
    assert rtrain("logs", "run", "-t").stdout.startswith("------------ [rank 0] turn 0")


def test_a_rank_or_attempt_that_is_not_there_is_refused(rtrain):
    rtrain.run_ok(PRINTING, "-n", 2)
    for args, reason in (
        (("--rank", 9), "attempt 1 of the run 'run' has no rank 9, its ranks: 0, 1"),
        (("--rank", 2, "-f"), "has no rank 2, its ranks: 0, 1"),
        (("--attempt", 3), "the run 'run' has no attempt 3, its attempts: 1"),
    ):
        refused = rtrain("logs", "run", *args)
        assert refused.returncode == 2 and reason in refused.stderr, refused.stderr
        assert refused.stdout == ""
    assert rtrain("logs", "run", "--rank", 1, "--attempt", 1).stdout.count("[rank 1]") == 4


def test_log_bytes_has_a_least_value(rtrain):
    refused = rtrain.run(PRINTING.replace("131072", "1000"))
    assert refused.returncode == 3 and "RunConfig.log_bytes = 1000: must be at least 65536" in refused.stderr
