"""The examples that are made for a GPU, on one, for a few steps. gpu: at most 120 s"""

import re

from conftest import SOURCE


def run_example(rtrain, name, *settings):
    flags = [part for text in ("dataset=shapes10", *settings) for part in ("--set", text)]
    result = rtrain("run", SOURCE / "examples" / f"{name}.lua", *flags)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def test_cifar_vit_fast_captures_its_step_and_learns(rtrain):
    settings = ("limit=5000", "test_limit=500", "batch_size_per_worker=128", "epochs=6", "augment=true", "lr=3e-4")
    result = run_example(rtrain, "cifar_vit_fast", *settings)
    assert "without a CUDA graph" not in result.stderr, result.stderr
    rows = rtrain.reports()
    assert rows[-1]["loss"] < rows[0]["loss"] and rows[-1]["accuracy"] > 0.2
    assert re.search(r"epoch_num=5 loss=[\d.]+ accuracy=[\d.]+ seconds=", result.stdout)


def test_cifar_airbench_learns_in_half_precision(rtrain):
    result = run_example(rtrain, "cifar_airbench", "limit=10000", "test_limit=1000", "batch_size=500", "epochs=4")
    (row,) = rtrain.reports()
    assert row["accuracy"] > 0.5, result.stdout
