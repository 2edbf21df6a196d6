"""What a process of rtrain inherits from its parent, and what a worker passes on to the programs that it starts."""

import contextlib
import os
import pathlib
import signal
import subprocess

import pytest

from conftest import RTRAIN, wait_until

ONE_TENSOR = "require('ffi') print('sum', require('torch').ones(3):sum():item())"


def in_a_worker(body, num_workers=1, trainer="DataParallelTrainer", max_failures=0):
    return f"""
        local train = require 'rtrain'
        train.{trainer}{{
          train_loop_per_worker = function()
            {body}
            train.report{{done = true}}
          end,
          scaling_config = train.ScalingConfig{{num_workers = {num_workers}}},
          run_config = train.RunConfig{{
            name = 'outer',
            failure_config = train.FailureConfig{{max_failures = {max_failures}}},
          }},
        }}:fit()
        """


def test_a_worker_may_start_rtrain_with_tensors(rtrain):
    rtrain.script(ONE_TENSOR, "tensor.lua")
    result = rtrain.run_ok(in_a_worker(f"assert(os.execute '{RTRAIN} exec tensor.lua' == 0)"))
    assert "[rank 0] sum\t3" in result.stdout, result.stdout


def test_a_worker_may_start_a_run(rtrain):
    """The inner run uses the cores of the outer one: it does not wait for them."""
    rtrain.script(
        """
        local torch, train = require 'torch', require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function() train.report{sum = torch.ones(4):sum():item()} end,
          scaling_config = train.ScalingConfig{num_workers = 1},
          run_config = train.RunConfig{name = 'inner'},
        }:fit()
        """,
        "inner.lua",
    )
    rtrain.run_ok(in_a_worker(f"assert(os.execute '{RTRAIN} run inner.lua' == 0)"))
    assert rtrain.reports("inner") == [{"sum": 4}]


def test_descriptors_of_others_are_not_taken_for_the_engine(rtrain):
    rtrain.env["RTRAIN_ENGINE_FD"] = "0"  # an older rtrain left this variable to its children
    assert rtrain("exec", rtrain.script(ONE_TENSOR)).stdout == "sum\t3\n"


def test_a_worker_without_its_controller_ends(rtrain):
    """The descriptors are invalid, as when a user types the command line that `ps` shows."""
    result = subprocess.run(
        [RTRAIN, "--worker", "0", str(os.getpid())], env=rtrain.env, capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 2, result.stderr
    assert "a worker is started by its run alone" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV], ids=["SIGKILL", "SIGSEGV"])
def test_a_parent_that_ignores_sigchld_hides_no_death(rtrain, number):
    script = rtrain.script(in_a_worker(f"os.execute 'kill -{int(number)} $PPID; sleep 600'"))
    done = subprocess.run(
        [RTRAIN, "run", script],
        cwd=rtrain.folder,
        env=rtrain.env,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert done.returncode == 5, done.stderr
    assert f"killed by signal {int(number)} ({number.name})" in done.stderr


@pytest.mark.parametrize("closed", [[0, 1, 2], [0], [1, 2]], ids=["all", "stdin", "stdout and stderr"])
def test_closed_standard_streams(rtrain, closed):
    script = rtrain.script(in_a_worker("print 'into nothing' io.stderr:write 'into nothing\\n'"))

    def close():
        for fd in closed:
            os.close(fd)

    running = subprocess.Popen(
        [RTRAIN, "run", script],
        cwd=rtrain.folder,
        env=rtrain.env,
        preexec_fn=close,
        stdin=None if 0 in closed else subprocess.DEVNULL,
        stdout=None if 1 in closed else subprocess.DEVNULL,
        stderr=None if 2 in closed else subprocess.DEVNULL,
    )
    assert running.wait(120) == 0
    assert rtrain.json("show", "outer")["status"] == "FINISHED"
    assert "into nothing" in rtrain("logs", "outer").stdout


@pytest.fixture
def broken_pipe():
    """Returns the write end of a pipe without a reader."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@pytest.mark.parametrize("flags", [["-n", "2"], ["--local"]], ids=["workers", "local"])
@pytest.mark.parametrize(
    "broken", [["stdout"], ["stderr"], ["stdout", "stderr"]], ids=lambda names: " and ".join(names)
)
def test_a_run_goes_on_when_nobody_reads_its_output(rtrain, broken_pipe, broken, flags):
    script = rtrain.script("""
        local train = require 'rtrain'
        print 'before'
        train.DataParallelTrainer{
          train_loop_per_worker = function()
            for epoch = 1, 3 do
              print('epoch', epoch)
              io.stderr:write('epoch ', epoch, '\\n')
              train.report{epoch = epoch}
            end
            train.report{child = os.execute 'yes | head -n 1 >/dev/null'}
          end,
          run_config = train.RunConfig{name = 'alone'},
        }:fit()
        print 'behind'
        """)
    streams = {name: broken_pipe if name in broken else subprocess.DEVNULL for name in ("stdout", "stderr")}
    done = subprocess.run([RTRAIN, "run", *flags, script], cwd=rtrain.folder, env=rtrain.env, timeout=120, **streams)
    assert done.returncode == 0
    assert rtrain.json("show", "alone")["status"] == "FINISHED"
    assert [row["epoch"] for row in rtrain.reports("alone")[:3]] == [1, 2, 3]
    assert rtrain("logs", "alone").stdout.count("epoch") >= 6, "the logs have what nobody reads"


@pytest.mark.parametrize("action", [signal.SIG_DFL, signal.SIG_IGN], ids=["default", "ignored by the parent"])
@pytest.mark.parametrize(
    "command",
    [
        ["ls"],
        ["show", "last"],
        ["ls", "--json"],
        ["env"],
        ["doc", "torch.add"],
        ["sql", "SELECT 1"],
        ["exec", "print.lua"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_a_command_that_reads_ends_with_its_reader(rtrain, broken_pipe, command, action):
    """The exit code is 141, without a message, as in a shell."""
    rtrain.run_ok("require('rtrain').DataParallelTrainer(function() end):fit()")
    rtrain.script("for i = 1, 10000 do print(i) end", "print.lua")
    done = subprocess.run(
        [RTRAIN, *command],
        cwd=rtrain.folder,
        env=rtrain.env,
        stdout=broken_pipe,
        text=True,
        stderr=subprocess.PIPE,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, action),
    )
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")


def test_a_run_begins_without_a_git_that_hangs(rtrain):
    git = rtrain.folder / "bin" / "git"
    git.parent.mkdir()
    git.write_text("#!/bin/sh\nsleep 600\n")
    git.chmod(0o755)
    rtrain.env["PATH"] = f"{git.parent}:{rtrain.env['PATH']}"
    result = rtrain.run_ok("require('rtrain').DataParallelTrainer(function() end):fit()")
    assert "git has not answered for 5 s" in result.stderr
    assert not rtrain.json("show", "last")["environment"]["git_commit"]
    rtrain.wait_for_processes()


def own_cgroups():
    """Returns the cgroups of all runs on this machine, also of other tests' runs, which come and go meanwhile."""
    found = set()
    for folder, _, files in os.walk("/sys/fs/cgroup"):  # skips folders that have been removed
        if os.path.basename(folder).startswith("rtrain-") and "cgroup.kill" in files:
            found.add(pathlib.Path(folder))
    return found


def processes_in(folder):
    with contextlib.suppress(OSError):
        return (folder / "cgroup.procs").read_text()
    return ""


@pytest.fixture(params=["on", "off"], ids=["cgroup", "no cgroup"])
def cgroups(request, rtrain):
    """Runs the test with rtrain's own cgroups, if this machine allows them, and without."""
    rtrain.env["RTRAIN_CGROUP"] = request.param
    before = own_cgroups()
    yield
    for folder in own_cgroups() - before:  # a cgroup of another test's run has processes, or is removed with its run
        wait_until(lambda: not folder.exists() or processes_in(folder), message=f"the end of {folder}")


# A child that leaves the worker's session and process group, and a grandchild that leaves the child's.
DAEMON = "os.execute 'setsid sh -c \\'touch daemon; setsid sleep 600 & sleep 600\\' >/dev/null 2>&1 </dev/null &'"


# A TorchTrainer's workers are forked from the zygote, a DataParallelTrainer's are started from the executable.
TRAINERS = pytest.mark.parametrize("trainer", ["DataParallelTrainer", "TorchTrainer"])


def wait_for_daemon(rtrain):
    wait_until((rtrain.folder / "daemon").exists, message="the daemon")


# fault: a worker's own children
@TRAINERS
def test_a_daemon_of_a_worker_ends_with_its_group(rtrain, cgroups, trainer):
    rtrain.run_ok(in_a_worker(DAEMON + " require('files').wait_for 'daemon'", num_workers=2, trainer=trainer))
    rtrain.wait_for_processes()


# fault: a worker's own children
def test_a_daemon_of_a_lost_worker_does_not_live_on(rtrain, cgroups):
    result = rtrain.run(
        in_a_worker(DAEMON + " require('files').wait_for 'daemon' os.execute 'kill -9 $PPID; sleep 600'")
    )
    assert result.returncode == 5, result.stderr
    rtrain.wait_for_processes()


# fault: SIGKILL of the controller
@TRAINERS
@pytest.mark.parametrize("with_children", [False, True], ids=["alone", "with its process group"])
def test_a_daemon_does_not_outlive_a_killed_controller(rtrain, cgroups, with_children, trainer):
    body = DAEMON + " train.report{} os.execute 'sleep 600'"
    running = rtrain.started("run", rtrain.script(in_a_worker(body, trainer=trainer)))
    wait_for_daemon(rtrain)
    os.killpg(running.pid, signal.SIGKILL) if with_children else running.send(signal.SIGKILL)
    running.process.wait()
    rtrain.wait_for_processes()


def zygotes(controller_pid):
    found = subprocess.run(
        ["pgrep", "-P", str(controller_pid), "-f", "--", "--worker -1"], capture_output=True, text=True
    )
    return [int(pid) for pid in found.stdout.split()]


# fault: SIGKILL of the process that workers are forked from
def test_a_run_needs_no_zygote_to_go_on(rtrain):
    body = "train.report{} require('files').wait_for 'go'"
    script = rtrain.script(in_a_worker(body, num_workers=2, trainer="TorchTrainer", max_failures=1))
    running = rtrain.started("run", script)
    [zygote] = zygotes(running.pid)
    os.kill(zygote, signal.SIGKILL)
    wait_until(lambda: not zygotes(running.pid), message="the end of the zygote")
    os.kill(rtrain.pids("outer")[0], signal.SIGKILL)
    (rtrain.folder / "go").touch()
    assert running.wait().returncode == 0, running.stderr
    assert rtrain.query("SELECT status FROM attempts ORDER BY attempt") == [("ERRORED",), ("FINISHED",)]
    rtrain.wait_for_processes()


def test_workers_can_be_started_without_a_zygote(rtrain):
    rtrain.env["RTRAIN_ZYGOTE"] = "off"
    running = rtrain.started(
        "run", rtrain.script(in_a_worker("train.report{} require('files').wait_for 'go'", trainer="TorchTrainer"))
    )
    assert zygotes(running.pid) == []
    (rtrain.folder / "go").touch()
    assert running.wait().returncode == 0, running.stderr


def test_what_the_script_itself_has_left_running_is_its_own(rtrain, cgroups):
    daemon = DAEMON.replace("sleep 600", "sleep 1")
    rtrain.run_ok(
        f"{daemon} require('files').wait_for 'daemon' require('rtrain').DataParallelTrainer(function() end):fit()"
        " os.execute 'pgrep -x sleep >alive'"
    )
    assert (rtrain.folder / "alive").read_text()


def test_a_script_is_not_left_open_for_what_it_starts(rtrain):
    script = rtrain.script("os.execute 'ls -l /proc/self/fd'")
    for command in ("exec", "run"):
        result = rtrain(command, script)
        assert result.returncode == 0 and "/proc/" in result.stdout, result.stderr
        assert script.name not in result.stdout


@pytest.mark.parametrize("command", [["ls"], ["show", "run"], ["repair"], ["run", "/dev/stdin"]])
def test_a_storage_below_a_deleted_folder_is_named(rtrain, command):
    gone = rtrain.folder / "gone"
    gone.mkdir()
    words = " ".join(command)
    script = "require('rtrain').TorchTrainer{train_loop_per_worker = function() end}:fit()"
    done = subprocess.run(
        ["bash", "-c", f"rmdir {gone}; exec {RTRAIN} {words} --storage results"],
        cwd=gone,
        env=rtrain.env,
        input=script,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 4, done.stderr
    assert "cannot find results: the current folder is gone" in done.stderr


def test_a_deleted_current_folder_is_named(rtrain):
    gone = rtrain.folder / "gone"
    gone.mkdir()
    script = rtrain.script("require('torch').ones(8, 8)")
    done = subprocess.run(
        ["bash", "-c", f"cd {gone} && rmdir {gone} && exec {RTRAIN} exec {script}"],
        env=rtrain.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 4 and "the current folder is gone" in done.stderr, done.stderr


def test_the_last_words_of_a_library_that_gives_up_are_in_the_error(rtrain):
    result = rtrain.run(in_a_worker("io.stderr:write('FATAL: no such device\\n\\n') os.exit(6)"))
    assert result.returncode == 5
    assert (
        "its process exited with code 6 before the train function returned; its last line on stderr: FATAL: no such "
        "device" in result.stderr
    )


SMALL_STACK = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer({
  train_loop_per_worker = function()
    local nn = torch.nn
    local model = train.torch.prepare_model(nn.Sequential(nn.Conv1d(1, 4, 3), nn.Flatten(), nn.Linear(24, 1)))
    local optimizer = torch.optim.Adam(model:parameters())
    for step = 1, 2 do
      optimizer:zero_grad()
      model(torch.ones(16, 1, 8)):mean():backward()
      optimizer:step()
      train.report {step = step}
    end
  end,
  scaling_config = train.ScalingConfig {num_workers = tonumber(os.getenv 'WORKERS')},
}):fit()
"""


def with_limit(rtrain, limit, workers, *command):
    return subprocess.run(
        ["bash", "-c", f'ulimit {limit} 64; exec {RTRAIN} "$@"', "bash", *command],
        cwd=rtrain.folder,
        env={**rtrain.env, "WORKERS": workers},
        capture_output=True,
        text=True,
        timeout=120,
    )


# fault: a small limit of the stack
def test_a_small_limit_of_the_stack_ends_nothing(rtrain):
    """Threads have stacks of that size too, unless the process asks for other ones."""
    script = rtrain.script(SMALL_STACK)
    code = "local torch = require 'torch'; print(torch.nn.Conv2d(1, 2, 3)(torch.ones(1, 1, 8, 8)):sum():item())"
    commands = [("1", "run", script), ("2", "run", script), ("2", "check", script), ("1", "exec", "-e", code)]
    for workers, *command in commands:
        done = with_limit(rtrain, "-S -s", workers, *command)
        assert done.returncode == 0, (command, done.returncode, done.stdout + done.stderr)


def test_a_hard_limit_of_the_stack_is_named_where_it_is_too_small(rtrain):
    script = rtrain.script(SMALL_STACK)
    for workers in ("1", "2"):
        done = with_limit(rtrain, "-s", workers, "run", script)
        assert done.returncode == 0 or "ulimit -s 8192" in done.stderr, (done.returncode, done.stdout + done.stderr)


def test_a_limit_of_addresses_is_named(rtrain):
    """The limits range from a worker that cannot load LibTorch to a worker that runs; in between, allocations fail."""
    script = rtrain.script(in_a_worker("require('torch').ones(4)"))
    for limit in (200_000, 400_000, 450_000, 500_000):
        done = subprocess.run(
            ["bash", "-c", f"ulimit -v {limit}; exec {RTRAIN} run {script} --name n{limit}"],
            cwd=rtrain.folder,
            env=rtrain.env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0 or f"`ulimit -v` allows a process {limit} KiB" in done.stderr, done.stderr
        assert "SIGABRT" not in done.stderr


@pytest.mark.parametrize(
    "name, reason",
    [
        ("rtrain.db", "the store's own files have such names"),
        ("last", "commands call the newest run that"),
        ("best:loss", "commands call the best run of a metric that"),
        ("a/b", "it has a '/'"),
        (".x", "it begins with '.'"),
        ("x" * 201, "it has 201 bytes, 200 are allowed"),
    ],
)
def test_a_name_that_no_run_can_have_is_refused_with_its_reason(rtrain, name, reason):
    result = rtrain.run("require('rtrain').DataParallelTrainer(function() end):fit()", "--name", name)
    assert result.returncode == 3 and f"cannot be a run's name: {reason}" in result.stderr, result.stderr


def test_json_that_is_none_is_told_in_plain_words(rtrain):
    (rtrain.folder / ".rtrain-checkpoint.json").write_text("{bad")
    result = rtrain("exec", rtrain.script("require('rtrain').Checkpoint.from_directory('.'):get_metadata()"))
    assert "not JSON: parse error at line 1" in result.stderr and "json.exception" not in result.stderr
