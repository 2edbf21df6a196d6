"""JPEG files to normalised float batches with Pillow, torchvision and DataLoader. Prints "name<TAB>number" lines. Twin
of ../jpeg.lua: change both.

jpeg.py FOLDER quick|full
"""

import os
import statistics
import sys
import time

import torch
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

torch.set_num_threads(1)
torch.manual_seed(0)
FOLDER, QUICK = sys.argv[1], sys.argv[2] == "quick"
SIZE, BATCH = (224, 224), 32


def dataset(part):
    normalise = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    transform = transforms.Compose([transforms.Resize(SIZE), transforms.ToTensor(), normalise])
    return ImageFolder(os.path.join(FOLDER, part), transform)


def epoch(batches):
    start, samples = time.perf_counter(), 0
    for _, labels in batches:
        samples += len(labels)
    return (time.perf_counter() - start) * 1e6 / samples


def print_number(name, part):
    loader = DataLoader(dataset(part), BATCH, shuffle=True)
    print(f"{name}\t{statistics.median(epoch(loader) for _ in range(1 if QUICK else 5)):.6f}")


if __name__ == "__main__":
    print_number("image", "small")
    print_number("large", "large")
