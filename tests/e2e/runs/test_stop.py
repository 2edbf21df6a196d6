"""rtrain stop RUN: the control socket of a live run."""

import json
import os
import signal

from conftest import leftovers
from test_signals import DEAF, POLLING, script, told_at


def test_stop_ends_a_run_in_order_and_its_socket_goes_with_it(rtrain):
    running = rtrain.started("run", rtrain.script(script(POLLING)))
    assert [name for name in os.listdir(rtrain.runtime) if name.endswith(".sock")]
    stop = rtrain("stop", "last", "--json")
    assert stop.returncode == 0, stop.stderr
    assert json.loads(stop.stdout)["status"] == "ABORTED"
    assert json.loads(stop.stdout)["pid"] == running.pid
    result = running.wait()
    assert result.returncode == 130, result.stderr
    assert len(set(told_at(result))) == 1
    assert "`rtrain stop`: the run stops at its next checkpoint" in result.stderr
    assert not [name for name in leftovers(rtrain.runtime) if name.endswith(".sock")]
    over = rtrain("stop", "stopped")
    assert over.returncode == 2 and "is over: ABORTED" in over.stderr


def test_stop_now_kills_a_run_that_does_not_listen(rtrain):
    running = rtrain.started("run", rtrain.script(script(DEAF)))
    stop = rtrain("stop", "stopped", "--now")
    assert stop.returncode == 0, stop.stderr
    assert stop.stdout == "run stopped ABORTED\n"
    assert running.wait().returncode == 130
    rtrain.wait_for_processes()


def test_stop_of_a_run_that_cannot_be_reached_says_where_it_is(rtrain, tmp_path):
    running = rtrain.started("run", rtrain.script(script(POLLING)))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    rtrain.env["RTRAIN_RUNTIME_DIR"] = str(elsewhere)
    stop = rtrain("stop", "stopped")
    assert stop.returncode == 4, stop.stderr
    assert os.uname().nodename in stop.stderr and "RTRAIN_RUNTIME_DIR" in stop.stderr
    running.send(signal.SIGTERM)
    assert running.wait().returncode == 75


def test_sockets_of_killed_controllers_are_removed_by_the_next_run(rtrain):
    running = rtrain.started("run", rtrain.script(script(POLLING)))
    running.send(signal.SIGKILL)
    running.process.wait()
    rtrain.wait_for_processes()
    lost = rtrain("stop", "stopped")
    assert lost.returncode == 2 and "LOST" in lost.stderr
    rtrain.run_ok(script("return"), "--name", "next")
    assert not [name for name in leftovers(rtrain.runtime) if name.endswith(".sock")]


def test_a_dozen_runs_that_stop_themselves_leave_no_rank_behind(rtrain):
    """Runs the stress test of the stop agreement, tests/unit/decide/stop_agreement_test.cpp, with real processes."""
    result = rtrain.run_ok("""
local train = require 'rtrain'
for i = 1, 12 do
  train.DataParallelTrainer{
    train_loop_per_worker = function()
      for step = 1, math.huge do
        if train.stop_requested() then return print('told at ' .. i .. ' ' .. step) end
        train.report{step = step}
        train.collective.barrier()
      end
    end,
    scaling_config = train.ScalingConfig{num_workers = 3},
    run_config = train.RunConfig{name = 'run-' .. i, stop = {step = 3 + i}},
  }:fit()
end
""")
    told = told_at(result)
    assert len(told) == 36
    assert len(set(told)) == 12, "each run's ranks got the request at one step"


# Sleeps for longer than a test may take, after a report.
SLEEPING = """
local train = require 'rtrain'
train.DataParallelTrainer{
  train_loop_per_worker = function()
    train.report{step = 1}
    %s
    train.time.sleep(3600)
    print 'awake'
  end,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'stopped'},
}:fit()
"""


def test_a_stop_ends_a_sleep(rtrain):
    running = rtrain.started("run", rtrain.script(SLEEPING % ""))
    assert rtrain("stop", "stopped", "--now").returncode == 0
    result = running.wait()
    assert result.returncode == 130 and "awake" not in result.stdout, result.stderr
    rtrain.wait_for_processes()


def test_an_error_of_another_rank_ends_a_sleep(rtrain):
    broken = "if train.get_context():get_world_rank() == 1 then error 'broken' end"
    result = rtrain("run", rtrain.script(SLEEPING % broken))
    assert result.returncode == 1 and "rank 1 raised an error" in result.stderr and "awake" not in result.stdout
