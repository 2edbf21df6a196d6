"""In-memory Fashion-MNIST as normalised float batches: the time of a sample from DataLoader to loop, without training."""

import os

from harness import sides
from harness.benchmark import OWN, Benchmark, Goal, Metric
from harness.single import sampler

NAME = "loader"
PEERS = ("dataloader", "gather", "pil")


def build(config):
    length = "quick" if config.quick else "full"
    peer = [config.torch_python, os.path.join(sides.PEERS, "loader.py"), config.data, length]
    commands = {OWN: [config.rtrain, "exec", os.path.join(sides.HERE, "loader.lua"), config.data, length]}
    commands.update({name: [*peer, name] for name in PEERS})
    return Benchmark(
        name=NAME,
        text="nanoseconds a sample, batches of 128 in random order, median of the epochs; the first batch of a new loader",
        metrics=[
            Metric("sample", "ns", places=0),
            Metric("first_batch", "ms"),
            Metric("workers_2", "ns", "rtrain with 2 threads", places=0),
            Metric("augmented", "ns", "with random crop and flip", places=0),
        ],
        goals=[
            Goal("sample", 1 / 4, "dataloader"),
            Goal("sample", 1 / 0.9, "gather"),
            Goal("sample", 1 / 50, "pil"),
            Goal("first_batch", 5),
        ],
        sides={side: sampler(config, side, command, core=None) for side, command in commands.items()},
        notes=[
            (
                "dataloader: torch's DataLoader over a TensorDataset of floats that were normalised before, "
                "the best of 0, 1 and 2 workers"
            ),
            "gather: torch.index_select of bytes, then normalised as a batch; no loader",
            "pil: the DataLoader over PIL images with torchvision's ToTensor and Normalize, the best of 0 and 2 workers",
        ],
    )
