"""The records of a run about its devices, and messages for device errors. tests/fake_nvidia simulates the driver."""

import json
import os
import signal

import pytest

from conftest import wait_until
from fake_driver import uuid
from test_gpus import host, script  # noqa: F401

FALLEN = "XID 79: the device has fallen off the bus"


@pytest.fixture
def waiting(host):
    """Starts a run on that many devices, which continues once its file `go` exists."""

    def start(devices, scaling, **env):
        rtrain = host(devices, RTRAIN_GPU_SAMPLE_S="0.05", **env)
        go = rtrain.folder / "go"
        return rtrain, rtrain.started("run", rtrain.script(script(scaling, wait=f"'{go}'"))), go

    return start


def test_what_devices_do_is_a_series_of_each_rank(waiting):
    rtrain, running, go = waiting(2, "num_workers = 2, use_gpu = true")

    def points(key, rank):
        result = rtrain("metrics", "run", "--series", key, "--json")
        return [row["value"] for row in json.loads(result.stdout or "[]") if row["rank"] == rank]

    wait_until(lambda: len(points("gpu/power_w", 0)) > 2, message="samples")
    go.touch()
    assert running.wait().returncode == 0, running.stderr
    assert set(points("gpu/utilization_percent", 0)) == {97} and set(points("gpu/utilization_percent", 1)) == {0}
    assert set(points("gpu/temperature_c", 0)) == {71} and set(points("gpu/slowed", 0)) == {1}
    workers = rtrain.json("show", "run")["attempts"][0]["workers"]
    assert workers[0]["gpu"] == {
        "memory_used_bytes": 20 << 30,
        "power_w": 699.5,
        "slowed": 1,
        "temperature_c": 71,
        "utilization_percent": 97,
    }
    assert workers[1]["gpu"]["utilization_percent"] == 0
    assert "rank 0 cuda:0: 97 % busy, 21.5 GB in use, 700 W, 71 °C, slowed down" in rtrain("show", "run").stdout
    texts = [row[0] for row in rtrain.query("SELECT text FROM events")]
    assert f"rank 1: cuda:1 is NVIDIA H100 80GB HBM3 ({uuid(1)})" in texts


# fault: GPU falls off the bus
def test_an_error_of_a_device_is_told_and_explains_a_death(waiting):
    rtrain, running, _ = waiting(2, "num_workers = 2, use_gpu = true", FAKE_NVML_XID="79")
    line = f"rank 1: its device cuda:1 (NVIDIA H100 80GB HBM3, {uuid(1)}) reports {FALLEN}"
    wait_until(lambda: line in running.stderr, message="the notice")
    os.kill(rtrain.pids("run")[1], signal.SIGKILL)
    assert running.wait().returncode == 5, running.stderr
    assert f"; its device cuda:1 had reported {FALLEN}" in running.stderr
    assert any(line in row[0] for row in rtrain.query("SELECT text FROM events WHERE level = 'warning'"))


def test_parts_of_a_device_keep_their_names(waiting):
    part = uuid(0).replace("GPU-", "MIG-")
    rtrain, running, go = waiting(
        2,
        "num_workers = 1, use_gpu = true",
        FAKE_CUDA_NAME="NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        CUDA_VISIBLE_DEVICES=f"{part},{part[:-1]}1",
    )
    wait_until(lambda: rtrain.json("show", "run")["attempts"][0]["workers"][0]["gpu"], message="a sample")
    assert [gpu["uuid"] for gpu in rtrain.json("resources")["leases"][0]["gpus"]] == [part]
    go.touch()
    assert running.wait().returncode == 0, running.stderr
    assert rtrain.reports("run")[0]["visible"] == part
    gpu = rtrain.json("show", "run")["attempts"][0]["workers"][0]["gpu"]
    assert gpu["memory_used_bytes"] == 3 << 30 and "utilization_percent" not in gpu
