"""A VisionTransformer trained in Lua and in Python gives the same losses with the same seed and the same order of
images."""

import glob
import io
import os

import pytest

from conftest import nightly

pytestmark = nightly

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")
vision = pytest.importorskip("torchvision", reason="torchvision is not here: scripts/test --oracle installs it")

SIZES = {
    "image_size": 32,
    "patch_size": 4,
    "num_layers": 3,
    "num_heads": 4,
    "hidden_dim": 64,
    "mlp_dim": 128,
    "num_classes": 10,
}
BATCH = 16
STEPS = 4

# Each test provides `images`, uint8 of shape (n, 32, 32, 3), and `labels`.
SCRIPT = """
local torch = require 'torch'
local data = require 'torch.utils.data'
local models, transforms = require 'vision.models', require 'vision.transforms'
%s
torch.manual_seed(3)
local model = models.VisionTransformer{image_size = 32, patch_size = 4, num_layers = 3, num_heads = 4, hidden_dim = 64,
                                       mlp_dim = 128, num_classes = 10}
local optimizer = torch.optim.AdamW(model:parameters(), {lr = 1e-3, weight_decay = 1e-2})
local loss_fn = torch.nn.CrossEntropyLoss()
local losses = {}
for _ = 1, 2 do
  for x, y in data.DataLoader(set, {batch_size = 16, shuffle = true}) do
    local loss = loss_fn(model(x), y)
    optimizer:zero_grad()
    loss:backward()
    optimizer:step()
    losses[#losses + 1] = loss:item()
  end
end
torch.save({losses = torch.tensor(losses)}, 'losses.pt')
"""

TENSORS = """
local saved = torch.load('images.pt')
local transform = transforms.Compose{transforms.ToTensor(), transforms.Normalize({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5})}
local Set = data.Dataset:extend('Set')
Set.dtypes = {[2] = 'int64'}
function Set:len() return saved.labels:size(0) end
function Set:get(i) return transform(saved.images[i]), saved.labels[i]:item() end
local set = Set()
"""

CIFAR10 = """
local transform = transforms.Compose{transforms.ToTensor(), transforms.Normalize({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5})}
local set = data.Subset(require('vision.datasets').CIFAR10{train = true, transform = transform}, torch.arange(64) * 700)
"""


def losses_of_python(images, labels):
    transform = vision.transforms.Compose(
        [vision.transforms.ToTensor(), vision.transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
    )
    samples = [(transform(image.numpy()), int(label)) for image, label in zip(images, labels)]
    torch.manual_seed(3)
    model = vision.models.VisionTransformer(**SIZES)
    # Uses the fused kernel, like rtrain: otherwise rounding differences would grow about threefold in each step.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2, fused=True)
    losses = []
    for _ in range(2):
        for x, y in torch.utils.data.DataLoader(samples, batch_size=BATCH, shuffle=True):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return torch.tensor(losses)


def losses_of_lua(rtrain, part):
    result = rtrain("exec", rtrain.script(SCRIPT % part, "twin.lua"))
    assert result.returncode == 0, result.stdout + result.stderr
    return torch.load(rtrain.folder / "losses.pt", weights_only=True)["losses"]


def assert_same_curve(ours, theirs):
    assert ours.shape == theirs.shape == (2 * STEPS,)
    assert len(set(theirs.tolist())) == len(theirs)
    assert ((ours - theirs).abs() / theirs).max() <= 1e-5


def test_images_in_memory(rtrain):
    generator = torch.Generator().manual_seed(1)
    images = torch.randint(0, 256, (BATCH * STEPS, 32, 32, 3), dtype=torch.uint8, generator=generator)
    labels = torch.randint(0, 10, (BATCH * STEPS,), generator=generator)
    torch.save({"images": images, "labels": labels}, rtrain.folder / "images.pt")
    assert_same_curve(losses_of_lua(rtrain, TENSORS), losses_of_python(images, labels))


def test_cifar10(rtrain):
    files = sorted(glob.glob(os.path.join(os.environ.get("RTRAIN_DATA", ""), "cifar10", "train-*.parquet")))
    if not files:
        pytest.skip("RTRAIN_DATA names no folder that holds cifar10/")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not here: scripts/test --oracle installs it")
    image = pytest.importorskip("PIL.Image")
    columns = [parquet.read_table(file, columns=["image", "label"]) for file in files]
    rows = [row for table in columns for row in zip(table["image"], table["label"])][: 64 * 700 : 700]
    pictures = [image.open(io.BytesIO(picture["bytes"].as_py())).convert("RGB") for picture, _ in rows]
    images = torch.stack([vision.transforms.functional.pil_to_tensor(picture).permute(1, 2, 0) for picture in pictures])
    labels = torch.tensor([label.as_py() for _, label in rows])
    assert_same_curve(losses_of_lua(rtrain, CIFAR10), losses_of_python(images, labels))
