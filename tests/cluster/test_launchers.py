"""Runs that Open MPI and MPICH start on two nodes, and processes with the variables of SkyPilot, Kubernetes and
Kubeflow.
"""

import os
import re
import shlex
import shutil
import signal
import textwrap

import pytest

from conftest import RTRAIN, SOURCE, Running, nightly, wait_until
from fashion_mnist import FashionMnist
from node_scripts import script
from test_ranks import PLACES, places_of
from test_slurm import SAVING

pytestmark = nightly

NODES = "train.report{node = context:get_node_rank()}"
SKYPILOT = SOURCE / "examples" / "cluster" / "skypilot.yaml"


@pytest.fixture
def shell(rtrain, hosts):
    """shell(command, …, host=0): starts a process on that node, with rtrain on its PATH."""
    folder = rtrain.folder / "bin"
    folder.mkdir()
    (folder / "rtrain").symlink_to(RTRAIN)
    rtrain.env.update(PATH=f"{folder}:/usr/bin:/bin", RTRAIN_RUNTIME_DIR="/srv/disk/runtime")

    def start(*command, host=0, **env):
        return Running(hosts[host].command(*command, folder=rtrain.folder), rtrain.folder, {**rtrain.env, **env})

    return start


# Open MPI


@pytest.fixture
def mpi(rtrain, hosts, shell):
    """Like `shell`; mpirun reaches the nodes through a program of the test instead of ssh."""
    if shutil.which("orted") is None:
        pytest.skip("Open MPI is not installed (scripts/setup installs Debian's)")
    # As with ssh, the program passes few environment variables and no working folder.
    names = (
        "HOME",
        "PATH",
        "RTRAIN_RUNTIME_DIR",
        "RTRAIN_STORAGE",
        "RTRAIN_DATA",
        "OMP_NUM_THREADS",
        "TMPDIR",
        "LUA_PATH",
    )
    lines = [
        f'{host.name}) exec {shlex.join(host.command("env", "-i"))} {passed(names)} /bin/sh -c "$*" ;;'
        for host in hosts.hosts
    ]
    agent = rtrain.folder / "bin" / "remote"
    agent.write_text(
        "\n".join(
            ["#!/bin/bash", "while [[ $1 == -* ]]; do shift; done", "host=$1", "shift", "case $host in", *lines, "esac"]
        )
        + "\n"
    )
    agent.chmod(0o755)
    rtrain.env.update(OMPI_MCA_plm_rsh_agent=str(agent), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return shell


def passed(names):
    return " ".join(f'{name}="${name}"' for name in names)


MPIRUN = ["mpirun", "-N", "1", "--host", "n0,n1", "--bind-to", "none", "rtrain"]


def test_mpirun_has_the_parameters_of_one_machine(rtrain, mpi):
    images = FashionMnist(rtrain)
    images.check(mpi(*MPIRUN, *images.run("two")).wait())


@pytest.mark.parametrize(
    "words, counts",
    [
        ("-N 2 --host n0:2,n1:2", [2, 2]),
        ("-n 4 --map-by node --host n0:2,n1:2", [2, 2]),
        ("-n 3 --host n0:2,n1:1", [2, 1]),
    ],
)
def test_the_processes_of_mpirun_are_ranks(rtrain, mpi, words, counts):
    command = ["mpirun", *words.split(), "--bind-to", "none", "rtrain"]
    result = mpi(*command, "run", script(rtrain, PLACES), "-n", str(sum(counts))).wait()
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == places_of(counts)


def test_mpirun_ends_with_the_code_of_the_script(rtrain, mpi):
    result = mpi(*MPIRUN, "run", rtrain.script("os.exit(7)")).wait()
    assert result.returncode == 7, result.stderr


def test_what_submit_writes_for_mpirun_trains_and_saves_on_request(rtrain, mpi):
    running = mpi("rtrain", "submit", "mpi", script(rtrain, SAVING), "--nodes", "2", "--hosts", "n0,n1")
    wait_until(lambda: rtrain.query("SELECT 1 FROM reports WHERE rank = 3 LIMIT 1"), message="a report of rank 3")
    running.send(signal.SIGTERM)
    result = running.wait()
    assert result.returncode == 75, result.stderr
    assert rtrain.json("show", "nodes")["status"] == "PREEMPTED"


# MPICH


@pytest.fixture
def mpich(mpi, hosts):
    """mpich(word, …): runs MPICH's mpirun on the first node."""
    if shutil.which("mpirun.mpich") is None:
        pytest.skip("MPICH is not installed (scripts/setup installs Debian's)")
    hosts.write_names()

    def start(*words, **env):
        return mpi("mpirun.mpich", "-launcher", "ssh", "-launcher-exec", "remote", *words, RTRAIN_JOB_ID="mpich", **env)

    return start


def test_mpirun_of_mpich_has_the_parameters_of_one_machine(rtrain, mpich):
    images = FashionMnist(rtrain)
    images.check(mpich("-ppn", "1", "-hosts", "n0,n1", "rtrain", *images.run("two")).wait())


@pytest.mark.parametrize("words, counts", [("-ppn 2 -n 4 -hosts n0,n1", [2, 2]), ("-n 3 -hosts n0:2,n1:1", [2, 1])])
def test_the_processes_of_mpirun_of_mpich_are_ranks(rtrain, mpich, words, counts):
    result = mpich(
        *words.split(), "rtrain", "run", script(rtrain, PLACES), "-n", str(sum(counts)), RTRAIN_NNODES="2"
    ).wait()
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == places_of(counts)


def test_mpirun_of_mpich_ends_with_the_code_of_the_script(rtrain, mpich):
    result = mpich("-ppn", "1", "-hosts", "n0,n1", "rtrain", "run", rtrain.script("os.exit(7)")).wait()
    assert result.returncode == 7, result.stderr


# Processes with a launcher's variables


def check_run_on_both(rtrain, running):
    for result in [process.wait() for process in running]:
        assert result.returncode == 0, result.stderr
    assert [worker["host"] for worker in rtrain.json("show", "nodes")["attempts"][0]["workers"]] == [
        "n0",
        "n0",
        "n1",
        "n1",
    ]


def test_the_task_of_skypilot_is_one_run(rtrain, shell):
    text = SKYPILOT.read_text()
    nodes = int(re.search(r"^num_nodes: (\d+)$", text, re.MULTILINE).group(1))
    command = textwrap.dedent(text.split("run: |\n")[1]).replace("/results", str(rtrain.storage))
    script(rtrain, NODES)
    variables = {
        "SKYPILOT_NODE_IPS": "10.77.0.10\n10.77.0.11",
        "SKYPILOT_NUM_NODES": str(nodes),
        "SKYPILOT_NUM_GPUS_PER_NODE": "0",
        "SKYPILOT_TASK_ID": "sky-managed-2026-11-23-02-00-00-000000_train_1-0",
        "RTRAIN_SECRET": os.urandom(32).hex(),
    }
    check_run_on_both(
        rtrain,
        [shell("bash", "-c", command, host=node, **variables, SKYPILOT_NODE_RANK=str(node)) for node in range(nodes)],
    )


def test_the_pods_of_an_indexed_job_are_one_run(rtrain, hosts, shell):
    """Uses the variables that `rtrain submit k8s` writes, and the index that Kubernetes gives each pod."""
    path = script(rtrain, NODES)
    text = rtrain(
        "submit", "k8s", path, "--nodes", "2", "--image", "i", "--claim", "c", "--name", "nodes", "--dry-run"
    ).stdout
    variables = dict(re.findall(r'- name: (RTRAIN_\w+)\n +value: "?([^"\n]+)', text))
    assert variables["RTRAIN_MASTER_ADDR"] == "nodes-0.nodes"
    hosts.write_names(variables["RTRAIN_MASTER_ADDR"])
    key = rtrain.folder / "key"
    key.write_text(os.urandom(32).hex())
    key.chmod(0o400)
    variables["RTRAIN_SECRET_FILE"] = str(key)
    check_run_on_both(
        rtrain,
        [
            shell("rtrain", "run", path, "--resume", "auto", host=node, **variables, JOB_COMPLETION_INDEX=str(node))
            for node in range(2)
        ],
    )


def test_the_pods_of_kubeflow_are_one_run(rtrain, hosts, shell):
    hosts.write_names("nodes-node-0-0.nodes")
    variables = {
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "auto",
        "PET_MASTER_ADDR": "nodes-node-0-0.nodes",
        "PET_MASTER_PORT": "29400",
        "RTRAIN_SECRET": os.urandom(32).hex(),
    }
    path = script(rtrain, NODES)
    check_run_on_both(
        rtrain, [shell("rtrain", "run", path, host=node, **variables, PET_NODE_RANK=str(node)) for node in range(2)]
    )
