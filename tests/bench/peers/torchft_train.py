"""One replica of a training under torchft, written like its own examples: the manager counts the steps and gives a new
replica the state of a living one.
"""

import os
from datetime import timedelta

import common
import torch
from events import Events
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchft import DistributedDataParallel, DistributedSampler, Manager, Optimizer, ProcessGroupGloo

REPLICAS = 2


def main():
    config = common.options()
    replica = int(os.environ["REPLICA_GROUP_ID"])
    events = Events(config.events, replica)
    events.mark("train_fn")
    torch.manual_seed(config.seed)
    dataset = common.load_data(config.data)
    sampler = DistributedSampler(
        dataset, replica, REPLICAS, group_rank=0, num_replicas=1, shuffle=True, seed=config.seed
    )
    loader = DataLoader(dataset, batch_size=config.batch, sampler=sampler)
    events.mark("data")
    core = common.convnet() if config.model == "convnet" else common.mlp()
    inner = torch.optim.Adadelta(core.parameters(), lr=1.0)

    def load_state(state):
        core.load_state_dict(state["model"])
        inner.load_state_dict(state["optimizer"])

    manager = Manager(
        pg=ProcessGroupGloo(timeout=timedelta(seconds=5)),
        load_state_dict=load_state,
        state_dict=lambda: {"model": core.state_dict(), "optimizer": inner.state_dict()},
        min_replica_size=1,
        replica_id=f"replica_{replica}",
        timeout=timedelta(seconds=10),
    )
    model = DistributedDataParallel(manager, core)
    optimizer = Optimizer(manager, inner)
    events.mark("model")
    epoch = 0
    while manager.current_step() < config.steps:
        sampler.set_epoch(epoch)
        for images, labels in loader:
            before = manager.current_step()
            optimizer.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            optimizer.step()
            if manager.current_step() > before:
                events.mark("step", manager.current_step())
            if manager.current_step() >= config.steps:
                break
        epoch += 1
    manager.shutdown()


if __name__ == "__main__":
    main()
