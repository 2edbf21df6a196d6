"""Worker groups that cannot start, whose ranks run ahead of each other, that change size, or that fail while they
recover."""

import pathlib
import re
import time

import pytest

from conftest import nightly, wait_until

pytestmark = nightly


# fault: worker spawned by a thread that ends
def test_workers_are_started_by_the_thread_that_lives_as_long_as_the_run(saver):
    # The kernel kills a worker when the thread that started it ends. The first process is git, for which the script
    # waits.
    result = saver.run_with_io(
        "posix_spawn:2+:sleep=0:controller", RTRAIN_FAULT="worker.reported:3:kill:rank=1", SAVER_MAX_FAILURES="1"
    )
    threads = {tuple(line.split()[i] for i in (0, -1)) for line in saver.fired}
    assert len(threads) == 1, (saver.fired, result.stderr)
    assert saver.rtrain.statuses() == ["ERRORED", "FINISHED"] and result.returncode == 0, result.stderr


REFUSED = """
local train = require 'rtrain'
train.DataParallelTrainer{
  train_loop_per_worker = function() train.report{size = train.get_context():get_world_size()} end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{failure_config = train.FailureConfig{controller_failure_limit = 1}},
}:fit()
"""


def refuse(rtrain, rules):
    rtrain.fail_calls(rules)
    return rtrain.run(REFUSED)


# fault: fork fails
def test_a_run_begins_without_a_git_that_cannot_be_started(rtrain):
    result = refuse(rtrain, "posix_spawn:1:EAGAIN:controller")
    assert result.returncode == 0, result.stdout + result.stderr
    assert rtrain.statuses() == ["FINISHED"] and not rtrain.json("show", "last")["environment"]["git_commit"]


# fault: fork fails
@pytest.mark.parametrize("nth", [2, 3, 4], ids=["the guard", "rank 0", "rank 1"])
def test_a_process_that_cannot_be_started_is_tried_again_with_a_whole_group(rtrain, nth):
    result = refuse(rtrain, f"posix_spawn:{nth}:EAGAIN:controller")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Resource temporarily unavailable" in result.stderr and "ulimit -u" in result.stderr, result.stderr
    assert rtrain.reports() == [{"size": 2}], "no half of a group has run"
    assert rtrain.statuses() == ["ERRORED", "FINISHED"]


# fault: fork fails
def test_a_limit_of_processes_that_stays_ends_the_run(rtrain):
    result = refuse(rtrain, "posix_spawn:4+:EAGAIN:controller")
    assert result.returncode == 4, result.stdout + result.stderr
    assert "ulimit -u" in result.stderr
    assert rtrain.statuses() == ["ERRORED", "ERRORED"] and rtrain.reports() == []
    rtrain.wait_for_processes()


@pytest.mark.parametrize("fault", ["worker.hello:1:kill:rank=1", "worker.hello:1:exit:rank=0"])
def test_workers_that_crash_as_they_start_are_tried_four_times(rtrain, fault):
    rtrain.env["RTRAIN_FAULT"] = fault
    result = rtrain.run(REFUSED.replace("controller_failure_limit = 1", ""))
    assert result.returncode == 5, result.stdout + result.stderr
    assert "all 3 retries are used up (controller_failure_limit = 3)" in result.stderr, result.stderr
    assert rtrain.statuses() == ["ERRORED"] * 4


def test_processes_that_cannot_be_had_are_asked_for_four_times(rtrain):
    rtrain.fail_calls("posix_spawn:3+:EAGAIN:controller")
    result = rtrain.run(REFUSED.replace("controller_failure_limit = 1", ""))
    assert result.returncode == 4 and "ulimit -u" in result.stderr, result.stdout + result.stderr
    assert rtrain.statuses() == ["ERRORED"] * 4


# fault: file system without locks
@pytest.mark.parametrize("calls_on, name", [("saver/lock", "saver/lock"), ("/storage", "rtrain.db")])
def test_a_file_system_without_locks_is_refused(saver, calls_on, name):
    result = saver.run_with_io(f"lock:1+:ENOLCK:path={calls_on}")
    assert saver.fired and result.returncode == 4, result.stdout + result.stderr
    path = saver.rtrain.storage / name
    assert f"cannot lock {path}: its file system has no locks" in result.stderr, result.stderr
    assert not saver.acks, "refused before there are workers"


# fault: failure during recovery
def test_a_failure_while_recovering_counts_once_and_the_next_begins_at_the_same_checkpoint(rtrain):
    result = rtrain.run_ok("""
        local epochs, files, train = require 'epochs', require 'files', require 'rtrain'
        train.DataParallelTrainer{
          train_loop_per_worker = function()
            local rank = train.get_context():get_world_rank()
            local checkpoint = train.get_checkpoint()
            if checkpoint and rank == 1 and files.exists 'trained' and files.once 'lost' then
              checkpoint:with_directory(function() os.execute 'kill -9 $PPID' end)
            end
            local first = epochs.of(checkpoint) + 1
            train.collective.barrier()
            for epoch = first, 3 do
              if epoch == 3 and first == 1 then
                train.collective.barrier()
                files.write('trained', '')
                error 'half way'
              end
              epochs.save(epoch, {epoch = epoch, first = first})
            end
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          run_config = train.RunConfig{name = 'recovering', failure_config = train.FailureConfig{max_failures = 2}},
        }:fit()
        """)
    assert (rtrain.folder / "lost").exists() and "SIGKILL" in result.stderr
    assert rtrain.statuses() == ["ERRORED", "ERRORED", "FINISHED"], "two failures, as many as max_failures allows"
    rows = rtrain.json("metrics", "recovering", "--superseded")
    assert [(row["metrics"]["epoch"], row["metrics"]["first"], row["attempt"]) for row in rows] == [
        (1, 1, 1),
        (2, 1, 1),
        (3, 3, 3),
    ]


# Rank 1 makes 20,000 reports of 1 KB and writes down its progress; rank 0 makes its reports once the file `go` exists.
FLOOD = """
local train = require 'rtrain'
train.DataParallelTrainer{
  train_loop_per_worker = function()
    local rank = train.get_context():get_world_rank()
    train.report{ready = true}
    if rank == 0 then require('files').wait_for 'go' end
    local text = rank == 1 and ('x'):rep(1000) or ''
    local progress = rank == 1 and io.open('progress', 'w')
    for i = 1, 20000 do
      train.report{i = i, text = text}
      if progress then
        progress:write '.'
        progress:flush()
      end
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'flood'},
}:fit()
"""


class Memory:
    """Measures how far a live process's memory rises above its first value."""

    def __init__(self, pid):
        self.path = pathlib.Path(f"/proc/{pid}/status")
        self.first = self.most = self._now()

    def _now(self):
        found = re.search(r"^VmHWM:\s*(\d+) kB$", self.path.read_text(), re.M)
        return int(found[1]) / 1024 if found else 0  # empty: the process has ended

    def look(self):
        self.most = max(self.most, self._now())

    @property
    def grown_mb(self):
        return self.most - self.first


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def watch_until(running, memory, condition, message):
    """Waits for the condition or the end of the run, and measures the memory meanwhile."""

    def reached():
        memory.look()
        return not running.running or condition()

    wait_until(reached, 120, message)


# fault: flood of reports
def test_a_flood_of_reports_is_held_back_and_hurts_nobody(rtrain):
    running = rtrain.started("run", rtrain.script(FLOOD))
    memory = Memory(running.pid)
    progress = rtrain.folder / "progress"
    last = -1
    while last != (last := wait_until(lambda: size_of(progress), message="the first of the flood")):
        memory.look()
        time.sleep(0.3)
    (rtrain.folder / "go").touch()
    watch_until(running, memory, lambda: False, "the end")
    result = running.wait()
    assert result.returncode == 0, result.stderr
    assert last < 5000, "what rank 0 has not reported is held back in rank 1"
    assert memory.grown_mb < 150
    with rtrain.database() as db:
        assert db.execute("SELECT rank, count(*) FROM reports GROUP BY rank").fetchall() == [(0, 20001), (1, 20001)]


OUTPUT = """
local train = require 'rtrain'
train.DataParallelTrainer{
  train_loop_per_worker = function()
    train.report{ready = true}
    require('files').wait_for 'go'
    local part = ('\\0\\255\\27[2J\\195('):rep(8192)
    for i = 1, 1024 do io.write(part) end
    io.flush()
    io.open('written', 'w'):close()
    train.report{written = #part * 1024}
    require('files').wait_for 'enough'
  end,
  scaling_config = train.ScalingConfig{num_workers = 1},
  run_config = train.RunConfig{name = 'output'},
}:fit()
"""


# fault: flood of output
def test_a_flood_of_bytes_without_lines_is_kept_and_not_held_in_memory(rtrain):
    running = rtrain.started("run", rtrain.script(OUTPUT))
    memory = Memory(running.pid)
    (rtrain.folder / "go").touch()
    log = rtrain.run_folder("output") / "logs" / "attempt-1" / "rank-0.log"
    watch_until(running, memory, lambda: size_of(log) >= 64 << 20, "the log")
    (rtrain.folder / "enough").touch()
    assert running.wait().returncode == 0, running.stderr[-2000:]
    assert memory.grown_mb < 48
    written = log.read_bytes()
    assert len(written) == 64 << 20 and written == b"\0\xff\x1b[2J\xc3(" * (8 << 20)
