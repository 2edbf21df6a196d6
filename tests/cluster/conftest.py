"""Provides the fixtures of tests/e2e, and jobs over nodes that are network namespaces (hosts.py)."""

import itertools
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
E2E = HERE.parent / "e2e"
sys.path[:0] = [str(HERE), str(E2E)]

from borrowed import NAMES, e2e

globals().update(NAMES)

pytest.register_assert_rewrite("fashion_mnist", "faulted_run", "hosts", "node_scripts", "ray_cluster", "slurm")

import hosts as hosts_module
import slurm as slurm_module
from launchers import Task
from launchers import slurm as slurm_variables

_jobs = itertools.count(os.getpid() * 100)


class Job:
    """Runs `rtrain run` on some nodes of a job. Its launcher starts `counts` tasks on each node and sets its variables
    for them; the ranks in `without` are not started.
    """

    def __init__(
        self,
        rtrain,
        hosts,
        *args,
        nodes=(0, 1),
        counts=(1, 1),
        launcher=slurm_variables,
        without=(),
        runtimes=None,
        env=None,
        env_of=None,
    ):
        self.rtrain, self.hosts, self.args, self.launcher = rtrain, hosts, args, launcher
        self.id = next(_jobs)
        self.env, self.env_of = env or {}, env_of or {}  # env: for all processes, env_of: for those of one node
        self.rendezvous = rtrain.folder / f"rendezvous-{self.id}"
        self.runtimes = dict(runtimes or {})  # runtime folders of nodes; the others get new folders
        self.counts = counts
        tasks = [Task(node, local_rank, counts) for node in nodes for local_rank in range(counts[node])]
        self.tasks = [task for task in tasks if task.rank not in without]
        self.processes = [self.start(task) for task in self.tasks]

    def start(self, task, program=e2e.RTRAIN):
        """Starts the process of the task, for the first time or again."""
        if task.node not in self.runtimes:
            self.runtimes[task.node] = tempfile.mkdtemp(prefix="rt-", dir="/tmp")
            self.rtrain.temporary.append(self.runtimes[task.node])
        variables = {name: str(value) for name, value in self.launcher(task, self.id).items()}
        env = {
            **self.rtrain.env,
            "RTRAIN_RUNTIME_DIR": self.runtimes[task.node],
            "RTRAIN_RENDEZVOUS": str(self.rendezvous),
            **variables,
            **self.env,
            **self.env_of.get(task.node, {}),
        }
        command = self.hosts[task.node].command(program, *self.args, folder=self.rtrain.folder)
        return e2e.Running(command, self.rtrain.folder, env)

    def add(self, node):
        """Starts the first task of a node that was left out."""
        self.tasks.append(Task(node, 0, self.counts))
        self.processes.append(self.start(self.tasks[-1]))

    def start_again(self, number):
        """Starts a process in place of one that has ended."""
        self.processes[number] = self.start(self.tasks[number])
        return self.processes[number]

    def wait(self, timeout=120):
        return [process.wait(timeout) for process in self.processes]

    def kill(self):
        for process in self.processes:
            process.kill()


class SlurmUser:
    """A user who is logged in on the first node of a Slurm cluster."""

    def __init__(self, rtrain, slurm):
        self.rtrain, self.slurm = rtrain, slurm

    def start(self, *command):
        """Starts a command with the variables of rtrain.env."""
        env = {**self.rtrain.env, **self.slurm.env}
        return e2e.Running(self.slurm.hosts[0].command(*command, folder=self.rtrain.folder), self.rtrain.folder, env)

    def __call__(self, *command, timeout=120):
        return self.start(*command).wait(timeout)

    def srun(self, *args, tasks=1):
        """Runs `srun rtrain …` on both nodes, with `tasks` tasks on each."""
        shape = [f"--ntasks-per-node={tasks}", f"--cpus-per-task={2 // tasks}"]
        return self.start("srun", "-K", "-N2", *shape, e2e.RTRAIN, *args)

    def command(self, *args):
        """Returns the output of an rtrain command on the first node."""
        result = self(e2e.RTRAIN, *args)
        assert result.returncode == 0, (args, result.stdout, result.stderr)
        return result.stdout


def made_hosts(folder, **options):
    reason = hosts_module.missing()
    if reason:
        pytest.skip(reason)
    made = hosts_module.Hosts(folder, **options)
    yield made
    made.end()


@pytest.fixture
def hosts(tmp_path):
    yield from made_hosts(tmp_path / "hosts")


@pytest.fixture
def three_hosts(tmp_path):
    yield from made_hosts(tmp_path / "hosts", count=3)


@pytest.fixture
def job(rtrain, hosts):
    """Starts a job: job('run', script, …), or a part of it: job(…, nodes=[0]). Kills the processes that the test
    leaves.
    """
    rtrain.temporary = []
    started = []

    def start(*args, **options):
        started.append(Job(rtrain, hosts, *args, **options))
        return started[-1]

    yield start
    for each in started:
        each.kill()
    for folder in rtrain.temporary:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def slurm(rtrain):
    """A Slurm cluster of two nodes. Processes started with rtrain.env have separate runtime folders there."""
    reason = hosts_module.missing() or slurm_module.missing()
    if reason:
        pytest.skip(reason)
    made = hosts_module.Hosts(rtrain.folder / "hosts", own_pids=True)
    try:
        rtrain.env["RTRAIN_RUNTIME_DIR"] = "/srv/disk/runtime"
        yield slurm_module.Slurm(rtrain.folder / "slurm", made)
    finally:
        made.end()


@pytest.fixture
def user(rtrain, slurm):
    return SlurmUser(rtrain, slurm)
