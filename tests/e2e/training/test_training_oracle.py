"""Python's torch loads and evaluates a model that rtrain has trained on Fashion-MNIST."""

import gzip
import os
import pathlib

import pytest

torch = pytest.importorskip("torch", reason="Python's torch is not here: scripts/test --oracle installs it")

SCRIPT = """
local torch = require 'torch'
local nn = require 'torch.nn'
local F = require 'torch.nn.functional'
local data = require 'torch.utils.data'
local datasets = require 'vision.datasets'
local train = require 'rtrain'

-- Scales here, not in the data set, so that both sides use the same values.
local function scaled(x) return x:view(-1, 1, 28, 28):float():div(x.dtype == 'uint8' and 255 or 1) end

local function train_func(config)
  torch.manual_seed(1)
  local model = train.torch.prepare_model(nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8 * 13 * 13, 10)))
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.05, momentum = 0.9})
  local first = {}
  for i = 0, config.samples - 1 do first[i + 1] = i end
  local loader = train.torch.prepare_data_loader(data.DataLoader(
    data.Subset(datasets.FashionMNIST{train = true}, first), {batch_size = 64, shuffle = true}))
  model:train()
  for x, y in loader do
    optimizer:zero_grad()
    F.cross_entropy(model(scaled(x)), y):backward()
    optimizer:step()
  end
  model:eval()
  local correct, total = 0, 0
  torch.no_grad(function()
    for x, y in data.DataLoader(datasets.FashionMNIST{train = false}, {batch_size = 1000}) do
      correct = correct + model(scaled(x)):argmax(1):eq(y):sum():item()
      total = total + y:size(0)
    end
  end)
  train.tempdir(function(dir)
    local options
    if train.get_context():get_world_rank() == 0 then
      torch.save({model = train.torch.unwrap(model):state_dict(), optimizer = optimizer:state_dict(), samples = config.samples},
        dir .. '/state.pt')
      options = {checkpoint = train.Checkpoint.from_directory(dir)}
    end
    train.report({correct = correct, total = total}, options)
  end)
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {samples = 4096},
  scaling_config = train.ScalingConfig{num_workers = 2},
}:fit()
"""


def idx(name):
    """Returns the array of an idx.gz file of the Debian package."""
    folder = pathlib.Path("/usr/share/datasets/fashion-mnist")
    if "RTRAIN_DATA" in os.environ and (pathlib.Path(os.environ["RTRAIN_DATA"]) / "fashion-mnist").exists():
        folder = pathlib.Path(os.environ["RTRAIN_DATA"]) / "fashion-mnist"
    path = folder / name
    if not path.exists():
        pytest.skip(f"{path} is not here: scripts/setup installs it")
    content = gzip.decompress(path.read_bytes())
    rank = content[3]
    shape = [int.from_bytes(content[4 + 4 * i : 8 + 4 * i], "big") for i in range(rank)]
    return torch.frombuffer(bytearray(content[4 + 4 * rank :]), dtype=torch.uint8).reshape(shape)


def test_python_finds_the_same_accuracy_in_the_saved_model(rtrain):
    images = idx("t10k-images-idx3-ubyte.gz").float().div(255).unsqueeze(1)
    labels = idx("t10k-labels-idx1-ubyte.gz").long()
    rtrain.run_ok(SCRIPT, timeout=200)
    (metrics,) = rtrain.reports()
    (checkpoint,) = rtrain.json("checkpoint", "ls", "last")

    saved = torch.load(pathlib.Path(checkpoint["path"]) / "state.pt", weights_only=True)
    assert saved["samples"] == 4096
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.BatchNorm2d(8),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 13 * 13, 10),
    )
    model.load_state_dict(saved["model"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    optimizer.load_state_dict(saved["optimizer"])
    assert len(optimizer.state) == len(list(model.parameters()))

    model.eval()
    with torch.no_grad():
        correct = sum(int((model(x).argmax(1) == y).sum()) for x, y in zip(images.split(1000), labels.split(1000)))
    assert metrics["total"] == len(labels) == 10000
    assert correct > 6000
    assert abs(correct - metrics["correct"]) <= 2, "two samples: sums may be taken in another order"
