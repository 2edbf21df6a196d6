"""The Python original of super_resolution.lua."""

import argparse
import math
import os

import torch
import torch.nn.functional as F
import torchvision.io
import torchvision.transforms.functional as T
import torchvision.utils
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
for key, value in {
    "upscale_factor": 2,
    "batch_size": 4,
    "test_batch_size": 4,
    "n_epochs": 3,
    "lr": 0.003,
    "seed": 123,
    "images": 24,
    "size": 24,
}.items():
    parser.add_argument(f"--{key}", type=type(value), default=value)
opt = parser.parse_args()


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 16, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(16, 8, (3, 3), (1, 1), (1, 1))
        self.conv4 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        for conv in (self.conv1, self.conv2, self.conv3):
            nn.init.orthogonal_(conv.weight, nn.init.calculate_gain("relu"))
        nn.init.orthogonal_(self.conv4.weight)

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))


def draw(size):
    y = torch.arange(size).view(size, 1).float().expand(size, size)
    x = y.t()
    cx, cy, r, shade, bar = torch.rand(5).tolist()
    disc = ((x - cx * size) ** 2 + (y - cy * size) ** 2).sqrt() < (0.1 + 0.3 * r) * size
    stripes = torch.sin(x * (0.3 + bar)) * 0.2 + 0.4
    return torch.where(disc, torch.full_like(x, shade), stripes).clamp(0, 1).unsqueeze(0)


class Images(Dataset):
    def __init__(self, count):
        self.images = [draw(opt.size) for _ in range(count)]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        target = self.images[i]
        return T.resize(target, [opt.size // opt.upscale_factor, opt.size // opt.upscale_factor]), target


torch.manual_seed(opt.seed)
train_set, test_set = Images(opt.images), Images(8)
model = Net(opt.upscale_factor)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr, fused=True)


def train(epoch):
    total, loader = 0, DataLoader(train_set, batch_size=opt.batch_size, shuffle=True)
    for iteration, (input, target) in enumerate(loader, 1):
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        total += loss.item()
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch}({iteration}/{len(loader)}): loss {loss.item():.6f}")
    print(f"epoch {epoch} complete: avg. loss {total / len(loader):.6f}")


@torch.no_grad()
def test():
    total, loader = 0, DataLoader(test_set, batch_size=opt.test_batch_size)
    for input, target in loader:
        mse = criterion(model(input), target)
        total += 10 * math.log10(1 / mse.item())
    print(f"avg. PSNR {total / len(loader):.5f} dB")


for epoch in range(1, opt.n_epochs + 1):
    train(epoch)
    test()

with torch.no_grad():
    input = test_set[0][0]
    torchvision.utils.save_image(F.interpolate(input.unsqueeze(0), scale_factor=opt.upscale_factor), "nearest.png")
    torchvision.utils.save_image(model(input.unsqueeze(0)), "out.png")
for name in ["nearest.png", "out.png"]:
    image = torchvision.io.read_image(name)
    print(f"{name} {image.size(1)} x {image.size(2)}, mean {image.float().mean().item():.3f}")
    os.remove(name)
