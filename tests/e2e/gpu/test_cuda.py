"""CUDA without a GPU: which libraries are loaded, and why no device is available.

A driver is simulated by the library of tests/fake_nvidia; the CUDA library of LibTorch is the real one.
"""

import ctypes
import pathlib
import shutil
import subprocess

import pytest

from conftest import RTRAIN
from fake_driver import simulate_driver, use_libtorch

QUESTIONS = """
    local torch = require 'torch'
    print(torch.cuda.is_available(), torch.cuda.device_count())
    print(select(2, pcall(torch.cuda.get_device_name)).message)
    print(select(2, pcall(torch.zeros, 1, {device = 'cuda'})).message)
    print(torch.ones(2):sum():item())
    """


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


without_driver = pytest.mark.skipif(has_driver(), reason="this machine has an NVIDIA driver")


@pytest.fixture
def driver(rtrain):
    """A simulated driver with two devices."""
    simulate_driver(rtrain, 2)


def cuda_of(rtrain):
    return rtrain.json("env")["cuda"]


def answers(rtrain):
    result = rtrain("exec", rtrain.script(QUESTIONS))
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@without_driver
def test_without_a_driver_everything_says_so(rtrain):
    reason = "no NVIDIA driver: libcuda.so.1 is not there"
    assert cuda_of(rtrain) == {"available": False, "devices": 0, "reason": reason, "allocator": None}
    assert f"CUDA      not available: {reason}" in rtrain("env").stdout
    available, name, zeros, total = answers(rtrain)
    assert available.split() == ["false", "0"]
    assert name == f"torch.cuda.get_device_name: no CUDA device: {reason}"
    assert zeros.startswith(f"zeros: device 'cuda' is not available: {reason}")
    assert total == "2"


def test_a_driver_that_does_not_answer_is_quoted(rtrain, driver):
    rtrain.env["FAKE_CUDA_ERROR"] = "803"
    reason = cuda_of(rtrain)["reason"]
    assert reason == "the NVIDIA driver does not answer: the driver is of another version (803)"


def test_a_process_that_may_see_no_device_has_none(rtrain, driver):
    rtrain.env["CUDA_VISIBLE_DEVICES"] = ""
    assert cuda_of(rtrain) == {
        "available": False,
        "devices": 0,
        "reason": "the NVIDIA driver shows no device (CUDA_VISIBLE_DEVICES='')",
        "allocator": None,
    }


def test_a_libtorch_without_cuda_is_named_with_its_folder(rtrain, driver):
    lib = use_libtorch(rtrain, None)
    reason = cuda_of(rtrain)["reason"]
    assert reason.startswith(f"LibTorch without CUDA: libtorch_cuda.so not found next to {lib}/libtorch_cpu.so")


# Mounts the packages elsewhere and hides their old folder: neither they nor the executable are where the build saw
# them.
DEPLOY = """
set -e
mount --bind "$1" "$2"
mount -t tmpfs tmpfs "$1"
exec "$3" exec "$4"
"""


def test_one_file_beside_a_python_environment_is_a_complete_deployment(rtrain):
    packages = pathlib.Path(rtrain.json("env")["libtorch"]["path"]).parent.parent
    environment = rtrain.folder / "environment"
    place = environment / "lib" / "python3.12" / "site-packages"
    place.mkdir(parents=True)
    executable = shutil.copy(RTRAIN, rtrain.folder / "rtrain")
    script = rtrain.script(
        "print(require('torch').ones(3):sum():item(), require('rtrain._host').env().libtorch.source)"
    )
    command = ["unshare", "--mount", "sh", "-c", DEPLOY, "sh", packages, place, executable, script]
    variables = {
        "HOME": rtrain.env["HOME"],
        "PATH": "/usr/bin:/bin",
        "VIRTUAL_ENV": str(environment),
        "RTRAIN_STORAGE": rtrain.env["RTRAIN_STORAGE"],
    }
    result = subprocess.run(command, env=variables, cwd=rtrain.folder, capture_output=True, text=True, timeout=120)
    if result.returncode != 0 and ("unshare" in result.stderr or "mount:" in result.stderr):
        pytest.skip(f"hiding a folder needs the right to mount: {result.stderr.strip()}")
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["3", "VIRTUAL_ENV"]


@pytest.fixture
def whole_libtorch(rtrain):
    if not pathlib.Path(rtrain.json("env")["libtorch"]["path"], "libtorch_cuda.so").exists():
        pytest.skip("this LibTorch has no CUDA library: scripts/setup --gpu")


@without_driver
def test_the_cuda_library_loads_and_computing_goes_on_without_a_device(rtrain, driver, whole_libtorch):
    assert cuda_of(rtrain) == {"available": True, "devices": 2, "reason": None, "allocator": None}
    # rtrain's library calls CUDA's runtime, which finds that the simulated driver is not a real one.
    available, name, zeros, total = answers(rtrain)
    assert available.split() == ["true", "2"]
    assert "CUDA driver version is insufficient" in name and "Search for" not in name
    assert "device 'cuda' is not available" in zeros
    assert total == "2"


def test_a_broken_cuda_library_is_the_reason_and_the_cpu_computes(rtrain, driver):
    use_libtorch(rtrain, "no library")
    _, name, zeros, total = answers(rtrain)
    assert "libtorch_cuda.so: file too short" in name
    assert name.split("cannot load")[1] in zeros
    assert total == "2"
