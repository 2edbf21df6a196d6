"""Runs in jobs of a real Slurm of two nodes (slurm.py): what srun and sbatch start, and the commands for a live run."""

import hashlib
import json
import os
import re

import pytest
from conftest import RTRAIN, Running, wait_until
from test_examples import example, with_images
from test_nodes import script


class User:
    """Somebody who is logged in on n0."""

    def __init__(self, rtrain, slurm):
        self.rtrain, self.slurm = rtrain, slurm

    def start(self, *command):
        """On n0, with the variables of rtrain.env."""
        env = {**self.rtrain.env, **self.slurm.env}
        return Running(self.slurm.hosts[0].command(*command, folder=self.rtrain.folder), self.rtrain.folder, env)

    def __call__(self, *command, timeout=120):
        return self.start(*command).wait(timeout)

    def srun(self, *args):
        """`srun rtrain …` on both nodes."""
        return self.start("srun", "-K", "-N2", "--ntasks-per-node=1", "--cpus-per-task=2", RTRAIN, *args)

    def command(self, *args):
        """What an rtrain command on n0 prints."""
        result = self(RTRAIN, *args)
        assert result.returncode == 0, (args, result.stdout, result.stderr)
        return result.stdout


@pytest.fixture
def user(rtrain, slurm):
    return User(rtrain, slurm)


def parameters(rtrain, run):
    """A hash of the newest checkpoint's file, which is the same where every bit of the state is."""
    newest = [each for each in rtrain.json("checkpoints", run) if each["latest"]][0]
    return hashlib.sha256((rtrain.run_folder(run) / "checkpoints" / newest["name"] / "model.pt").read_bytes()).hexdigest()


def test_fashion_mnist_has_the_parameters_of_one_machine(user, rtrain):
    with_images(rtrain, 512, 200)
    args = ["run", example("fashion_mnist"), "-n", "4", "--set", "batch_size=16", "--set", "epochs=2"]
    result = user.srun(*args, "--name", "two").wait()
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"test accuracy [01]\.\d{4}\n", result.stdout), "the script's own output, once"
    assert [worker["host"] for worker in rtrain.json("show", "two")["attempts"][0]["workers"]] == ["n0", "n0", "n1", "n1"]
    alone = user(RTRAIN, *args, "--name", "one", "--oversubscribe")
    assert alone.returncode == 0, alone.stderr
    assert parameters(rtrain, "two") == parameters(rtrain, "one")
    assert rtrain.reports("two") == rtrain.reports("one")


@pytest.mark.parametrize("text, code", [("os.exit(7)", 7), ("error('before fit')", 1)])
def test_the_job_ends_with_the_code_of_the_script(user, rtrain, text, code):
    result = user.srun("run", rtrain.script(text)).wait()
    assert result.returncode == code, result.stderr


def test_commands_for_a_live_run(user, rtrain):
    body = """
    print('rank ' .. context:get_world_rank())
    repeat
      train.report{sum = torch.ones(8):sum():item()}
      os.execute('sleep 0.02')
    until train.stop_requested()
"""
    running = user.srun("run", script(rtrain, body))
    rtrain.wait_for_reports(running, 3)
    assert re.search(r"^nodes +RUNNING ", user.command("ls"), re.MULTILINE)
    assert rtrain.json("show", "nodes")["attempts"][0]["status"] == "RUNNING"
    assert user.command("metrics", "nodes").count("\n") > 3
    for rank in range(4):
        wait_until(lambda rank=rank: f"rank {rank}\n" in user.command("logs", "nodes", "--rank", rank), message=f"output of rank {rank}")
    stacks = user.command("stack", "nodes")
    assert all(f"rank {rank} (pid" in stacks for rank in range(4)), stacks
    profiles = json.loads(user.command("profile", "nodes", "--rank", "all", "--steps", "2", "--json"))["profiles"]
    assert [(each["rank"], os.path.exists(each["path"])) for each in profiles] == [(rank, True) for rank in range(4)]
    assert user.command("stop", "nodes")
    result = running.wait()
    assert result.returncode == 130, result.stderr
    assert rtrain.json("show", "nodes")["status"] == "ABORTED"
