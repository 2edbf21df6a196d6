"""Nanoseconds per eager operation on small tensors from Python; prints "name<TAB>ns", the minimum of all loops.

Twin of ../operators.lua.
"""

import os
import sys
import time

import torch
from torch.nn import functional as F

DEVICE = os.environ.get("BENCH_DEVICE", "cpu")


def randn(*shape):
    return torch.randn(*shape).to(DEVICE)


torch.manual_seed(0)
x, y = randn(4), randn(4)
a, b = randn(8, 8), randn(8, 8)
p, q = randn(2, 4, 4), randn(2, 4, 4)
batch, weight, bias = randn(4, 8), randn(8, 8), randn(8)
leaf = randn(4).requires_grad_()
rows, column = torch.tensor([0, 2, 4]).to(DEVICE), torch.zeros(8, 1, dtype=torch.int64).to(DEVICE)
mask, labels = a.gt(0), torch.randint(0, 8, (8,)).to(DEVICE)
words = randn(10, 4)

CASES = [
    ("add", lambda: x + y),
    ("sub", lambda: x - y),
    ("mul", lambda: x * y),
    ("div", lambda: x / y),
    ("add_scalar", lambda: x + 1),
    ("mul_scalar", lambda: x * 0.5),
    ("rsub", lambda: 1 - x),
    ("pow", lambda: x**2),
    ("neg", lambda: -x),
    ("add_", lambda: x.add_(y)),
    ("mul_scalar_", lambda: x.mul_(0.999)),
    ("add_alpha", lambda: torch.add(x, y, alpha=2)),
    ("mul_grad", lambda: leaf * y),
    ("mm", lambda: a.mm(b)),
    ("matmul", lambda: torch.matmul(a, b)),
    ("bmm", lambda: torch.bmm(p, q)),
    ("addmm", lambda: torch.addmm(bias, batch, weight)),
    ("linear", lambda: F.linear(batch, weight, bias)),
    ("dot", lambda: x.dot(y)),
    ("view", lambda: a.view(64)),
    ("reshape", lambda: a.reshape(4, 16)),
    ("transpose", lambda: a.transpose(0, 1)),
    ("permute", lambda: p.permute(2, 0, 1)),
    ("unsqueeze", lambda: x.unsqueeze(0)),
    ("squeeze", lambda: x.squeeze()),
    ("expand", lambda: x.expand(3, 4)),
    ("flatten", lambda: torch.flatten(p, 1)),
    ("chunk", lambda: a.chunk(2)),
    ("cat", lambda: torch.cat([x, y])),
    ("stack", lambda: torch.stack([x, y])),
    ("sum", lambda: a.sum()),
    ("sum_dim", lambda: a.sum(1)),
    ("mean", lambda: a.mean()),
    ("mean_keepdim", lambda: a.mean(1, keepdim=True)),
    ("max", lambda: a.max()),
    ("max_dim", lambda: a.max(1)),
    ("argmax", lambda: a.argmax(1)),
    ("softmax", lambda: torch.softmax(a, 1)),
    ("log_softmax", lambda: F.log_softmax(a, 1)),
    ("relu", lambda: F.relu(x)),
    ("gelu", lambda: F.gelu(x)),
    ("sigmoid", lambda: x.sigmoid()),
    ("exp", lambda: x.exp()),
    ("sqrt", lambda: x.sqrt()),
    ("eq", lambda: x.eq(y)),
    ("gt_scalar", lambda: x.gt(0)),
    ("where", lambda: torch.where(mask, a, b)),
    ("clamp", lambda: a.clamp(-1, 1)),
    ("masked_fill", lambda: a.masked_fill(mask, 0)),
    ("zeros", lambda: torch.zeros(2, 2)),
    ("ones", lambda: torch.ones(4)),
    ("zeros_like", lambda: torch.zeros_like(x)),
    ("arange", lambda: torch.arange(4)),
    ("randn", lambda: torch.randn(4)),
    ("select", lambda: a[0]),
    ("slice", lambda: a[0:4]),
    ("index", lambda: a[rows]),
    ("narrow", lambda: a.narrow(0, 1, 2)),
    ("item", lambda: y[0].item()),
    ("clone", lambda: x.clone()),
    ("detach", lambda: leaf.detach()),
    ("to_dtype", lambda: x.to(torch.float64)),
    ("index_select", lambda: a.index_select(0, rows)),
    ("gather", lambda: a.gather(1, column)),
    ("embedding", lambda: F.embedding(rows, words)),
    ("layer_norm", lambda: F.layer_norm(batch, (8,), bias, bias)),
    ("cross_entropy", lambda: F.cross_entropy(a, labels)),
    ("mse_loss", lambda: F.mse_loss(x, y)),
]


def nanoseconds(case, calls):
    if DEVICE != "cpu":
        torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(calls):
        case()
    return (time.perf_counter_ns() - start) / calls


def main():
    calls, repeats = int(sys.argv[1]), int(sys.argv[2])
    only = sys.argv[3] if len(sys.argv) > 3 else None
    torch.set_num_threads(1)
    for name, case in CASES:
        if only in (None, name):
            best = nanoseconds(case, calls // 4 + 1)
            best = min([best, *(nanoseconds(case, calls) for _ in range(repeats))])
            print(f"{name}\t{best:.1f}", flush=True)


if __name__ == "__main__":
    main()
