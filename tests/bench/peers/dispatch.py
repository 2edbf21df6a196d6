"""Nanoseconds per eager operation from Python, the twin of ../dispatch.lua; prints "name<TAB>ns", the least of all."""

import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


def make_cases():
    torch.manual_seed(0)
    x, y = torch.randn(4), torch.randn(4)
    a, b = torch.randn(8, 8), torch.randn(8, 8)
    batch, weight, bias = torch.randn(8, 32), torch.randn(32, 32), torch.randn(32)
    leaf = torch.randn(4, requires_grad=True)
    layer = nn.Linear(32, 32)
    net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))
    labels = torch.randint(0, 10, (8,))
    sgd = torch.optim.SGD(net.parameters(), lr=1e-3)
    adamw = torch.optim.AdamW(net.parameters(), lr=1e-3)

    def train_step(optimizer):
        optimizer.zero_grad()
        F.cross_entropy(net(batch), labels).backward()
        optimizer.step()

    return [
        ("empty", 1, lambda: None),
        ("add", 1, lambda: x + y),
        ("mm", 1, lambda: a.mm(b)),
        ("view", 1, lambda: a.view(64)),
        ("linear", 1, lambda: F.linear(batch, weight, bias)),
        ("add_scalar", 1, lambda: x + 1),
        ("add_", 1, lambda: x.add_(y)),
        ("mul_grad", 1, lambda: leaf * y),
        ("relu", 1, lambda: torch.relu(x)),
        ("sum", 1, lambda: a.sum()),
        ("select", 1, lambda: a[0]),
        ("item", 1, lambda: y[0].item()),
        ("nn_linear", 2, lambda: layer(batch)),
        ("mlp_forward", 5, lambda: net(batch)),
        ("backward", 10, lambda: (leaf * y).sum().backward()),
        ("mlp_step_sgd", 50, lambda: train_step(sgd)),
        ("mlp_step_adamw", 50, lambda: train_step(adamw)),
    ]


def nanoseconds(case, calls):
    start = time.perf_counter_ns()
    for _ in range(calls):
        case()
    return (time.perf_counter_ns() - start) / calls


def main():
    calls, repeats = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    for name, divisor, case in make_cases():
        count = max(1, calls // divisor)
        nanoseconds(case, max(1, count // 10))
        best = min(nanoseconds(case, count) for _ in range(repeats))
        print(f"{name}\t{best:.1f}", flush=True)


if __name__ == "__main__":
    main()
