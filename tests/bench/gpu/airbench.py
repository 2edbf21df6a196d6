"""A 94 % network on CIFAR-10 in eager PyTorch, after https://arxiv.org/abs/2404.00498. Prints "name<TAB>number" lines:
the mean accuracy of all runs, and the median of their seconds, from images on the device to the accuracy.

Twin of ../../../examples/cifar_airbench.lua: change both. airbench.py FOLDER key=value … (the keys of that program)
"""

import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from cifar import read
from torch import nn

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
CONFIG = {
    "epochs": 9.9,
    "batch_size": 1024,
    "lr": 11.5,
    "momentum": 0.85,
    "weight_decay": 0.0153,
    "bias_scaler": 64,
    "width": 64,
    "runs": 1,
    "limit": 50000,
    "test_limit": 10000,
    "seed": 0,
}


def load_images(folder, is_train, limit, device, dtype):
    images, labels = (torch.from_numpy(array[:limit]).to(device) for array in read(folder, is_train))
    mean, std = (torch.tensor(values, device=device).view(-1, 1, 1) for values in (MEAN, STD))
    return ((images.float() / 255 - mean) / std).to(dtype), labels


def conv(inputs, outputs):
    layer = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    with torch.no_grad():
        nn.init.dirac_(layer.weight[: min(inputs, outputs)])
    return layer


def batch_norm(width):
    norm = nn.BatchNorm2d(width, eps=1e-12, momentum=0.4)
    norm.weight.requires_grad_(False)
    return norm


def block(inputs, outputs):
    return nn.Sequential(
        conv(inputs, outputs),
        nn.MaxPool2d(2),
        batch_norm(outputs),
        nn.GELU(),
        conv(outputs, outputs),
        batch_norm(outputs),
        nn.GELU(),
    )


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.whiten = nn.Conv2d(3, 24, 2)
        self.whiten.weight.requires_grad_(False)
        self.blocks = nn.Sequential(
            block(24, width), block(width, 4 * width), block(4 * width, 4 * width), nn.MaxPool2d(3)
        )
        self.head = nn.Linear(4 * width, 10, bias=False)

    def forward(self, x):
        return self.head(self.blocks(F.gelu(self.whiten(x))).flatten(1)) / 9


def whiten(net, images):
    patches = images.float().unfold(2, 2, 1).unfold(3, 2, 1).movedim(1, 3).reshape(-1, 12)
    values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
    filters = (vectors / torch.sqrt(values + 5e-4)).T.reshape(12, 3, 2, 2)
    with torch.no_grad():
        net.whiten.weight.copy_(torch.cat((filters, -filters)))


def make_optimizer(net, config):
    scale = 1024 * (1 + 1 / (1 - config["momentum"]))
    lr, decay = config["lr"] / scale, config["weight_decay"] * config["batch_size"] / scale
    named = [(name, param) for name, param in net.named_parameters() if param.requires_grad and name != "whiten.bias"]
    bias_lr = lr * config["bias_scaler"]
    groups = [
        {"params": [param for name, param in named if "bias" in name], "lr": bias_lr, "weight_decay": decay / bias_lr},
        {"params": [param for name, param in named if "bias" not in name], "lr": lr, "weight_decay": decay / lr},
        {"params": [net.whiten.bias], "lr": lr, "weight_decay": decay / lr},
    ]
    return torch.optim.SGD(groups, momentum=config["momentum"], nesterov=True, fused=True)


def triangle(step, steps):
    peak = math.floor(0.23 * steps)
    if step < peak:
        return 0.2 + 0.8 * step / peak
    return 1 - 0.93 * (step - peak) / max(1, steps - peak)


def look_ahead(slow, state, decay):
    for copy, value in zip(slow, state):
        value.copy_(copy.lerp_(value, 1 - decay))


def crop(images):
    """Moves each image by up to two pixels, as the batched crops of airbench do: one mask for each offset."""
    padded = F.pad(images, (2, 2, 2, 2), "reflect")
    shifts = torch.randint(0, 5, (len(images), 2), device=images.device)
    rows = torch.empty((len(images), images.shape[1], 32, 36), device=images.device, dtype=images.dtype)
    for shift in range(5):
        chosen = shifts[:, 0] == shift
        rows[chosen] = padded[chosen, :, shift : shift + 32]
    out = torch.empty_like(images)
    for shift in range(5):
        chosen = shifts[:, 1] == shift
        out[chosen] = rows[chosen, :, :, shift : shift + 32]
    return out


def augmented(images, epoch, first):
    mirrored = (first == epoch % 2).view(-1, 1, 1, 1)
    return crop(torch.where(mirrored, images.flip(3), images))


def evaluate(net, images, labels):
    def both(x):
        return net(x) + net(x.flip(3))

    correct = torch.zeros(1, device=labels.device)
    net.eval()
    with torch.no_grad():
        for start in range(0, len(images), 2000):
            x = images[start : start + 2000].contiguous(memory_format=torch.channels_last)
            padded = F.pad(x, (1, 1, 1, 1), "reflect")
            moved = both(padded[..., 0:32, 0:32]) + both(padded[..., 2:34, 2:34])
            correct += ((2 * both(x) + moved).argmax(1) == labels[start : start + 2000]).sum()
    return correct.item() / len(images)


def train_network(config, images, labels):
    net = Net(config["width"]).to(device=images.device, dtype=images.dtype, memory_format=torch.channels_last)
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.float()
    whiten(net, images[:5000])
    optimizer = make_optimizer(net, config)
    state = [value for value in net.state_dict().values() if value.is_floating_point()]
    slow = [value.clone() for value in state]
    rates = [group["lr"] for group in optimizer.param_groups]
    batch_size = config["batch_size"]
    in_epoch = len(images) // batch_size
    step, steps = 0, math.ceil(config["epochs"] * in_epoch)
    first = torch.rand(len(images), device=images.device) < 0.5
    for epoch in range(math.ceil(config["epochs"])):
        inputs, order = augmented(images, epoch, first), torch.randperm(len(images), device=images.device)
        net.train()
        for batch in range(min(in_epoch, steps - step)):
            rows = order[batch * batch_size : (batch + 1) * batch_size]
            x = inputs[rows].contiguous(memory_format=torch.channels_last)
            loss = F.cross_entropy(net(x), labels[rows], label_smoothing=0.2, reduction="sum")
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate * triangle(step, steps)
            if epoch >= 3:
                optimizer.param_groups[2]["lr"] = 0.0
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 5 == 0:
                look_ahead(slow, state, 0.95**5 * (step / steps) ** 3)
    look_ahead(slow, state, 1)
    return net


def main():
    torch.backends.cudnn.benchmark = True
    config = dict(CONFIG)
    for text in sys.argv[2:]:
        key, value = text.split("=")
        config[key] = type(config[key])(float(value))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.float16 if device == "cuda" else torch.float32
    images, labels = load_images(sys.argv[1], True, config["limit"], device, dtype)
    test_images, test_labels = load_images(sys.argv[1], False, config["test_limit"], device, dtype)
    accuracies, seconds = [], []
    for run in range(1, config["runs"] + 1):
        torch.manual_seed(config["seed"] + run)
        start = time.perf_counter()
        accuracies.append(evaluate(train_network(config, images, labels), test_images, test_labels))
        seconds.append(time.perf_counter() - start)
    print(f"error\t{100 * (1 - statistics.mean(accuracies)):.4f}\nseconds\t{statistics.median(seconds):.4f}")


if __name__ == "__main__":
    main()
