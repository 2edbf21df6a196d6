"""JPEG files of the size of photographs to normalised 224 × 224 float batches: the time for an image on one core,
without training.
"""

import os
import subprocess

from harness import sides
from harness.benchmark import OWN, BenchError, Benchmark, Goal, Metric
from harness.single import sampler

NAME = "jpeg"
PEER = "pillow"


def make_images(config):
    """Makes the images once for quick and once for full runs; removing the folder makes them again."""
    count = 16 if config.quick else 256
    folder = os.path.join(config.root, "build", "bench", f"jpeg-{count}")
    if os.path.exists(os.path.join(folder, "complete")):
        return folder
    command = [config.rtrain, "exec", os.path.join(sides.HERE, "jpeg_images.lua"), folder, str(count)]
    environment = {**os.environ, **sides.rtrain_environment(config)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"the images could not be made:\n{done.stderr[-2000:]}")
    with open(os.path.join(folder, "complete"), "w"):
        pass
    return folder


def build(config):
    arguments = [make_images(config), "quick" if config.quick else "full"]
    commands = {
        OWN: [config.rtrain, "exec", os.path.join(sides.HERE, "jpeg.lua"), *arguments],
        PEER: [config.torch_python, os.path.join(sides.PEERS, "jpeg.py"), *arguments],
    }
    return Benchmark(
        name=NAME,
        text="microseconds an image on one core, batches of 32 in random order, median of the epochs",
        metrics=[
            Metric("image", "µs", "500 × 375 pixels", places=0),
            Metric("large", "µs", "1600 × 1200 pixels", places=0),
            Metric("resized", "µs", "500 × 375 pixels, all of them decoded and T.Resize", places=0),
        ],
        goals=[Goal("image", 1 / 2, PEER), Goal("large", 1 / 2, PEER)],
        sides={side: sampler(config, side, command) for side, command in commands.items()},
        notes=[
            "rtrain: ImageFolder with {size = {224, 224}}, which decodes at 1/2, 1/4 or 1/8 where that is enough",
            "pillow: torchvision's ImageFolder, Resize, ToTensor and Normalize on PIL images, DataLoader without workers",
        ],
    )
