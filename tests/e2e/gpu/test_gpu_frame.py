"""tests/gpu/run.py without a GPU: it lists the tests, runs files and reads their results."""

import json
import subprocess
import sys

from conftest import RTRAIN, SOURCE
from fake_driver import simulate_driver, use_libtorch


def run(rtrain, *args):
    command = [sys.executable, SOURCE / "tests" / "gpu" / "run.py", "--rtrain", RTRAIN, *args]
    env = {**rtrain.env, "RTRAIN_TEST_PYTHON": sys.executable}
    return subprocess.run(command, env=env, cwd=rtrain.folder, capture_output=True, text=True, timeout=100)


def test_without_a_device_every_test_is_listed_with_the_reason(rtrain):
    simulate_driver(rtrain, 0)
    result = run(rtrain, "test_training", "memory_limit")
    assert result.returncode == 4, result.stderr
    reason = "no CUDA device: the NVIDIA driver shows no device"
    assert f"skipped  test_training  test_one_worker_has_the_losses_of_the_cpu: {reason}" in result.stdout
    assert f"skipped  memory_limit_test  test_training_goes_on_after_the_error_was_caught: {reason}" in result.stdout


def test_files_are_run_and_their_results_read(rtrain):
    simulate_driver(rtrain, 1)
    use_libtorch(rtrain, "is not loaded")
    rtrain.env["RTRAIN_TEST_DEVICE"] = "cpu"  # so that the cases of tests/oracle run on the CPU
    results = rtrain.folder / "results.json"
    result = run(rtrain, "oracle_modules", "test_deployment", "--json", results)
    assert result.returncode == 1, result.stdout + result.stderr
    tests = json.loads(results.read_text())
    modules = [test["status"] for test in tests if test["file"] == "oracle_modules_test"]
    assert modules.count("passed") > 300 and "skipped" in modules and "failed" not in modules
    assert [test["status"] for test in tests if test["file"] == "test_deployment"] == ["failed"]
    assert "FAILED  test_deployment  test_the_executable_alone_next_to" in result.stdout
    assert f"{len(tests)} tests, 1 failed" in result.stdout
