"""A transformer of 46 million parameters under PyTorch's fully_shard over Gloo, started by torchrun: the twin of
../sharded.lua.
"""

import argparse
import os

import torch
import torch.distributed as dist
from events import Events
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn import functional as F

VOCABULARY, WIDTH, LAYERS, TOKENS = 8192, 512, 12, 128


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                WIDTH, 8, dim_feedforward=4 * WIDTH, dropout=0, batch_first=True, norm_first=True
            )
            for _ in range(LAYERS)
        )
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--events", "--storage", "--data", "--strategy"):
        parser.add_argument(name)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int)
    config = parser.parse_args()
    rank = int(os.environ["RANK"])
    events = Events(config.events, rank)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = Model()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    events.mark("model")
    for step in range(1, config.steps + 1):
        ids = ((torch.arange(config.batch * TOKENS) + rank) * (step * 7919) % VOCABULARY).view(config.batch, TOKENS)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids).view(-1, VOCABULARY), ids.view(-1))
        loss.backward()
        optimizer.step()
        events.mark("step")
    events.mark("loss", loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
