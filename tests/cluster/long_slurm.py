"""Tests of a real Slurm that take minutes: its time limits count minutes, and it needs half a minute to notice the loss
of a node.

scripts/test --cluster runs these tests.
"""

from conftest import wait_until
from test_slurm import saving_job  # noqa: F401  (a fixture)


def test_a_job_saves_before_its_time_limit_and_starts_again(saving_job):
    """The run itself watches the time limit: Slurm sends no signal in this test."""
    saving_job.submit("--time", "1", "--option=--signal=USR2@1")
    first = saving_job.finish(timeout_s=180)
    assert first["status"] == "ABORTED"
    assert first["error"]["message"].startswith("terminated: the job's time limit, in 1"), first["error"]


def test_the_loss_of_a_slurmd_starts_the_job_again(saving_job):
    user = saving_job.user
    saving_job.submit()
    user.slurm.kill_slurmd(user.slurm.hosts[1])
    wait_until(lambda: user.slurm.state(saving_job.job) == "PENDING", 180, "the job in the queue again")
    user.slurm.start_slurmd(user.slurm.hosts[1])
    first = saving_job.finish(timeout_s=180)
    assert first["status"] in ("ABORTED", "LOST"), first
