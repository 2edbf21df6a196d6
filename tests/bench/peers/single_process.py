"""One process, one thread: training steps, optimizer steps, memory over many steps. Prints "name<TAB>number" lines.

Twin of ../single_process.lua. Each optimizer is measured in all its forms, and the fastest counts.
"""

import statistics
import sys
import time

import torch
from torch import nn, optim
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)
QUICK = sys.argv[2] == "quick"


def mlp():
    return nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = torch.flatten(self.dropout1(F.max_pool2d(x, 2)), 1)
        return F.log_softmax(self.fc2(self.dropout2(F.relu(self.fc1(x)))), dim=1)


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += identity
        return self.relu(out)


def resnet18(num_classes):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    planes = 64
    for width, stride in [(64, 1), (128, 2), (256, 2), (512, 2)]:
        layers += [BasicBlock(planes, width, stride), BasicBlock(width, width, 1)]
        planes = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(1), nn.Linear(512, num_classes))


def milliseconds(step, count):
    for _ in range((count + 9) // 10):
        step()
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        step()
        times.append((time.perf_counter_ns() - start) * 1e-6)
    return statistics.median(times)


def training(model, optimizer, x, y):
    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def count_of(count):
    return 3 if QUICK else count


def steps():
    small, labels = torch.randn(8, 32), torch.randint(0, 10, (8,))
    images, digits = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
    colours, classes = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))
    net = mlp()
    yield "mlp_sgd", milliseconds(training(net, optim.SGD(net.parameters(), lr=1e-3), small, labels), count_of(4000))
    net = mlp()
    yield (
        "mlp_adamw",
        milliseconds(training(net, optim.AdamW(net.parameters(), lr=1e-3), small, labels), count_of(4000)),
    )
    net = ConvNet()
    yield "convnet", milliseconds(training(net, optim.Adadelta(net.parameters(), lr=1), images, digits), count_of(60))
    net = resnet18(10)
    sgd = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    yield "resnet18", milliseconds(training(net, sgd, colours, classes), count_of(30))


FORMS = {
    "AdamW": [{"fused": True}],
    "Adadelta": [{"foreach": False}, {"foreach": True}],
    "RMSprop": [{"foreach": False}, {"foreach": True}],
    "NAdam": [{"foreach": False}, {"foreach": True}],
    "SGD": [{"fused": True}, {"foreach": False}],
}


def optimizer_step(name, form):
    parameters = [nn.Parameter(torch.randn(64) if i % 2 == 0 else torch.randn(64, 64)) for i in range(1, 201)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    return milliseconds(getattr(optim, name)(parameters, lr=1e-3, **form).step, count_of(300))


def optimizers():
    for name, forms in FORMS.items():
        yield name, min(optimizer_step(name, form) for form in forms)


def resident_mib(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name + ":"))


def memory():
    net = ConvNet()
    step = training(net, optim.SGD(net.parameters(), lr=1e-3), torch.randn(4, 1, 28, 28), torch.randint(0, 10, (4,)))
    count = 20 if QUICK else 10_000
    at_tenth = 0.0
    for index in range(1, count + 1):
        step()
        if index == count // 10:
            at_tenth = resident_mib("VmRSS")
    yield "growth", resident_mib("VmRSS") / at_tenth
    yield "peak", resident_mib("VmHWM")


if __name__ == "__main__":
    for key, number in {"steps": steps, "optimizers": optimizers, "memory": memory}[sys.argv[1]]():
        print(f"{key}\t{number:.6f}", flush=True)
