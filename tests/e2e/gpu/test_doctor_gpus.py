"""rtrain doctor --train --gpus on GPUs that tests/fake_nvidia simulates, with links that are slow or broken."""

import getpass
import json
import socket

import pytest

from conftest import leftovers, nightly
from fake_driver import simulate_driver, simulate_gpus, use_libtorch

PARTS = ["graph", "links", "heal", "checkpoint"]


@pytest.fixture
def doctor(rtrain):
    """Returns the checks of `rtrain doctor --train --gpus` by name, and the finished process."""

    def run(*args):
        result = rtrain("doctor", "--train", "--json", *args, timeout=200)
        return {check["name"]: check for check in json.loads(result.stdout)["checks"]}, result

    return run


def simulate(rtrain, devices, **env):
    # A letter takes longer than what the host's own load adds to it.
    simulate_gpus(rtrain, devices, FAKE_CUDA_MEMORY=str(1 << 30), FAKE_NCCL_LETTER_MS="50", **env)


def pair(checks, first, second):
    return [
        each for each in checks["links"]["figures"]["pairs"] if sorted((each["from"], each["to"])) == [first, second]
    ]


def test_healthy_devices_and_a_report_for_an_issue(doctor, rtrain):
    simulate(rtrain, 2, FAKE_NVML_NVLINKS="1", FAKE_NVML_NVLINK_MBPS="10", SOME_TOKEN="a secret")
    rtrain.env["NCCL_DEBUG_FILE"] = f"{rtrain.env['HOME']}/nccl"
    checks, result = doctor("--gpus", "all", "--report", "report.json")
    assert result.returncode == 0, result.stdout
    tested = [check for name, check in checks.items() if name.startswith("GPU ") or name in PARTS]
    assert [check["name"] for check in tested] == ["GPU 0", "GPU 1", *PARTS]
    assert [check["status"] for check in tested] == ["ok"] * 6, tested
    assert checks["GPU 1"]["finding"].startswith("NVIDIA H100 80GB HBM3: ")
    assert checks["GPU 1"]["figures"]["error"] < 1e-5
    assert "nominal 0.01 GB/s (1 NVLink of 0.01 GB/s)" in checks["links"]["finding"]
    assert [each["state"] for each in checks["links"]["figures"]["pairs"]] == ["measured"] * 2
    assert checks["heal"]["figures"]["seconds"] > 0
    text = (rtrain.folder / "report.json").read_text()
    report = json.loads(text)
    assert report["environment"]["gpu_driver"] == "580.65.06" and len(report["wiring"]) == 2
    assert report["devices"][0]["state"]["temperature_c"] == 71
    links = next(check for check in report["checks"] if check["name"] == "links")
    assert links["table"][0].split() == ["GB/s", "from,", "to", "GPU", "0", "GPU", "1"]
    for private in (rtrain.env["HOME"], socket.gethostname(), "a secret"):
        assert private not in text
    assert getpass.getuser() in ("root",) or getpass.getuser() not in text
    assert not rtrain.storage.exists() and not leftovers(rtrain.temp)


def test_no_device(doctor, rtrain):
    simulate_driver(rtrain, 0)
    checks, result = doctor("--gpus", "all")
    assert result.returncode == 4 and result.stderr == "rtrain: what fails: GPUs\n"
    assert checks["GPUs"]["finding"].startswith("none can be used: ") and "guide/gpus" in checks["GPUs"]["mend"]


def test_more_devices_than_there_are(doctor, rtrain):
    simulate_driver(rtrain, 1)
    use_libtorch(rtrain, "is not loaded")
    checks, result = doctor("--gpus", "2")
    assert result.returncode == 4
    assert checks["GPUs"]["finding"] == "--gpus 2 asks for more than the 1 here"


def test_gpus_without_a_training_are_refused(rtrain):
    result = rtrain("doctor", "--gpus", "all")
    assert result.returncode == 2 and "--train" in result.stderr


@nightly
def test_a_slow_link_is_named(doctor, rtrain):
    simulate(rtrain, 3, FAKE_NCCL_SLOW_LINK="0-2")
    rtrain.env["NCCL_P2P_LEVEL"] = "LOC"
    checks, result = doctor("--gpus", "3")
    assert result.returncode == 0, result.stdout
    assert checks["links"]["status"] == "warning"
    assert "GPU 0 and GPU 2" in checks["links"]["finding"]
    assert "GPU 0 and GPU 1" not in checks["links"]["finding"] and "GPU 1 and GPU 2" not in checks["links"]["finding"]
    assert "NCCL_P2P_LEVEL=LOC is set: try without" in checks["links"]["mend"]
    assert checks["heal"]["status"] == "ok"


@nightly
@pytest.mark.parametrize("first, second", [(0, 1), (1, 3)])
def test_a_broken_link_is_named_and_the_test_ends(doctor, rtrain, first, second):
    simulate(rtrain, 4, FAKE_NCCL_BROKEN_LINK=f"{first}-{second}")
    checks, result = doctor("--gpus", "all", "--report", "report.json")
    assert result.returncode == 4 and result.stderr == "rtrain: what fails: links\n"
    assert checks["links"]["finding"] == f"a message between GPU {first} and GPU {second} does not arrive within 10 s"
    assert [each["state"] for each in pair(checks, first, second)] == ["hangs", "not tested"]
    assert checks["heal"]["finding"] == "not tested: it needs the links"
    report = json.loads((rtrain.folder / "report.json").read_text())
    [links] = [check for check in report["checks"] if check["name"] == "links"]
    assert "a link between two devices hangs" in links["log"]
    assert not leftovers(rtrain.temp)


@nightly
def test_a_device_that_fails_is_named_with_its_error(doctor, rtrain):
    simulate(rtrain, 2, FAKE_CUDA_LAUNCH_ERROR="700", FAKE_CUDA_GOOD_LAUNCHES="1")
    checks, result = doctor("--gpus", "all")
    assert result.returncode == 4
    assert checks["GPU 0"]["status"] == "failure" and "illegal memory access" in checks["GPU 0"]["finding"]


@nightly
def test_one_device(doctor, rtrain):
    simulate(rtrain, 1)
    checks, result = doctor("--gpus", "1")
    assert result.returncode == 0, result.stdout
    assert checks["links"]["finding"] == "one device has none to others"
    assert "it takes two to go on after a loss" in checks["heal"]["finding"]
    assert checks["checkpoint"]["status"] == "ok"


@nightly
def test_lines_with_a_table(rtrain):
    simulate(rtrain, 2)
    result = rtrain("doctor", "--train", "--gpus", "all", timeout=200)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line[9:].startswith("links"))
    assert lines[at + 1].split()[:3] == ["GB/s", "from,", "to"]
    assert [line.split()[:3] for line in lines[at + 2 : at + 4]] == [
        ["GPU", "0", "-"],
        ["GPU", "1", lines[at + 3].split()[2]],
    ]
