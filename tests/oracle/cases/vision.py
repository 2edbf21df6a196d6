"""Image models: the logits of the models that the examples train, the names in their state_dict; grids and boxes."""

import torch
import torchvision.utils

from harness import T, code
from harness.lua_text import lua
from harness.vision import ConvNet, ResNet18, VisionTransformer, logits, resnet18_gray


def model(name, lua, make, x):
    text = f"local v, models = require 'harness.vision', require 'vision.models' return v.logits({lua}, x)"
    return code(name, text, logits(make), x=x, _={"tol": (0, 1e-5)})


def grid(x, **options):
    keywords = ", ".join(
        f"{name} = {lua(list(value) if isinstance(value, tuple) else value)}" for name, value in options.items()
    )
    return code(
        "make_grid",
        f"return require('vision.utils').make_grid(x, {{{keywords}}})",
        lambda x: torchvision.utils.make_grid(x, **options),
        x=x,
    )


def boxes(x, *rows, **options):
    keywords = ", ".join(
        f"{name} = {lua(list(value) if isinstance(value, tuple) else value)}" for name, value in options.items()
    )
    text = f"return require('vision.utils').draw_bounding_boxes(x, torch.tensor({lua(list(rows))}), {{{keywords}}})"
    return code(
        "draw_bounding_boxes",
        text,
        lambda x: torchvision.utils.draw_bounding_boxes(x, torch.tensor(rows), **options),
        x=x,
    )


BYTES = T(3, 20, 24, dtype="uint8", fill="index:256")

CASES = [
    grid(T(5, 3, 4, 6), nrow=3),
    grid(T(7, 1, 5, 4), nrow=4, padding=1, pad_value=0.5),
    grid(T(4, 3, 4, 4), normalize=True),
    grid(T(4, 3, 4, 4), normalize=True, scale_each=True, nrow=2, padding=0),
    grid(T(4, 2, 3, 3), normalize=True, value_range=(-0.5, 0.25)),
    grid(T(3, 5, 5), padding=3),
    grid(T(1, 5, 5)),
    grid(T(6, 7), normalize=True),
    grid(T(9, 3, 4, 4, dtype="uint8", fill="index:256"), pad_value=255),
    boxes(BYTES, [2, 3, 10, 12], [5, 1, 20, 18]),
    boxes(BYTES, [2, 3, 10, 12], [5, 1, 20, 18], colors=["red", "#1f8"], width=3),
    boxes(BYTES, [2, 3, 10, 12], [5, 1, 20, 18], colors=(10, 200, 30), fill=True, width=2),
    boxes(BYTES, [1, 1, 4, 5], [8, 8, 9, 9], [12, 3, 12, 15], colors="cornflowerblue", width=4, fill=True),
    boxes(BYTES, [-4, -3, 6, 8], [15, 15, 40, 35], [30, 2, 35, 8], colors="#102030", width=2),
    boxes(T(1, 12, 12, fill="unit"), [2.7, 3.2, 9.9, 8.1], colors="orange", fill=True),
    boxes(T(3, 12, 12, fill="unit", dtype="float64"), [0, 0, 11, 11]),
    model("resnet18", "models.resnet18{num_classes = 10}", lambda: ResNet18(10), T(2, 3, 64, 64)),
    model("resnet18_gray", "v.resnet18_gray()", lambda: resnet18_gray(10), T(3, 1, 28, 28)),
    model("convnet", "models.ConvNet()", ConvNet, T(3, 1, 28, 28)),
    model(
        "vision_transformer",
        "models.VisionTransformer(32, 4, 12, 8, 384, 768, {num_classes = 10})",
        lambda: VisionTransformer(32, 4, 12, 8, 384, 768, 10),
        T(2, 3, 32, 32),
    ),
]
