"""The surroundings of a training under torchrun: process group, sampler, and a handwritten report.

The report is what a careful user writes: rank 0 puts the checkpoint in place by a rename and adds a line to
metrics.jsonl; all ranks wait for each other.
"""

import json
import os

import torch.distributed as dist
from events import Events
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class TorchrunGroup:
    def __init__(self, config):
        self.rank = int(os.environ["RANK"])
        self.events = Events(config.events, self.rank)
        self._config = config
        self._checkpoint = os.path.join(config.storage, "checkpoint")
        self.events.mark("main")
        dist.init_process_group("gloo")
        self.events.mark("group")

    def prepare_model(self, model):
        return DistributedDataParallel(model)

    def prepare_loader(self, loader):
        sampler = DistributedSampler(loader.dataset, shuffle=True, seed=self._config.seed)
        return DataLoader(loader.dataset, batch_size=loader.batch_size, sampler=sampler)

    def starting_checkpoint(self):
        found = os.path.exists(os.path.join(self._checkpoint, "state.pt"))
        return self._checkpoint if found else None

    def report(self, metrics, save=None):
        if self.rank == 0:
            if save:
                self._commit(save)
            with open(os.path.join(self._config.storage, "metrics.jsonl"), "a") as file:
                file.write(json.dumps(metrics) + "\n")
        dist.barrier()

    def close(self):
        dist.destroy_process_group()

    def _commit(self, save):
        staging = os.path.join(self._config.storage, "staging")
        os.makedirs(staging, exist_ok=True)
        os.makedirs(self._checkpoint, exist_ok=True)
        save(staging)
        os.replace(os.path.join(staging, "state.pt"), os.path.join(self._checkpoint, "state.pt"))
