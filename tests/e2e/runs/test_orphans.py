"""No process of a run outlives its controller or its worker."""

import os
import signal

from conftest import ENDLESS, processes_of, wait_until


def test_no_orphans_when_the_controller_is_killed(rtrain):
    running = rtrain.started("run", rtrain.script(ENDLESS))
    assert len(processes_of(rtrain.storage)) >= 3
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait()
    rtrain.wait_for_processes()
    assert rtrain.reports("endless"), "the store is readable"


def test_no_orphans_when_a_stuck_groups_controller_is_killed(rtrain):
    running = rtrain.start(
        "run",
        rtrain.script("""
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            io.open('ready-' .. train.get_context():get_world_rank(), 'w'):close()
            while true do end
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
        }:fit()
        """),
    )
    wait_until(lambda: all((rtrain.folder / f"ready-{rank}").exists() for rank in range(2)), message="the start")
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait()
    rtrain.wait_for_processes()


# fault: a worker's own children
def test_a_grandchild_does_not_outlive_its_worker(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            os.execute('sleep 600 &')
            error('on purpose')
          end,
          scaling_config = train.ScalingConfig{num_workers = 1},
        }:fit()
        """)
    assert result.returncode == 1
    rtrain.wait_for_processes()
