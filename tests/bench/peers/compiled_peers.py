"""One process, one thread: steps under torch.compile, or run eagerly. Prints "name<TAB>milliseconds" lines, and the seconds
of each step's first four calls. Twin of ../compiled_peers.lua: change both.

compiled_peers.py compile|eager quick|full
"""

import statistics
import sys
import time

import common
import torch
from torch import nn, optim
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)
COMPILES = sys.argv[1] == "compile"
ROUNDS = 3 if sys.argv[2] == "quick" else 20


def compiled(fn):
    return torch.compile(fn) if COMPILES else fn


class Transformer(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        layer = nn.TransformerEncoderLayer(192, 6, 768, dropout, "gelu", batch_first=True, norm_first=True)
        self.embed = nn.Embedding(100, 192)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(192, 100)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x))).reshape(-1, 100)


def training(model, optimizer, x, y):
    loss_of = compiled(lambda: F.cross_entropy(model(x), y))

    def run():
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()  # compiled it is slower here

    return run


def mlp():
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    return training(model, optim.SGD(model.parameters(), lr=1e-3), torch.randn(64, 784), torch.randint(0, 10, (64,)))


def convnet():
    model = nn.Sequential(common.convnet(), nn.LogSoftmax(1))
    return training(
        model, optim.Adadelta(model.parameters(), lr=1.0), torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
    )


def transformer(dropout):
    model = Transformer(dropout)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    return training(model, optimizer, torch.randint(0, 100, (8, 128)), torch.randint(0, 100, (8 * 128,)))


def alone(name):
    x, grad = torch.randn(1024, 768, requires_grad=True), torch.randn(1024, 768)
    residual, classes = torch.randn(1024, 768), torch.randint(0, 768, (1024,))
    weight, bias = torch.ones(768, requires_grad=True), torch.zeros(768, requires_grad=True)
    compute, leaves = {
        "gelu": (lambda: F.gelu(x, approximate="tanh"), [x]),
        "layer_norm": (lambda: F.layer_norm(x + residual, (768,), weight, bias), [x, weight, bias]),
        "rms_norm": (lambda: F.rms_norm(x + residual, (768,), weight), [x, weight]),
        "softmax": (lambda: F.softmax(x, -1), [x]),
        "cross_entropy": (lambda: F.cross_entropy(x, classes), [x]),
        "dropout": (lambda: F.dropout(x, 0.1) + residual, [x]),
    }[name]
    compute = compiled(compute)

    def run():
        y = compute()
        torch.autograd.grad(y, leaves, grad if y.dim() else None)

    return run


def report(name, step, count):
    began = time.perf_counter()
    for _ in range(4):
        step()
    first_s = time.perf_counter() - began
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(count):
            step()
        times.append((time.perf_counter() - began) * 1e3 / count)
    print(f"{name}\t{statistics.median(times)}\n{name}_first\t{first_s}", flush=True)


report("mlp", mlp(), 30)
report("convnet", convnet(), 1)
report("transformer", transformer(0.1), 1)
report("transformer_plain", transformer(0.0), 1)
for each in ("gelu", "layer_norm", "rms_norm", "softmax", "cross_entropy", "dropout"):
    report(each, alone(each), 10)
