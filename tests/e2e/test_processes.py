"""What a parent leaves to a process of rtrain, and what a worker leaves to the programs that it starts."""

import os
import signal
import subprocess

import pytest
from conftest import RTRAIN

ONE_TENSOR = "require('ffi') print('sum', require('torch').ones(3):sum():item())"


def in_a_worker(body, num_workers=1):
    return f"""
        local train = require 'rtrain'
        train.DataParallelTrainer{{
          train_loop_per_worker = function()
            {body}
            train.report{{done = true}}
          end,
          scaling_config = train.ScalingConfig{{num_workers = {num_workers}}},
          run_config = train.RunConfig{{name = 'outer'}},
        }}:fit()
        """


def test_a_worker_may_start_rtrain_with_tensors(rtrain):
    rtrain.script(ONE_TENSOR, "tensor.lua")
    result = rtrain.run_ok(in_a_worker(f"assert(os.execute '{RTRAIN} exec tensor.lua' == 0)"))
    assert "[rank 0] sum\t3" in result.stdout, result.stdout


def test_a_worker_may_start_a_run(rtrain):
    """The cores of the outer run are the inner one's: it need not wait for them."""
    rtrain.script("""
        local torch, train = require 'torch', require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function() train.report{sum = torch.ones(4):sum():item()} end,
          scaling_config = train.ScalingConfig{num_workers = 1},
          run_config = train.RunConfig{name = 'inner'},
        }:fit()
        """, "inner.lua")
    rtrain.run_ok(in_a_worker(f"assert(os.execute '{RTRAIN} run inner.lua' == 0)"))
    assert rtrain.reports("inner") == [{"sum": 4}]


def test_descriptors_of_others_are_not_taken_for_the_engine(rtrain):
    rtrain.env["RTRAIN_ENGINE_FD"] = "0"  # as an older rtrain left it to its children
    assert rtrain("exec", rtrain.script(ONE_TENSOR)).stdout == "sum\t3\n"


def test_a_worker_without_its_controller_ends(rtrain):
    """Descriptors that are none: what a user gets who types the command of `ps`."""
    result = subprocess.run([RTRAIN, "--worker", "0", str(os.getpid())], env=rtrain.env, capture_output=True, text=True,
                            timeout=60)
    assert result.returncode == 2, result.stderr
    assert "a worker is started by its run alone" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV], ids=["SIGKILL", "SIGSEGV"])
def test_a_parent_that_ignores_sigchld_hides_no_death(rtrain, number):
    script = rtrain.script(in_a_worker(f"os.execute 'kill -{int(number)} $PPID; sleep 600'"))
    done = subprocess.run([RTRAIN, "run", script], cwd=rtrain.folder, env=rtrain.env, capture_output=True, text=True,
                          timeout=120, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 5, done.stderr
    assert f"killed by signal {int(number)} ({number.name})" in done.stderr


@pytest.mark.parametrize("closed", [[0, 1, 2], [0], [1, 2]], ids=["all", "stdin", "stdout and stderr"])
def test_closed_standard_streams(rtrain, closed):
    script = rtrain.script(in_a_worker("print 'into nothing' io.stderr:write 'into nothing\\n'"))

    def close():
        for fd in closed:
            os.close(fd)

    running = subprocess.Popen([RTRAIN, "run", script], cwd=rtrain.folder, env=rtrain.env, preexec_fn=close,
                               stdin=None if 0 in closed else subprocess.DEVNULL,
                               stdout=None if 1 in closed else subprocess.DEVNULL,
                               stderr=None if 2 in closed else subprocess.DEVNULL)
    assert running.wait(120) == 0
    assert rtrain.json("show", "outer")["status"] == "FINISHED"
    assert "into nothing" in rtrain("logs", "outer").stdout


@pytest.fixture
def broken_pipe():
    """The end for writing of a pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@pytest.mark.parametrize("flags", [["-n", "2"], ["--local"]], ids=["workers", "local"])
@pytest.mark.parametrize("broken", [["stdout"], ["stderr"], ["stdout", "stderr"]], ids=lambda names: " and ".join(names))
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
@pytest.mark.parametrize("command", [["ls"], ["show", "last"], ["ls", "--json"], ["env"], ["doc", "torch.add"],
                                     ["sql", "SELECT 1"], ["exec", "print.lua"], ["--help"]], ids=" ".join)
def test_a_command_that_reads_ends_with_its_reader(rtrain, broken_pipe, command, action):
    """As a shell has it: 141, without a word."""
    rtrain.run_ok("require('rtrain').DataParallelTrainer(function() end):fit()")
    rtrain.script("for i = 1, 10000 do print(i) end", "print.lua")
    done = subprocess.run([RTRAIN, *command], cwd=rtrain.folder, env=rtrain.env, stdout=broken_pipe, text=True,
                          stderr=subprocess.PIPE, timeout=60, preexec_fn=lambda: signal.signal(signal.SIGPIPE, action))
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
