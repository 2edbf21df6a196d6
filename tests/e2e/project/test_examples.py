"""The examples with a small synthetic set of images: training on the real one takes minutes."""

import gzip
import os
import random
import re
import signal
import struct

import pytest

from conftest import SOURCE, nightly, sample, wait_until


def write_images(folder, name, count):
    """Writes images of ten classes that a network learns in a few steps: a bright row whose height is the label."""
    source = random.Random(name)
    labels = bytes(source.randrange(10) for _ in range(count))
    dark = bytes(level * 60 >> 8 for level in range(256))
    images = bytearray()
    for label in labels:
        image = bytearray(source.randbytes(28 * 28).translate(dark))
        image[28 * 2 * label + 28 : 28 * 2 * label + 56] = bytes([255]) * 28
        images += image
    with gzip.open(folder / f"{name}-images-idx3-ubyte.gz", "wb", compresslevel=1) as file:
        file.write(struct.pack(">iiii", 0x803, count, 28, 28) + images)
    with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz", "wb", compresslevel=1) as file:
        file.write(struct.pack(">ii", 0x801, count) + labels)


def with_images(rtrain, count, test_count):
    """Gives rtrain an MNIST and a FashionMNIST of that many training and test images."""
    for name in ("mnist", "fashion-mnist"):
        folder = rtrain.folder / "data" / name
        folder.mkdir(parents=True)
        write_images(folder, "train", count)
        write_images(folder, "t10k", test_count)
    rtrain.env["RTRAIN_DATA"] = str(folder.parent)
    return rtrain


@pytest.fixture
def small(rtrain):
    """rtrain with enough images for an example to learn."""
    return with_images(rtrain, 512, 200)


@pytest.fixture
def tiny(rtrain):
    """rtrain with enough images for a few steps."""
    return with_images(rtrain, 192, 40)


@pytest.fixture
def alone(rtrain):
    """rtrain without any images."""
    rtrain.env.pop("RTRAIN_DATA", None)
    return rtrain


def example(name):
    return str(SOURCE / "examples" / f"{name}.lua")


EXAMPLES = sorted((SOURCE / "examples").glob("*.lua"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_says_how_to_run_it(path):
    lines = path.read_text().splitlines()
    assert len(lines) <= 190 and max(map(len, lines)) <= 128
    assert re.search(rf"rtrain (run|exec) examples/{path.name}", lines[0])
    assert f"| `{path.name}` |" in (SOURCE / "examples" / "README.md").read_text()


def test_hello(rtrain):
    result = rtrain("run", example("hello"))
    assert result.returncode == 0, result.stderr
    losses = [row["loss"] for row in rtrain.reports()]
    assert len(losses) == 5
    assert losses[-1] < 0.1 < losses[0]


@nightly
def test_image_folder_draws_its_images_once_and_learns(alone):
    given = [part for s in ("images=500", "batch_size=16", "lr=0.002") for part in ("--set", s)]
    for run in "first", "second":
        result = alone("run", example("image_folder"), "--name", run, *given)
        assert result.returncode == 0, result.stderr
    drawn = alone.folder / "shapes10-images"
    assert len(list(drawn.glob("train/*/*.jpg"))) == 500 and len(list(drawn.glob("test/crescent/*.jpg"))) == 10
    assert alone.reports("first")[-1]["accuracy"] > 0.2
    assert alone.reports("first") == alone.reports("second")


@pytest.mark.parametrize("workers", sample("1", "3"))
def test_fashion_mnist_learns_and_keeps_two_checkpoints(small, workers):
    result = small("run", example("fashion_mnist"), "-n", workers, "--set", "batch_size=16")
    assert result.returncode == 0, result.stderr
    rows = small.reports()
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    assert rows[-1]["accuracy"] > 0.5
    assert f"test accuracy {rows[-1]['accuracy']:.4f}" in result.stdout
    assert 2 <= len(small.json("checkpoint", "ls", "last")) <= 3


@nightly
def test_fit_loop_learns_and_ends_with_its_epochs(small):
    result = small("run", example("fit_loop"), "--set", "batch_size=16")
    assert result.returncode == 0, result.stderr
    rows = small.reports()
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    assert {"loss", "val_loss", "accuracy", "lr-Adadelta"} < set(rows[-1])
    assert rows[-1]["accuracy"] > 0.9 and rows[-1]["val_loss"] < rows[0]["val_loss"]
    assert f"test accuracy {rows[-1]['accuracy']:.4f}" in result.stdout
    assert len(small.json("checkpoint", "ls", "last")) == 2


def killed_after_its_first_checkpoint(rtrain, running):
    """Kills the last worker of the run 'killed' after its first checkpoint; returns the result of the run."""
    first = "SELECT 1 FROM checkpoints JOIN runs USING(run_id) WHERE runs.name = 'killed' AND state = 'kept'"
    wait_until(lambda: not running.running or rtrain.query(first), message="the first checkpoint")
    os.kill(rtrain.pids("killed")[-1], signal.SIGKILL)
    result = running.wait()
    assert rtrain.statuses("killed") == ["ERRORED", "FINISHED"], result.stderr
    return result


@pytest.mark.parametrize("workers", sample("1", "2"))
def test_fashion_mnist_goes_on_exactly_after_a_kill(tiny, workers):
    options = ["-n", workers, "--set", "epochs=4", "--set", "batch_size=16", "--max-failures", "1"]
    assert tiny("run", example("fashion_mnist"), "--name", "whole", *options).returncode == 0
    running = tiny.start("run", example("fashion_mnist"), "--name", "killed", *options)
    assert killed_after_its_first_checkpoint(tiny, running).returncode == 0, running.stderr
    assert tiny.reports("killed") == tiny.reports("whole")


@pytest.mark.parametrize("workers, images", sample(("1", "mnist"), ("2", "fashion-mnist")))
def test_mnist_resnet18_reads_new_images(small, workers, images):
    settings = ["limit=128", "test_limit=40", "global_batch_size=16", f"dataset={images}"]
    result = small("run", example("mnist_resnet18"), "-n", workers, *[part for s in settings for part in ("--set", s)])
    assert result.returncode == 0, result.stderr
    (row,) = small.reports()
    lines = [line for line in result.stdout.splitlines() if not line.startswith("[rank")]
    assert lines[:2] == ["epoch,loss", f"0,{row['loss']:.17g}"]
    assert [line.split()[0] for line in lines[2:5]] == ["samples", "labels", "predictions"]
    for line in (lines[2], lines[4]):
        assert open(line.rpartition(": ")[2], "rb").read(8) == b"\x89PNG\r\n\x1a\n"
    assert re.fullmatch(r"accuracy on 40 new images: [01]\.\d{4}", lines[5])


def test_mnist_resnet18_says_which_images_there_are(tiny):
    result = tiny("run", example("mnist_resnet18"), "--set", "dataset=emnist")
    assert result.returncode == 1
    assert "--set dataset: 'mnist' or 'fashion-mnist'" in result.stderr


def accuracy_on_new_images(text):
    return float(re.search(r"Best model from epoch \d+, accuracy on 200 new images: ([\d.]+)", text).group(1))


@nightly
@pytest.mark.parametrize("workers, images", sample(("1", "fashion-mnist"), ("3", "mnist")))
def test_mnist_convnet_learns_and_keeps_the_best_two(small, workers, images):
    settings = ["--set", "batch_size=16", "--set", "epochs=3"]
    result = small("run", example("mnist_convnet"), "-n", workers, *settings, "--", images)
    assert result.returncode == 0, result.stderr
    rows = small.reports()
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    assert accuracy_on_new_images(result.stdout) > 0.5
    best = sorted((row["metrics"]["accuracy"] for row in small.json("checkpoint", "ls", "last")), reverse=True)
    assert best[0] == max(row["accuracy"] for row in rows) and len(best) >= 2


@nightly
def test_mnist_convnet_ends_with_all_epochs_after_a_kill(small):
    settings = ["--set", "epochs=4", "--set", "batch_size=16", "--name", "killed"]
    running = small.start("run", example("mnist_convnet"), *settings, "--", "mnist", "256")
    result = killed_after_its_first_checkpoint(small, running)
    assert result.returncode == 0, result.stderr
    assert [row["epoch"] for row in small.reports("killed")] == [0, 1, 2, 3]
    assert re.search(r"Resuming from epoch [1-3]", result.stdout)
    assert re.search(
        r"Best checkpoint path: Checkpoint\(.*\nLoading best model for inference...\nBest model from epoch",
        result.stdout,
    )


ADVANCED = {
    "all_off": ["amp=false", "compress=false", "accumulation_steps=1"],
    "mixed_precision": ["amp=true"],
    "accumulation": ["accumulation_steps=3"],
}


@pytest.mark.parametrize("name", sample(*ADVANCED))
def test_mnist_convnet_advanced(tiny, name):
    settings = ADVANCED[name]
    given = [part for s in ("batch_size=16", "epochs=2", *settings) for part in ("--set", s)]
    result = tiny("run", example("mnist_convnet_advanced"), *given, "--", "mnist")
    assert result.returncode == 0, result.stderr
    rows = tiny.reports()
    assert [row["epoch"] for row in rows] == [0, 1]
    assert rows[1]["lr"] == pytest.approx(0.7 * rows[0]["lr"])
    assert rows[1]["loss"] < rows[0]["loss"]
    assert 0 < rows[1]["memory_percent"] <= 100 and 0 <= rows[1]["cpu_percent"] <= 100 and rows[1]["epoch_time"] > 0
    steps = dict(s.split("=") for s in settings).get("accumulation_steps", "2")
    assert rows[0]["effective_batch_size"] == 16 * 2 * int(steps)
    assert "best checkpoint: " in result.stdout


@nightly
def test_mnist_convnet_advanced_stops_early_on_all_ranks(tiny):
    given = ["--set", "patience=1", "--set", "epochs=20", "--set", "lr=0"]
    result = tiny("run", example("mnist_convnet_advanced"), *given, "--", "mnist")
    assert result.returncode == 0, result.stderr
    assert "Early stopping at epoch 1" in result.stdout
    assert len(tiny.reports()) == 2


VIT = ["limit=16", "test_limit=7", "dataset=shapes10"]


# Prints the names in the saved model, and its loss and accuracy over the first test images, each of them once.
SAVED = """
local torch, ordered, datasets = require 'torch', require 'base.ordered', require 'vision.datasets'
local state = torch.load(arg[1] .. '/model.pt')
local names = ordered.keys(state)
print(#names, names[1], names[#names], state['encoder.pos_embedding'].shape[2])
local model = require('vision.models').VisionTransformer {
  image_size = 32, patch_size = 4, num_layers = 12, num_heads = 8, hidden_dim = 384, mlp_dim = 768, num_classes = 10}
model:load_state_dict(state)
model:eval()
local set, count = datasets.shapes10 {train = false}, tonumber(arg[2])
local images = set.data:narrow(0, 0, count):permute(0, 3, 1, 2):float():div(255):sub(0.5):div(0.5)
local labels = set.targets:narrow(0, 0, count)
torch.no_grad(function()
  local output = model(images)
  print(torch.nn.functional.cross_entropy(output, labels):item(), output:argmax(1):eq(labels):double():mean():item())
end)
"""


def assert_saved_transformer(rtrain, count):
    """The run reported the loss and accuracy of its saved model over that many test images, on all workers together."""
    (checkpoint,) = rtrain.json("checkpoint", "ls", "last")
    said = rtrain("exec", rtrain.script(SAVED), checkpoint["path"], count)
    names, numbers = said.stdout.splitlines()
    assert names.split() == ["152", "class_token", "heads.head.bias", "65"]
    (row,) = rtrain.reports()
    assert [row["loss"], row["accuracy"]] == pytest.approx([float(number) for number in numbers.split()], rel=1e-4)


@nightly
@pytest.mark.parametrize("workers", ("1", "2"))
def test_cifar_vit(alone, workers):
    given = [part for s in (*VIT, "batch_size_per_worker=8") for part in ("--set", s)]
    result = alone("run", example("cifar_vit"), "-n", workers, *given)
    assert result.returncode == 0, result.stderr
    (row,) = alone.reports()
    assert 1 < row["loss"] < 5 and 0 <= row["accuracy"] <= 1
    assert f"{{accuracy = {row['accuracy']:.14g}, epoch_num = 0, loss = {row['loss']:.14g}}}" in result.stdout
    assert "Training result: Result(metrics={accuracy=" in result.stdout
    assert_saved_transformer(alone, 7)


@nightly
@pytest.mark.parametrize("workers, augment", sample(("2", "false"), ("1", "true")))
def test_cifar_vit_fast_runs_without_a_gpu(alone, workers, augment):
    given = [part for s in (*VIT, "batch_size_per_worker=4", f"augment={augment}") for part in ("--set", s)]
    result = alone("run", example("cifar_vit_fast"), "-n", workers, "--gpus", "0", *given)
    assert result.returncode == 0, result.stderr
    (row,) = alone.reports()
    assert 1 < row["loss"] < 5 and 0 <= row["accuracy"] <= 1
    assert f"epoch_num=0 loss={row['loss']:.4f} accuracy={row['accuracy']:.4f} seconds=" in result.stdout
    assert_saved_transformer(alone, 7)


@nightly
def test_cifar_airbench_makes_several_networks(alone):
    given = ["dataset=shapes10", "epochs=1.5", "width=4", "limit=400", "test_limit=100", "batch_size=50", "runs=2"]
    result = alone("run", example("cifar_airbench"), "--gpus", "0", *[part for s in given for part in ("--set", s)])
    assert result.returncode == 0, result.stderr
    rows = alone.reports()
    assert len(rows) == 2 and all(0 <= row["accuracy"] <= 1 and row["seconds"] > 0 for row in rows)
    mean = sum(row["accuracy"] for row in rows) / 2
    assert f"mean of 2 runs: accuracy {mean:.4f}; median {min(row['seconds'] for row in rows):.2f} s" in result.stdout


@nightly
def test_single_machine(alone):
    result = alone("exec", example("single_machine"), *VIT, "batch_size=8", "epochs=2", "--download")
    assert result.returncode == 0, result.stderr
    assert re.findall(r"^\{accuracy = [\d.]+, epoch_num = (\d), loss = [\d.]+\}$", result.stdout, re.MULTILINE) == [
        "0",
        "1",
    ]
    refused = alone("exec", example("single_machine"), "limits=3")
    assert refused.returncode == 1 and "unknown option limits=3" in refused.stderr


SHAPES = """
local data, datasets = require 'rtrain.data', require 'vision.datasets'
for name, is_train in pairs{train = true, test = false} do
  local shapes = data.from_torch(datasets.shapes10{train = is_train}):limit(is_train and 40 or 20)
  shapes:map(function(row) return {image = row.item[1], label = row.item[2]} end):write_parquet('shapes/' .. name)
end
"""


@pytest.mark.parametrize(
    "name", sample("mnist_resnet18", "mnist_convnet", "mnist_convnet_advanced", "cifar_vit", "single_machine")
)
def test_download_needs_a_mirror(alone, name):
    """tests/e2e/data/test_download.py tests the download itself."""
    alone.env.pop("RTRAIN_DATA_URL", None)
    alone.env["RTRAIN_DATA"] = str(alone.folder / "images")
    command = ["exec", example(name)] if name == "single_machine" else ["run", example(name), "--"]
    result = alone(*command, "--download")
    assert result.returncode == 1 and "download = true takes the files from a mirror of your own" in result.stderr, (
        result.stderr
    )


@nightly
def test_cifar_vit_data(alone):
    made = alone("exec", alone.script(SHAPES, "shapes.lua"))
    assert made.returncode == 0, made.stderr
    folder = alone.folder / "shapes"
    for path in [*folder.glob("*/*.parquet")]:
        path.rename(folder / f"{path.parent.name}-{path.name}")
    given = ["--set", "batch_size_per_worker=8", "--", str(folder), "16"]
    result = alone("run", example("cifar_vit_data"), *given)
    assert result.returncode == 0, result.stderr
    (row,) = alone.reports()
    assert 1 < row["loss"] < 5 and 0 <= row["accuracy"] <= 1
    assert "Training result: Result(metrics={accuracy=" in result.stdout
    assert_saved_transformer(alone, 16)
