"""A run in a scheduler's job saves before the time limit, and the job is requeued. squeue and scontrol are simulated.

tests/cluster/ tests the same with a real Slurm.
"""

import signal

import pytest

from conftest import wait_until

TRAIN = """
local train = require 'rtrain'
train.DataParallelTrainer({
  train_loop_per_worker = function()
    while true do
      train.tempdir(function(dir)
        train.report({}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
      os.execute('sleep 0.02')
    end
  end}):fit()
"""

# Variables of a batch script on one node.
SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NUM_NODES": "1",
    "SLURM_NNODES": "1",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
}


@pytest.fixture
def slurm(rtrain):
    """Fixture slurm(time_left, state): puts a squeue on the PATH, and a scontrol that records its arguments."""
    folder = rtrain.folder / "bin"
    folder.mkdir()

    def program(name, text):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)

    def make(time_left="UNLIMITED", state="RUNNING", scontrol=f'echo "$@" >>{rtrain.folder}/asked'):
        program("squeue", f'case "$*" in *TimeLeft*) echo "{time_left}" ;; *) echo {state} ;; esac')
        program("scontrol", scontrol)
        return rtrain

    rtrain.env.update(SLURM, PATH=f"{folder}:/usr/bin:/bin")
    return make


def asked(rtrain):
    path = rtrain.folder / "asked"
    return path.read_text() if path.exists() else None


def terminated(rtrain, *args):
    running = rtrain.started("run", rtrain.script(TRAIN), *args)
    running.send(signal.SIGTERM)
    return running.wait()


def test_a_preempted_run_puts_its_job_into_the_queue(slurm):
    rtrain = slurm()
    result = terminated(rtrain)
    assert (result.returncode, asked(rtrain)) == (75, "requeue 7\n"), result.stderr
    assert rtrain.json("show", "train-7")["attempts"][0]["error"]["message"] == "terminated: SIGTERM"


def test_a_job_that_slurm_is_ending_stays_out_of_the_queue(slurm):
    rtrain = slurm(state="COMPLETING")
    result = terminated(rtrain)
    assert (result.returncode, asked(rtrain)) == (75, None)
    assert "does not start again" not in result.stderr


def test_why_a_job_does_not_start_again_is_shown(slurm):
    result = terminated(slurm(scontrol="echo 'Requested operation is presently disabled for job 7' >&2; exit 1"))
    assert result.returncode == 75
    assert "rtrain: the job does not start again by itself: " in result.stderr
    assert result.stderr.endswith(": Requested operation is presently disabled for job 7\n")


def test_a_run_that_was_not_preempted_asks_for_nothing(slurm):
    rtrain = slurm()
    assert rtrain.run("os.exit(7)").returncode == 7
    running = rtrain.started("run", rtrain.script(TRAIN))
    running.send(signal.SIGINT)
    assert running.wait().returncode == 130
    assert asked(rtrain) is None


@pytest.mark.parametrize("args", [[], ["--local"]], ids=["workers", "local mode"])
def test_a_run_saves_before_its_jobs_time_limit(slurm, args):
    rtrain = slurm(time_left="0:01")
    result = rtrain("run", rtrain.script(TRAIN), *args)
    assert (result.returncode, asked(rtrain)) == (75, "requeue 7\n"), result.stderr
    assert "rtrain: the job's time limit, in 0 s: the run stops at its next checkpoint" in result.stderr
    assert (
        rtrain.json("show", "train-7")["attempts"][0]["error"]["message"] == "terminated: the job's time limit, in 0 s"
    )


def test_a_time_limit_that_is_not_known_is_named(slurm):
    rtrain = slurm(time_left="slurm_load_jobs error: Unable to contact slurm controller")
    running = rtrain.started("run", rtrain.script(TRAIN))
    text = (
        "the time limit of the job is not known: squeue -h -j 7 -O TimeLeft: slurm_load_jobs error: Unable to contact"
    )
    wait_until(lambda: text in running.stderr, message="the notice")
    running.send(signal.SIGTERM)
    assert running.wait().returncode == 75


def test_a_sites_launcher_has_its_own_commands(rtrain):
    launcher = rtrain.script(
        """
        local site = {name = 'site'}
        function site.detect() return true end
        function site.allocation(_, facts)
          facts:set('num_nodes', 1, 'SITE')
          facts:set('job_id', '9', 'SITE')
          facts:set('is_batch', true, 'SITE')
          facts:set('time_left_command', 'echo 0:01', 'SITE')
          facts:set('requeue_command', 'echo again >>asked', 'SITE')
        end
        return site
    """,
        "site.lua",
    )
    result = rtrain("run", rtrain.script(TRAIN), "--launcher", launcher)
    assert (result.returncode, asked(rtrain)) == (75, "again\n"), result.stderr
    assert rtrain.json("show", "train-9")["status"] == "PREEMPTED"


def test_env_shows_the_commands(slurm):
    found = slurm().json("env")["launcher"]
    assert found["time_left_command"] == "squeue -h -j 7 -O TimeLeft"
    assert "scontrol requeue 7" in found["requeue_command"]
