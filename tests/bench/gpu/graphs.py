"""Milliseconds of a training step with batch 64 or 128 on random images, operator by operator and as one CUDA graph, in one
process. Prints "name<TAB>number" lines. Twin of graphs.lua: change both. graphs.py STEPS REPEATS
"""

import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models import VisionTransformer

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STEPS, REPEATS = int(sys.argv[1]), int(sys.argv[2])
WARM_UP = 3


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3, 1), nn.Conv2d(32, 64, 3, 1)
        self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
        self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = torch.flatten(self.dropout1(F.max_pool2d(x, 2)), 1)
        return F.log_softmax(self.fc2(self.dropout2(F.relu(self.fc1(x)))), dim=1)


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def milliseconds(step, x, y):
    times = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        for _ in range(STEPS):
            step(x, y)
        wait()
        times.append((time.perf_counter() - start) * 1e3 / STEPS)
    return statistics.median(times[1:])


def step_of(model, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def graphed(step, x, y):
    """Captures as the documentation of torch.cuda.graph does, with copies into the static inputs."""
    if DEVICE == "cpu":
        return step
    static_x, static_y = x.clone(), y.clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            step(static_x, static_y)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(static_x, static_y)

    def replay(x, y):
        static_x.copy_(x)
        static_y.copy_(y)
        graph.replay()

    return replay


def vit():
    return VisionTransformer(
        image_size=32, patch_size=4, num_layers=12, num_heads=8, hidden_dim=384, mlp_dim=768, num_classes=10
    )


def main():
    capturable = DEVICE == "cuda"
    models = [
        (
            "convnet",
            128,
            (1, 28, 28),
            ConvNet,
            lambda params: torch.optim.Adadelta(params, lr=1.0, capturable=capturable),
        ),
        (
            "vit",
            64,
            (3, 32, 32),
            vit,
            lambda params: torch.optim.AdamW(params, lr=1e-3, weight_decay=1e-2, fused=True, capturable=capturable),
        ),
    ]
    torch.manual_seed(0)
    for name, batch, shape, make, optimizer in models:
        x, y = torch.randn(batch, *shape, device=DEVICE), torch.randint(0, 10, (batch,), device=DEVICE)
        for form in ("eager", "graph"):
            model = make().to(DEVICE)
            step = step_of(model, optimizer(model.parameters()))
            if form == "graph":
                step = graphed(step, x, y)
            print(f"{name}_{form}\t{milliseconds(step, x, y):.4f}", flush=True)


if __name__ == "__main__":
    main()
