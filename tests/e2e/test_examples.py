"""The examples, on a small set of images made here: training on the real one takes minutes."""

import gzip
import os
import random
import signal
import struct

import pytest
from conftest import wait_until
from test_documents import SOURCE


def write_images(folder, name, count):
    """Images of ten kinds that a network learns in a few steps: a bright row whose height is the label."""
    source = random.Random(name)
    labels = bytes(source.randrange(10) for _ in range(count))
    images = bytearray()
    for label in labels:
        image = bytearray(source.randrange(60) for _ in range(28 * 28))
        image[28 * 2 * label + 28:28 * 2 * label + 56] = bytes([255]) * 28
        images += image
    with gzip.open(folder / f"{name}-images-idx3-ubyte.gz", "wb", compresslevel=1) as file:
        file.write(struct.pack(">iiii", 0x803, count, 28, 28) + images)
    with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz", "wb", compresslevel=1) as file:
        file.write(struct.pack(">ii", 0x801, count) + labels)


@pytest.fixture
def small(rtrain):
    """rtrain with a FashionMNIST of 512 training and 200 test images."""
    folder = rtrain.folder / "data" / "fashion-mnist"
    folder.mkdir(parents=True)
    write_images(folder, "train", 512)
    write_images(folder, "t10k", 200)
    rtrain.env["RTRAIN_DATA"] = str(folder.parent)
    rtrain.env["OMP_NUM_THREADS"] = "1"  # threads that wait for each other are slow beside other tests
    return rtrain


def example(name):
    return str(SOURCE / "examples" / f"{name}.lua")


def test_hello(rtrain):
    result = rtrain("run", example("hello"))
    assert result.returncode == 0, result.stderr
    losses = [row["loss"] for row in rtrain.reports()]
    assert len(losses) == 5
    assert losses[-1] < 0.1 < losses[0]


@pytest.mark.parametrize("workers", ["1", "3"])
def test_fashion_mnist_learns_and_keeps_two_checkpoints(small, workers):
    result = small("run", example("fashion_mnist"), "-n", workers, "--set", "batch_size=16")
    assert result.returncode == 0, result.stderr
    rows = small.reports()
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    assert rows[-1]["accuracy"] > 0.5
    assert f"test accuracy {rows[-1]['accuracy']:.4f}" in result.stdout
    assert 2 <= len(small.json("checkpoints", "last")) <= 3


@pytest.mark.parametrize("workers", ["1", "2"])
def test_fashion_mnist_goes_on_exactly_after_a_kill(small, workers):
    options = ["-n", workers, "--set", "epochs=4", "--max-failures", "1"]
    assert small("run", example("fashion_mnist"), "--name", "whole", *options).returncode == 0
    running = small.started("run", example("fashion_mnist"), "--name", "killed", *options, reports=4 + 1)
    wait_until(lambda: small.json("checkpoints", "killed"), message="the first checkpoint")
    worker = small.json("show", "killed")["attempts"][-1]["workers"][-1]
    os.kill(worker["pid"], signal.SIGKILL)
    result = running.wait()
    assert result.returncode == 0, result.stderr
    assert len(small.json("show", "killed")["attempts"]) == 2
    assert small.reports("killed") == small.reports("whole")
