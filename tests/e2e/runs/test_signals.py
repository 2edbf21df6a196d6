"""Signals: the first one stops the group gracefully, the second kills it. No worker outlives the controller, however
that ends."""

import contextlib
import fcntl
import os
import pathlib
import pty
import shlex
import signal
import subprocess
import termios
import time

import pytest

from conftest import RTRAIN, Running, leftovers, processes_of, wait_until

# Two ranks call a collective between two calls of stop_requested(). If a rank saw the stop one call earlier, it would
# hang.
TRAIN = """
local epochs, files, train = require 'epochs', require 'files', require 'rtrain'
local trainer = train.DataParallelTrainer{
  train_loop_per_worker = function()
    local rank = train.get_context():get_world_rank()
    for epoch = 1, math.huge do
      train.collective.barrier()
      BODY
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'stopped', failure_config = train.FailureConfig{max_failures = 5, GRACE}},
}
local ok, err = pcall(trainer.fit, trainer)
if not ok then print('fit() raised ' .. err.code) error(err, 0) end
"""

POLLING = """
      if train.stop_requested() then
        print('told at ' .. epoch)
        epochs.save(epoch)
        return
      end
      if epoch % 5 == 0 then train.report{epoch = epoch} end
      os.execute('sleep 0.01')
"""
REPORTING = "train.report{epoch = epoch} os.execute('sleep 0.02')"
SAVING = "epochs.save(epoch) os.execute('sleep 0.05')"
# Calls nothing of rtrain after its first report.
DEAF = "train.report{epoch = 1} while true do end"


def script(body, grace="preemption_grace_s = 60"):
    return TRAIN.replace("BODY", body).replace("GRACE", grace)


def is_worker(pid):
    with contextlib.suppress(OSError):
        return b"--worker" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return False


def wait_for_text(running, text):
    wait_until(lambda: not running.running or text in running.stderr, message=text)
    assert running.running, running.stderr


def told_at(result):
    return [line.split("told at ")[1] for line in result.stdout.splitlines() if "told at" in line]


@pytest.mark.parametrize(
    "number, code, status, raised",
    [
        (signal.SIGINT, 130, "ABORTED", "interrupted"),
        (signal.SIGTERM, 75, "PREEMPTED", "preempted"),
        (signal.SIGUSR1, 75, "PREEMPTED", "preempted"),
        (signal.SIGUSR2, 75, "PREEMPTED", "preempted"),
        (signal.SIGXCPU, 75, "PREEMPTED", "preempted"),
    ],
    ids=["SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGXCPU"],
)
# behaviour: all ranks see the same stop
def test_all_ranks_see_the_request_at_the_same_call(rtrain, number, code, status, raised):
    running = rtrain.started("run", rtrain.script(script(POLLING)))
    running.send(number)
    result = running.wait()
    assert result.returncode == code, result.stderr
    told = told_at(result)
    assert len(told) == 2 and told[0] == told[1]
    show = rtrain.json("show", "stopped")
    assert show["status"] == status
    assert len(show["attempts"]) == 1, "a stop is not a failure to retry"
    assert show["checkpoints"][-1]["metrics"]["epoch"] == int(told[0])
    assert f"fit() raised {raised}" in result.stdout
    assert f"{signal.Signals(number).name}: the run stops at its next checkpoint, at the latest in" in result.stderr
    rtrain.wait_for_processes()
    assert leftovers(rtrain.run_folder("stopped") / "staging") == []
    # The command that the message shows can be typed as it is.
    command = shlex.split(result.stderr.split("to go on from its checkpoint: ")[1].splitlines()[0])
    assert command[1:] == ["run", "--name", "stopped", "--resume", "auto", str(rtrain.folder / "train.lua")]
    if number == signal.SIGINT:
        resumed = rtrain.start(*command[1:])
        wait_until(
            lambda: len(rtrain.query("SELECT 1 FROM attempts WHERE status = 'RUNNING'")) == 1, message="the run goes on"
        )
        resumed.send(signal.SIGINT)
        assert resumed.wait().returncode == 130
        assert len(rtrain.json("show", "stopped")["attempts"]) == 2


# fault: SIGTERM
def test_a_script_that_does_not_ask_stops_at_its_next_checkpoint(rtrain):
    running = rtrain.started("run", rtrain.script(script(SAVING)), reports=2)
    running.send(signal.SIGTERM)
    result = running.wait()
    assert result.returncode == 75, result.stderr
    assert rtrain.json("show", "stopped")["status"] == "PREEMPTED"


# fault: SIGTERM
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_without_a_checkpoint_the_grace_period_ends_the_run(rtrain, number, code):
    running = rtrain.started("run", rtrain.script(script(REPORTING, "preemption_grace_s = 0.3")), reports=3)
    running.send(number)
    result = running.wait()
    assert result.returncode == code, result.stderr
    show = rtrain.json("show", "stopped")
    assert show["status"] == "ABORTED" and len(show["attempts"]) == 1
    epochs = [row["epoch"] for row in rtrain.reports("stopped")]
    assert epochs == list(range(1, len(epochs) + 1)) and len(epochs) >= 3
    rtrain.wait_for_processes()


# behaviour: Ctrl-C once, and again
# fault: two SIGINTs
def test_a_second_signal_kills_a_group_that_does_not_listen(rtrain):
    running = rtrain.started("run", rtrain.script(script(DEAF)))
    running.send(signal.SIGINT)
    wait_for_text(running, "once more: kill it")
    time.sleep(0.15)  # signals within a shorter time than a human needs count as one
    running.send(signal.SIGINT)
    result = running.wait()
    assert result.returncode == 130
    assert rtrain.json("show", "stopped")["status"] == "ABORTED"
    rtrain.wait_for_processes()


@pytest.mark.parametrize("to_worker", [False, True], ids=["controller", "worker"])
def test_sigquit_shows_the_stacks_and_ends_the_run(rtrain, to_worker):
    running = rtrain.started("run", "-q", rtrain.script(script(DEAF)))
    os.kill(rtrain.pids("stopped")[1] if to_worker else running.pid, signal.SIGQUIT)
    result = running.wait()
    assert result.returncode == 130, result.stderr
    assert rtrain.json("show", "stopped")["status"] == "ABORTED"
    for rank in (0, 1):
        assert f"rank {rank} (pid" in result.stderr
    assert "train.lua:" in result.stderr and "  thread rtrain" in result.stderr
    rtrain.wait_for_processes()


@pytest.mark.parametrize(
    "number, code",
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 143), (signal.SIGUSR2, 143)],
    ids=lambda value: str(value),
)
def test_a_signal_before_the_run_ends_the_script(rtrain, number, code):
    running = rtrain.start("run", rtrain.script("io.open('begun', 'w'):close() while true do end"))
    wait_until((rtrain.folder / "begun").exists, message="the script")
    running.send(number)
    assert running.wait().returncode == code


def test_a_file_above_the_limit_of_size_is_an_error_of_the_script(rtrain):
    """With `ulimit -f` the kernel sends SIGXFSZ, which by default ends a worker without a message."""
    result = subprocess.run(
        [
            "bash",
            "-c",
            f"ulimit -f 2000; exec {RTRAIN} run $0",
            rtrain.script("""
        local train = require 'rtrain'
        local function write()
          local file = assert(io.open('large', 'w'))
          local ok, problem = file:write(('x'):rep(4000000))
          print('write', ok, problem)
        end
        write()
        train.DataParallelTrainer(write):fit()
        """),
        ],
        cwd=rtrain.folder,
        env=rtrain.env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("write\tnil\tFile too large") == 2, result.stdout


def test_a_store_above_the_limit_of_size_is_a_full_disk(rtrain):
    rtrain.env["RTRAIN_STORE_PATIENCE_S"] = "1"
    script = rtrain.script("""
        require('rtrain').DataParallelTrainer(function()
          for i = 1, 4000 do require('rtrain').report{i = i, padding = ('x'):rep(500)} end
        end):fit()
        """)
    result = subprocess.run(
        ["bash", "-c", f"ulimit -f 600; exec {RTRAIN} run {script} --name full"],
        cwd=rtrain.folder,
        env=rtrain.env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 4, result.stderr
    assert "reports wait in memory" in result.stderr and "`ulimit -f` allows files of 600 KiB" in result.stderr


def test_a_signal_before_the_group_is_up_ends_the_run(rtrain):
    running = rtrain.start("run", rtrain.script(script(REPORTING, "preemption_grace_s = 0.3")))
    wait_until(lambda: not running.running or any(map(is_worker, processes_of(rtrain.storage))), message="a worker")
    running.send(signal.SIGINT)
    result = running.wait()
    assert result.returncode == 130, result.stderr
    rtrain.wait_for_processes()


def test_a_signal_that_reaches_a_worker_first_counts_once(rtrain):
    """scancel signals every process of a job."""
    running = rtrain.started(
        "run",
        rtrain.script(
            script("""
      if train.stop_requested() then
        files.wait_for 'go'
        epochs.save(epoch)
        return
      end
      train.report{epoch = epoch}
      os.execute('sleep 0.02')
""")
        ),
    )
    workers = rtrain.pids("stopped")
    os.kill(workers[1], signal.SIGTERM)
    wait_for_text(running, "SIGTERM: the run stops")
    for pid in [running.pid, *workers]:
        os.kill(pid, signal.SIGTERM)
    (rtrain.folder / "go").touch()
    result = running.wait()
    assert result.returncode == 75, result.stderr
    assert len(rtrain.json("checkpoint", "ls", "stopped")) == 1


# fault: SIGHUP
def test_a_closed_terminal_stops_the_run(rtrain):
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [RTRAIN, "run", str(rtrain.script(script(POLLING)))],
        cwd=rtrain.folder,
        env=rtrain.env,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(slave)
    os.set_blocking(master, False)
    seen = bytearray()

    def reported():
        with contextlib.suppress(BlockingIOError):
            seen.extend(os.read(master, 65536))
        return b"epoch=5" in seen

    wait_until(reported, message="the first report")
    os.close(master)
    assert process.wait(60) == 75
    assert rtrain.json("show", "stopped")["status"] == "PREEMPTED"
    rtrain.wait_for_processes()


# fault: SIGHUP
def test_nohup_keeps_a_run_alive(rtrain):
    command = ["nohup", RTRAIN, "run", str(rtrain.script(script(POLLING))), "--name", "kept"]
    running = Running(command, rtrain.folder, rtrain.env)
    rtrain.wait_for_reports(running, 1)
    running.send(signal.SIGHUP)
    before = len(rtrain.reports("kept"))
    rtrain.wait_for_reports(running, before + 3)
    running.send(signal.SIGTERM)
    assert running.wait().returncode == 75


# behaviour: a clean return during a stop
def test_a_clean_return_during_a_stop_finishes_the_run(rtrain):
    running = rtrain.started(
        "run",
        rtrain.script(
            script("""
      train.report{epoch = epoch}
      files.wait_for 'go'
      return
""")
        ),
    )
    running.send(signal.SIGTERM)
    wait_for_text(running, "SIGTERM: the run stops")
    (rtrain.folder / "go").touch()
    result = running.wait()
    assert result.returncode == 0, result.stderr
    assert rtrain.json("show", "stopped")["status"] == "FINISHED"


# behaviour: a user's error during a stop
def test_a_user_error_during_a_stop_is_a_worker_failure(rtrain):
    body = POLLING.replace("epochs.save(epoch)", "error('a bug in the saving code')")
    running = rtrain.started("run", rtrain.script(script(body).replace("max_failures = 5", "max_failures = 0")))
    running.send(signal.SIGTERM)
    result = running.wait()
    assert result.returncode == 1, result.stderr
    assert "a bug in the saving code" in result.stderr
    assert rtrain.json("show", "stopped")["status"] == "ERRORED"


# behaviour: a checkpoint after the stop
def test_the_checkpoint_of_survivors_alone_is_not_committed(rtrain):
    body = """
      if train.stop_requested() then
        if rank == 1 then while true do os.execute('sleep 0.05') end end
        epochs.save(epoch)
        return
      end
      train.report{epoch = epoch}
      os.execute('sleep 0.02')
"""
    running = rtrain.started("run", rtrain.script(script(body)))
    rank_1 = rtrain.pids("stopped")[1]
    running.send(signal.SIGTERM)
    staging = rtrain.run_folder("stopped") / "staging"
    wait_until(lambda: any("epoch" in name for name in leftovers(staging)), message="the staged files of rank 0")
    os.kill(rank_1, signal.SIGKILL)
    result = running.wait()
    assert result.returncode == 143, result.stderr
    assert rtrain.json("checkpoint", "ls", "stopped") == []
    assert leftovers(rtrain.run_folder("stopped") / "checkpoints") == []


# behaviour: shutdown with half of the group dead
def test_a_shutdown_does_not_wait_for_the_collective_of_the_living(rtrain):
    body = "train.report{epoch = epoch} if rank == 1 then while true do os.execute('sleep 0.05') end end"
    running = rtrain.started("run", rtrain.script(script(body).replace("max_failures = 5", "max_failures = 0")))
    os.kill(rtrain.pids("stopped")[1], signal.SIGKILL)
    result = running.wait()  # otherwise rank 0 would wait for 1800 s
    assert result.returncode == 5, result.stderr
    assert "rank 1" in result.stderr and "SIGKILL" in result.stderr


# fault: SIGKILL of the controller
@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_no_process_outlives_a_killed_controller(rtrain, stopped):
    body = "train.report{epoch = epoch} os.execute('sleep 600 & sleep 600')"
    running = rtrain.started("run", rtrain.script(script(body)))
    wait_until(lambda: len(processes_of(rtrain.storage)) >= 8, message="the workers' children")
    if stopped:
        os.kill(rtrain.pids("stopped")[0], signal.SIGSTOP)
    running.send(signal.SIGKILL)
    running.process.wait()
    rtrain.wait_for_processes()
    assert rtrain.json("show", "stopped")["status"] == "LOST"


# fault: SIGSTOP of the controller
def test_workers_go_on_while_the_controller_is_stopped(rtrain):
    body = """
      while not files.exists 'go' do
        train.report{epoch = 1}
        local file = io.open('steps-' .. rank, 'a')
        file:write('.')
        file:close()
        os.execute('sleep 0.02')
      end
      return
"""
    running = rtrain.started("run", rtrain.script(script(body)))
    running.send(signal.SIGSTOP)
    steps = rtrain.folder / "steps-0"
    wait_until(steps.exists, message="the first step")
    before = steps.stat().st_size
    wait_until(lambda: steps.stat().st_size > before + 10, message="steps without a controller")
    (rtrain.folder / "go").touch()
    running.send(signal.SIGCONT)
    result = running.wait()
    assert result.returncode == 0, result.stderr
    assert len(rtrain.json("show", "stopped")["attempts"]) == 1


# fault: SIGSTOP of the controller
def test_a_controller_that_is_stopped_for_long_holds_a_full_channel_up(rtrain):
    """Reports fill the socket until report() blocks, for longer than the former limit of 10 s for a healthy
    controller."""
    body = """
      local step = 0
      while not files.exists 'go' do
        step = step + 1
        train.report{step = step, padding = ('x'):rep(20000)}
        local file = io.open('steps-' .. rank, 'w')
        file:write(step)
        file:close()
      end
      return
"""
    running = rtrain.started("run", rtrain.script(script(body)))
    running.send(signal.SIGSTOP)
    steps = rtrain.folder / "steps-0"
    seen = {"step": None, "since": 0}

    def is_held():
        now = steps.read_text() if steps.exists() else ""
        if now != seen["step"]:
            seen.update(step=now, since=time.monotonic())
        return time.monotonic() > seen["since"] + 11

    wait_until(is_held, message="eleven seconds without a step")
    (rtrain.folder / "go").touch()
    running.send(signal.SIGCONT)
    result = running.wait()
    assert result.returncode == 0, result.stderr
    assert rtrain.statuses("stopped") == ["FINISHED"]


# fault: SIGSTOP of the controller
def test_a_rank_that_gives_a_stopped_controller_up_says_so(rtrain):
    running = rtrain.started(
        "run",
        rtrain.script("""
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            for i = 1, math.huge do train.report{i = i, padding = ('x'):rep(20000)} end
          end,
          torch_config = train.TorchConfig{timeout_s = 3},
          run_config = train.RunConfig{name = 'stopped'},
        }:fit()
        """),
    )
    running.send(signal.SIGSTOP)
    stat = pathlib.Path(f"/proc/{rtrain.pids('stopped')[0]}/stat")
    wait_until(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] == "Z", message="the worker's end")
    running.send(signal.SIGCONT)
    result = running.wait()
    if result.returncode == 5:  # the channel was full: the rank could not even send its error
        problem = "the run's controller has neither read nor answered for 3 s (timeout_s)"
    else:  # the stopped controller had all reports in its memory and had not acknowledged the last ones
        assert result.returncode == 6, result.stderr
        problem = "of this rank wait to be taken for 3 s (timeout_s): another rank makes fewer, the store cannot be"
    assert problem in result.stderr


def open_files(pid):
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed in the meantime
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return found


# fault: descriptors of workers
def test_a_worker_holds_nothing_of_the_controllers(rtrain):
    running = rtrain.started("run", rtrain.script(script(POLLING)))
    targets = {}
    for pid in rtrain.pids("stopped"):
        fds = open_files(pid)
        assert not [name for name in fds if name.startswith(str(rtrain.storage))], "files of the store"
        targets[pid] = {name for name in fds if name.startswith(("socket:", "pipe:"))}
    first, second = targets.values()
    assert not first & second, "the channel or the output of another rank"
    running.send(signal.SIGTERM)
    assert running.wait().returncode == 75
