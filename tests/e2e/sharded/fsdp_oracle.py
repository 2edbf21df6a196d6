"""Trains small models with Python's fully_shard over Gloo: fsdp_oracle.py FOLDER RANKS writes the first parameters and the
losses, norms and last parameters of each case as FOLDER/CASE.pt.

The modules and the data are those of SHARDED in test_fsdp_oracle.py.
"""

import pathlib
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

STEPS, VOCABULARY, WIDTH = 6, 13, 10


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(3 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Text(nn.Module):
    def __init__(self, case):
        super().__init__()
        self.case = case
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        if case == "tied":
            self.head.weight = self.embed.weight
        if case == "frozen":
            self.blocks[1].requires_grad_(False)
            self.embed.requires_grad_(False)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.case == "checkpoint" else block(x)
            if self.case == "twice":
                x = block(x)
        return self.head(x)


class Residual(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(planes, planes, 3, padding=1, bias=False), nn.BatchNorm2d(planes)

    def forward(self, x):
        return F.relu(x + self.norm(self.conv(x)))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 7, 3)
        self.blocks = nn.ModuleList([Residual(7), Residual(7)])
        self.head = nn.Linear(7, VOCABULARY)

    def forward(self, x):
        x = F.relu(self.stem(x))
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


# name: options of the case
CASES = {
    "plain": {},
    "tied": {},
    "frozen": {},
    "twice": {},
    "checkpoint": {},
    "accumulate": {"micro": 3},
    "clipped": {"clip": 0.1},
    "kept": {"reshard": False},
    "mixed": {"mixed": True},
    "images": {},
    "hybrid": {"mesh": True},
}


def cases_of(ranks):
    """Returns the cases for a number of ranks: a hybrid mesh has two replicas, each of two ranks."""
    return {name: options for name, options in CASES.items() if ranks == 4 or name != "hybrid"}


def data(case, rank, step):
    """Returns inputs and targets, which need no random generator."""
    if case == "images":
        x = torch.sin(torch.arange(3 * 2 * 8 * 8, dtype=torch.float32) * (step + 1) + rank).view(3, 2, 8, 8)
        return x, (torch.arange(3) * (step + 2) + rank) % VOCABULARY
    x = (torch.arange(12) * (step + 2) + 5 * rank) % VOCABULARY
    return x.view(3, 4), ((x * 3 + 1) % VOCABULARY).view(3, 4)


def run(case, options, rank, folder):
    torch.manual_seed(7)
    model = Images() if case == "images" else Text(case)
    record = {"first": {name: value.clone() for name, value in model.state_dict().items()}}
    policy = (
        MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32) if options.get("mixed") else None
    )
    given = {"mp_policy": policy} if policy else {}
    if options.get("mesh"):
        given["mesh"] = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    given["reshard_after_forward"] = options.get("reshard", True)
    for block in model.blocks:
        fully_shard(block, **given)
    fully_shard(model, **given)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
    losses, norms, micro = [], [], options.get("micro", 1)
    for step in range(STEPS):
        optimizer.zero_grad()
        for part in range(micro):
            model.set_requires_gradient_sync(part == micro - 1)
            x, y = data(case, rank, step * micro + part)
            loss = F.cross_entropy(model(x).float().view(-1, VOCABULARY), y.view(-1)) / micro
            loss.backward()
            losses.append(loss.item())
        if options.get("clip"):
            norm = nn.utils.clip_grad_norm_(model.parameters(), options["clip"])
            norms.append(norm.full_tensor().item())
        optimizer.step()
    record |= {"losses": losses, "norms": norms}
    record["last"] = {name: value.detach().full_tensor() for name, value in model.named_parameters()}
    torch.save(record, folder / f"{case}-{rank}.pt")


def work(rank, ranks, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)
    torch.set_num_threads(1)
    for case, options in cases_of(ranks).items():
        run(case, options, rank, folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, (int(sys.argv[2]), pathlib.Path(sys.argv[1])), nprocs=int(sys.argv[2]))
