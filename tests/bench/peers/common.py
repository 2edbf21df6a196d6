"""The training program of the Python peers, the twin of ../train.lua: same model, data, order of samples and marks."""

import argparse
import gzip
import os
import struct
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

MEAN, STD = 0.2860, 0.3530


def options(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["convnet", "mlp"], default="convnet")
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--warm", type=int, default=0)
    parser.add_argument("--batch", type=int, default=64, help="per worker")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint-every", type=int, default=0)
    parser.add_argument("--events", required=True)
    parser.add_argument("--storage", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--reports", type=int, default=0)
    parser.add_argument("--megabytes", type=int, default=10)
    parser.add_argument("--gap", type=float, default=0.0)
    parser.add_argument("--spaced", type=int, default=0)
    return parser.parse_args(arguments)


def read_idx(path):
    with gzip.open(path) as file:
        content = bytearray(file.read())
    sizes = struct.unpack_from(f">{content[3]}I", content, 4)
    return torch.frombuffer(content, dtype=torch.uint8, offset=4 + 4 * len(sizes)).view(sizes)


def load_data(folder):
    images = read_idx(os.path.join(folder, "train-images-idx3-ubyte.gz"))
    labels = read_idx(os.path.join(folder, "train-labels-idx1-ubyte.gz"))
    images = images.unsqueeze(1).float().div_(255).sub_(MEAN).div_(STD)
    return TensorDataset(images, labels.long())


def convnet():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(9216, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, 10),
    )


def mlp():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )


class Stopwatch:
    """Adds up the time of each part of a step."""

    def __init__(self):
        self.parts = {}
        self.restart()

    def restart(self):
        self._last = time.monotonic()

    def lap(self, part):
        now = time.monotonic()
        self.parts[part] = self.parts.get(part, 0.0) + now - self._last
        self._last = now


def train(config, runtime):
    """`runtime` provides prepare_model, prepare_loader, starting_checkpoint, report and events."""
    events = runtime.events
    events.mark("train_fn")
    torch.manual_seed(config.seed)
    dataset = load_data(config.data)
    loader = runtime.prepare_loader(DataLoader(dataset, batch_size=config.batch, shuffle=True))
    events.mark("data")
    core = convnet() if config.model == "convnet" else mlp()
    model = runtime.prepare_model(core)
    if config.model == "convnet":
        optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    step = epoch = 0
    checkpoint = runtime.starting_checkpoint()
    if checkpoint:
        state = torch.load(os.path.join(checkpoint, "state.pt"), weights_only=True)
        core.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step, epoch = state["step"], state["epoch"]
    events.mark("model", step)

    def report():
        def save(folder):
            state = {"model": core.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "epoch": epoch}
            torch.save(state, os.path.join(folder, "state.pt"))

        runtime.report({"loss": loss.item(), "step": step}, save)
        events.mark("reported", step)

    watch = Stopwatch()
    while step < config.steps:
        loader.sampler.set_epoch(epoch)
        watch.restart()
        for images, labels in loader:
            watch.lap("load")
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            watch.lap("forward")
            loss.backward()
            watch.lap("backward")
            optimizer.step()
            watch.lap("update")
            step += 1
            events.mark("step", step)
            if step == config.warm:
                watch = Stopwatch()
            if config.checkpoint_every and step % config.checkpoint_every == 0:
                report()
            if step >= config.steps:
                break
            watch.restart()
        epoch += 1
    for part, seconds in watch.parts.items():
        events.mark(f"part_{part}", seconds / max(1, step - config.warm))
    events.mark("loss", loss.item())
    report()
