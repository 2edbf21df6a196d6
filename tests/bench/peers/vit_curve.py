"""The loss at each of the first steps of the VisionTransformer of examples/cifar_vit.lua, batch 64, on CIFAR-10's Parquet
files, and the median seconds of a step. Prints "name<TAB>number" lines.

Twin of ../vit_curve.lua: torchvision's model, PyTorch's DataLoader, pyarrow and Pillow. vit_curve.py STEPS fused|default

fused: AdamW is the kernel that rtrain always takes. default: the form that Python takes by itself, whose numbers are rounded
elsewhere.
"""

import glob
import io
import os
import statistics
import sys
import time

import numpy
import pyarrow.parquet
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.models import VisionTransformer
from torchvision.transforms import Compose, Normalize, ToTensor


class Cifar10(Dataset):
    def __init__(self, folder, transform):
        files = sorted(glob.glob(os.path.join(folder, "train-*.parquet")))
        table = pyarrow.concat_tables([pyarrow.parquet.read_table(file) for file in files])
        rows = table["image"].combine_chunks().field("bytes").to_pylist()
        self.images = [numpy.array(Image.open(io.BytesIO(row)).convert("RGB")) for row in rows]
        self.labels = table["label"].to_pylist()
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(self.images[index]), self.labels[index]


def main():
    torch.manual_seed(0)
    model = VisionTransformer(32, 4, 12, 8, 384, 768, num_classes=10)
    loss_fn = torch.nn.CrossEntropyLoss()
    fused = True if sys.argv[2] == "fused" else None
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2, fused=fused)
    transform = Compose([ToTensor(), Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])
    training_data = Cifar10(os.path.join(os.environ["RTRAIN_DATA"], "cifar10"), transform)
    loader = DataLoader(training_data, batch_size=64, shuffle=True)
    torch.manual_seed(1)  # for the order of the images
    times, start = [], time.perf_counter()
    for index, (x, y) in enumerate(loader):
        if index == int(sys.argv[1]):
            break
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss_{index:02d}\t{loss.item():.9g}", flush=True)
        times.append(time.perf_counter() - start)
        start = time.perf_counter()
    print(f"step\t{statistics.median(times):.6f}")


if __name__ == "__main__":
    main()
