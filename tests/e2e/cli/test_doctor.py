"""rtrain doctor: its checks on a healthy machine, and its findings for injected faults."""

import json
import os
import re
import subprocess

import pytest

from conftest import RTRAIN, leftovers
from fake_driver import simulate_driver, simulate_gpus, use_libtorch

NAMES = [
    "LibTorch",
    "Arrow",
    "XGBoost",
    "LightGBM",
    "CUDA",
    "processor",
    "memory",
    "shared memory",
    "open files",
    "processes",
    "limits",
    "clock",
    "cores on lease",
    "temporary folder",
    "storage",
    "run store",
    "loopback",
    "host name",
]


@pytest.fixture
def doctor(rtrain):
    """Returns the checks of `rtrain doctor --json` by name, its exit code and its stderr."""

    def run(*args, shell="", **env):
        result = subprocess.run(
            ["/bin/sh", "-c", f'{shell} exec "$0" doctor --json "$@"', RTRAIN, *args],
            cwd=rtrain.folder,
            env={**rtrain.env, **env},
            capture_output=True,
            text=True,
            timeout=300,
        )
        document = json.loads(result.stdout)
        return {check["name"]: check for check in document["checks"]}, document["status"], result

    return run


def assert_fails(doctor, name, finding, mend, **faults):
    """Asserts that this check alone fails, with this finding and this advice."""
    checks, status, result = doctor(**faults)
    failed = [check["name"] for check in checks.values() if check["status"] == "failure"]
    assert failed == [name] and status == "failure"
    assert finding in checks[name]["finding"] and mend in checks[name]["mend"]
    assert result.returncode == 4 and result.stderr == f"rtrain: what fails: {name}\n"


def test_each_thing_is_looked_at_and_nothing_is_left_behind(doctor, rtrain):
    checks, status, result = doctor()
    assert list(checks) == [name for name in NAMES if name in checks] and set(NAMES) - set(checks) == set()
    assert result.returncode == 0 and status in ("ok", "warning"), result.stdout
    assert (
        re.match(r"(2\.\d+)\.\S+, with the engine for \1  ", checks["LibTorch"]["finding"])
        and "loaded and used" in checks["LibTorch"]["finding"]
    )
    assert all((check["mend"] is None) == (check["status"] == "ok") for check in checks.values())
    assert not rtrain.storage.exists() and leftovers(rtrain.folder) == ["tmp"]


def test_a_line_for_each(rtrain):
    result = rtrain("doctor")
    lines = result.stdout.splitlines()
    assert result.returncode == 0
    for name in NAMES:
        assert any(line[9:].startswith(name) and line.split()[0] in ("ok", "warning") for line in lines), name
    assert lines[-1].startswith("nothing fails")


def test_two_ranks_train_in_a_store_that_is_removed(doctor, rtrain):
    checks, _, result = doctor("--train")
    assert result.returncode == 0, result.stdout
    assert checks["training"]["finding"].startswith("2 ranks have trained, reported and saved in ")
    assert not rtrain.storage.exists() and not leftovers(rtrain.temp)


def test_two_ranks_train_on_one_core(doctor):
    core = min(os.sched_getaffinity(0))
    checks, _, _ = doctor("--train", shell=f"taskset -cp {core} $$ >/dev/null;")
    assert checks["training"]["status"] == "ok", checks["training"]


def test_a_training_that_fails_says_why(doctor, rtrain):
    checks, status, result = doctor("--train", RTRAIN_FAULT="ckpt.rename:1:kill")
    assert status == "failure" and result.returncode == 4
    assert "the self-test ends with code" in checks["training"]["finding"]
    assert not leftovers(rtrain.temp)


def test_no_libtorch(doctor, rtrain):
    assert_fails(
        doctor,
        "LibTorch",
        f"{rtrain.folder} (RTRAIN_LIBTORCH): no libtorch_cpu.so",
        "pip install torch~=2.",
        RTRAIN_LIBTORCH=str(rtrain.folder),
    )


def test_a_libtorch_that_does_not_load(doctor, rtrain):
    folder = rtrain.folder / "torch"
    (folder / "lib").mkdir(parents=True)
    for name in ("libtorch_cpu.so", "libc10.so", "libtorch.so"):
        (folder / "lib" / name).write_bytes(b"no library")
    minor = rtrain.json("env")["libtorch"]["engine"]
    (folder / "version.py").write_text(f"__version__ = '{minor}.0+cpu'\ncuda = None\ngit_version = 'abc'\n")
    checks, _, result = doctor(RTRAIN_LIBTORCH=str(folder), RTRAIN_LIBTORCH_ANY="1")
    assert result.returncode == 4 and checks["LibTorch"]["status"] == "failure"
    assert "a process that loads it ends with code 4: " in checks["LibTorch"]["finding"], checks["LibTorch"]


def test_no_arrow_is_a_warning(doctor, rtrain):
    checks, status, result = doctor(RTRAIN_ARROW=str(rtrain.folder))
    assert checks["Arrow"]["status"] == "warning" and "pyarrow" in checks["Arrow"]["mend"]
    assert status == "warning" and result.returncode == 0


def test_a_storage_folder_that_cannot_be_written(doctor, rtrain):
    (rtrain.folder / "file").write_text("")
    assert_fails(
        doctor,
        "storage",
        f"cannot write in {rtrain.folder}/file: Not a directory",
        "RTRAIN_STORAGE",
        RTRAIN_STORAGE=str(rtrain.folder / "file" / "storage"),
    )


def test_a_damaged_store(doctor, rtrain):
    rtrain.storage.mkdir()
    (rtrain.storage / "rtrain.db").write_bytes(b"no database" * 1000)
    assert_fails(doctor, "runs", "rtrain.db", "rtrain gc --rebuild")


def test_a_disk_with_little_space(doctor, small_disk):
    checks, _, result = doctor(RTRAIN_STORAGE=str(small_disk("64m")))
    assert result.returncode == 0 and checks["storage"]["status"] == "warning"
    assert "free" in checks["storage"]["finding"] and "rtrain gc" in checks["storage"]["mend"]


def test_few_open_files(doctor):
    assert_fails(doctor, "open files", "64 at most", "ulimit -n", shell="ulimit -n 64;")
    checks, _, result = doctor(shell="ulimit -n 512;")
    assert checks["open files"]["status"] == "warning" and result.returncode == 0


@pytest.mark.parametrize("limit, mend", [("-f 2000000", "ulimit -f"), ("-v 6000000", "ulimit -v")])
def test_limits_that_a_run_may_meet(doctor, limit, mend):
    checks, _, result = doctor(shell=f"ulimit {limit};")
    assert checks["limits"]["status"] == "warning" and mend in checks["limits"]["mend"]
    assert result.returncode == 0


def test_a_runtime_folder_that_is_open_to_others(doctor, rtrain):
    folder = rtrain.folder / "open"
    folder.mkdir()
    folder.chmod(0o777)
    assert_fails(doctor, "cores on lease", str(folder), "RTRAIN_RUNTIME_DIR", RTRAIN_RUNTIME_DIR=str(folder))


def test_no_temporary_folder(doctor, rtrain):
    assert_fails(
        doctor,
        "temporary folder",
        f"there is no folder {rtrain.folder}/none",
        "TMPDIR",
        TMPDIR=str(rtrain.folder / "none"),
    )


def test_gpus_are_used_and_one_that_fails_is_a_failure(doctor, rtrain):
    simulate_gpus(rtrain, 2)
    checks, _, result = doctor()
    assert result.returncode == 0, result.stdout
    assert checks["CUDA"]["finding"].startswith("2 devices") and "loaded and used" in checks["CUDA"]["finding"]
    assert checks["NCCL"]["status"] == "ok"
    assert_fails(doctor, "CUDA", "a process that loads it ends with code", "nvidia-smi", FAKE_CUDA_LAUNCH_ERROR="700")


def test_gpus_without_the_library_for_them_are_a_warning(doctor, rtrain):
    use_libtorch(rtrain, None)
    simulate_driver(rtrain, 1)
    checks, _, result = doctor()
    assert checks["CUDA"]["status"] == "warning" and "rtrain env" in checks["CUDA"]["mend"]
    assert result.returncode == 0, result.stdout
