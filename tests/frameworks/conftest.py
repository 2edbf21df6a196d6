"""The fixtures of tests/e2e, and programs of TensorFlow and JAX. Without them theirs are skipped, with the reason."""

import importlib.util
import pathlib
import sys

import pytest

E2E = pathlib.Path(__file__).resolve().parent.parent / "e2e"
sys.path[:0] = [str(E2E)]

from borrowed import NAMES

globals().update(NAMES)

ARE_THERE = all(importlib.util.find_spec(name) for name in ("tensorflow", "jax"))

# Before the program's own lines: where it begins, and a rank that dies once.
RESUMES = """
    import os, signal, tempfile
    import numpy as np
    from rtrain import train

    def resumed():
        checkpoint = train.get_checkpoint()
        if checkpoint is None:
            return 0, np.zeros((4, 1), np.float32)
        with checkpoint.as_directory() as folder:
            saved = np.load(os.path.join(folder, "state.npz"))
            return int(saved["step"]) + 1, saved["weight"]

    def report(step, loss, weight):
        if os.environ.get("DIES_AT") == str(step) and RANK == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)
        metrics = {"step": step, "loss": float(loss), "weight": [float(each) for each in weight[:, 0]]}
        if step % 5 or RANK > 0:
            return train.report(metrics)
        with tempfile.TemporaryDirectory() as folder:
            np.savez(os.path.join(folder, "state.npz"), step=step, weight=weight)
            train.report(metrics, checkpoint=train.Checkpoint.from_directory(folder))

    RANK = train.get_context().get_world_rank()
    TRUTH = np.array([[1.0], [-2.0], [0.5], [3.0]], np.float32)

    def batch(step):
        x = np.random.default_rng(2 * step + RANK).normal(size=(16, 4)).astype(np.float32)
        return x, x @ TRUTH

"""


def pytest_collection_modifyitems(items):
    for item in [] if ARE_THERE else (each for each in items if each.path.name == "test_frameworks.py"):
        item.add_marker(pytest.mark.skip(reason="no TensorFlow and JAX: scripts/test --frameworks installs them"))


@pytest.fixture
def trained(rtrain):
    """Trains with the program on two ranks, calm and with the death of a rank, and gives both runs' reports."""

    def train(program, backend):
        script = rtrain.script(RESUMES + program, "train.py")
        own = (
            rtrain.folder / "temporary"
        )  # TensorFlow writes the code that it generates there, and a killed one leaves it
        own.mkdir()
        rtrain.env["TMPDIR"] = str(own)
        rtrain.env.update(RTRAIN_PYTHON=sys.executable, TF_CPP_MIN_LOG_LEVEL="2", JAX_PLATFORMS="cpu")
        runs = []
        for name, dies_at in (("calm", ""), ("killed", "12")):
            rtrain.env["DIES_AT"] = dies_at
            result = rtrain(
                "launch", "-n", "2", "--max-failures", "1", "--backend", backend, "--name", name, script, timeout=500
            )
            assert result.returncode == 0, result.stdout + result.stderr
            runs.append(rtrain.reports(name))
        assert rtrain.statuses("calm") == ["FINISHED"] and rtrain.statuses("killed") == ["ERRORED", "FINISHED"]
        return runs

    return train
