"""CIFAR-10's binary batches for the Python programs; as a program it creates them:

cifar.py TARGET [SOURCE]: from the Parquet files in SOURCE; without SOURCE from random numbers, only for timings.
"""

import glob
import io
import os
import sys

import numpy
from torch.utils.data import Dataset

TRAIN = [f"data_batch_{index}.bin" for index in range(1, 6)]
TEST = ["test_batch.bin"]
IMAGES, BYTES = 10_000, 3 * 32 * 32


def read(folder, is_train):
    """Returns images uint8 (n, 3, 32, 32) and labels int64 (n)."""
    files = [os.path.join(folder, name) for name in (TRAIN if is_train else TEST)]
    rows = numpy.concatenate([numpy.fromfile(file, numpy.uint8).reshape(-1, 1 + BYTES) for file in files])
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].astype(numpy.int64)


class Cifar10(Dataset):
    """Returns the items of torchvision.datasets.CIFAR10: a transformed PIL image and a label."""

    def __init__(self, folder, is_train, transform):
        images, self.targets = read(folder, is_train)
        self.data = numpy.ascontiguousarray(images.transpose(0, 2, 3, 1))
        self.targets = self.targets.tolist()
        self.transform = transform

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        from PIL import Image

        return self.transform(Image.fromarray(self.data[index])), self.targets[index]


def _decoded(source, split):
    import pyarrow.parquet
    from PIL import Image

    for file in sorted(glob.glob(os.path.join(source, f"{split}-*.parquet"))):
        table = pyarrow.parquet.read_table(file)
        for image, label in zip(table["image"].combine_chunks().field("bytes").to_pylist(), table["label"].to_pylist()):
            pixels = numpy.asarray(Image.open(io.BytesIO(image)).convert("RGB")).transpose(2, 0, 1)
            yield bytes([label]) + pixels.tobytes()


def _random(count):
    generator = numpy.random.default_rng(1)
    for _ in range(count):
        yield bytes([generator.integers(10)]) + generator.bytes(BYTES)


def _write(target, names, rows):
    for name in names:
        with open(os.path.join(target, name), "wb") as file:
            for _ in range(IMAGES):
                file.write(next(rows))


def main():
    target, source = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    os.makedirs(target, exist_ok=True)
    for split, names in (("train", TRAIN), ("test", TEST)):
        _write(target, names, _decoded(source, split) if source else _random(len(names) * IMAGES))


if __name__ == "__main__":
    main()
