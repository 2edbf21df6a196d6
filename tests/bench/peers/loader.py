"""Batches of Fashion-MNIST without training. Prints "name<TAB>number" lines. Twin of ../loader.lua: change both.

loader.py FOLDER quick|full dataloader|gather|pil
"""

import gzip
import os
import statistics
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
FOLDER, QUICK, CASE = sys.argv[1], sys.argv[2] == "quick", sys.argv[3]
BATCH = 128
MEAN, STD = 0.2860, 0.3530


def read_idx(name, header):
    path = os.path.join(FOLDER, name)
    with gzip.open(path + ".gz") if os.path.exists(path + ".gz") else open(path, "rb") as file:
        return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)


def load():
    images = read_idx("train-images-idx3-ubyte", 16).view(-1, 28, 28)
    labels = read_idx("train-labels-idx1-ubyte", 8).long()
    count = 1000 if QUICK else len(labels)
    return images[:count], labels[:count]


def normalised(images):
    return images.unsqueeze(1).float().div_(255).sub_(MEAN).div_(STD)


class Pictures(Dataset):
    def __init__(self, images, labels):
        from PIL import Image
        from torchvision import transforms

        self.pictures = [Image.fromarray(image.numpy()) for image in images]
        self.labels = labels.tolist()
        self.transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((MEAN,), (STD,))])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(self.pictures[index]), self.labels[index]


def epoch(batches):
    start, samples = time.perf_counter(), 0
    for _, labels in batches:
        samples += len(labels)
    return (time.perf_counter() - start) * 1e9 / samples


def best_loader(dataset, workers, count):
    """Returns the smallest median over the numbers of workers."""
    return min(statistics.median(epoch(loader) for _ in range(count)) for loader in map(loader_of(dataset), workers))


def loader_of(dataset):
    return lambda workers: DataLoader(dataset, BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0)


def first_batch(batches):
    def once():
        start = time.perf_counter()
        next(iter(batches()))
        return (time.perf_counter() - start) * 1e3

    return statistics.median(once() for _ in range(1 if QUICK else 9))


def main():
    images, labels = load()
    count = 1 if QUICK else 5
    if CASE == "gather":

        def batches():
            for batch in torch.randperm(len(labels)).split(BATCH):
                yield normalised(images.index_select(0, batch)), labels.index_select(0, batch)

        first, sample = first_batch(batches), statistics.median(epoch(batches()) for _ in range(count))
    else:
        if CASE == "dataloader":
            dataset, workers = TensorDataset(normalised(images), labels), (0, 1, 2)
        else:
            part = slice(None) if len(labels) < 12000 else slice(12000)
            dataset, workers, count = Pictures(images[part], labels[part]), (0, 2), min(count, 3)
        first = first_batch(lambda: loader_of(dataset)(0))
        sample = best_loader(dataset, workers, count)
    print(f"first_batch\t{first:.6f}\nsample\t{sample:.6f}")


if __name__ == "__main__":
    main()
