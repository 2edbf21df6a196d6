"""Runs in the bundles of a placement group of a real Ray cluster of two nodes (ray_cluster.py).

scripts/test --cluster --oracle runs these tests, and installs Ray.
"""

import os
import pathlib
import signal

import pytest

import hosts as hosts_module
import ray_cluster
from conftest import RTRAIN, Running, wait_until
from fashion_mnist import FashionMnist
from node_scripts import script
from test_slurm import SAVING


@pytest.fixture
def images(rtrain):
    return FashionMnist(rtrain)


@pytest.fixture
def submit(rtrain, images):  # the variable with the path of the images must exist when Ray's nodes start
    """submit(args, …): runs `rtrain submit ray` on the first node, for two bundles of two cores."""
    reason = hosts_module.missing() or ray_cluster.missing()
    if reason:
        pytest.skip(reason)
    made = hosts_module.Hosts(rtrain.folder / "hosts", own_pids=True)
    try:
        rtrain.env["RTRAIN_RUNTIME_DIR"] = "/srv/disk/runtime"
        cluster = ray_cluster.RayCluster(rtrain.folder / "ray", made, rtrain.env)

        def start(*args):
            words = [
                RTRAIN,
                "submit",
                "ray",
                *args,
                "--nodes",
                "2",
                "--cpus-per-task",
                "2",
                "--python",
                cluster.python,
                "--address",
                cluster.address,
            ]
            return Running(made[0].command(*words, folder=rtrain.folder), rtrain.folder, cluster.env)

        yield start
    finally:
        made.end()


def test_the_driver_has_the_parameters_of_one_machine(images, submit):
    _, path, *options = images.run("two")
    images.check(submit(path, *options).wait())


def test_the_driver_ends_with_the_code_of_the_script(rtrain, submit):
    result = submit(rtrain.script("os.exit(7)")).wait()
    assert result.returncode == 7, result.stderr


def child_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())


def test_a_signal_to_the_driver_saves_a_checkpoint(rtrain, submit):
    running = submit(script(rtrain, SAVING))
    wait_until(lambda: rtrain.query("SELECT 1 FROM reports WHERE rank = 3 LIMIT 1"), message="a report of rank 3")
    os.kill(child_of(running.pid), signal.SIGTERM)  # the child of nsenter, which does not forward signals
    result = running.wait()
    assert result.returncode == 75, result.stderr
    assert rtrain.json("show", "nodes")["status"] == "PREEMPTED"
