"""Compares vision.transforms with torchvision's transforms of tensors: functions, classes, and the random numbers
drawn.
"""

import numpy
import PIL.Image
import torch
import torchvision.transforms as T_
import torchvision.transforms.functional as F_

from harness import T, code
from harness.lua_text import lua

LEVEL = {"tol": (0, 1)}  # the rounding of sums may change a byte by one level


def rgb(*shape):
    return T(*(shape or (3, 9, 7)), dtype="uint8", fill="index:256")


def gray():
    return T(1, 8, 8, dtype="uint8", fill="index:256")


def floats(*shape):
    return T(*(shape or (3, 9, 7)), fill="unit")


def image(make):
    """Returns a case's input by its name, 'rgb', 'gray' or 'floats', or from a function that creates it."""
    return {"rgb": rgb, "gray": gray, "floats": floats}.get(make, make)()


def python_value(value):
    """Converts an interpolation mode to Python's enumeration."""
    names = {mode.value: mode for mode in F_.InterpolationMode}
    return names.get(value, value) if isinstance(value, str) else value


def arguments(args, kwargs):
    texts = [lua(value) for value in args]
    if kwargs:
        texts.append("{" + ", ".join(f"{name} = {lua(value)}" for name, value in kwargs.items()) + "}")
    return ", ".join(texts)


def python_arguments(args, kwargs):
    kept = {k: v if k == "padding_mode" else python_value(v) for k, v in kwargs.items()}
    return [python_value(value) for value in args], kept


def function(name, *args, on=("rgb", "floats"), _=None, **kwargs):
    """Returns the cases of F.name(x, …) for each image."""
    positional, keywords = python_arguments(args, kwargs)
    text = f"return require('vision.transforms.functional').{name}({', '.join(filter(None, ['x', arguments(args, kwargs)]))})"
    return [
        code(name, text, lambda x: getattr(F_, name)(x, *positional, **keywords), _=_, x=image(make)) for make in on
    ]


CASES = [
    *function("get_dimensions"),
    *function("get_image_size"),
    *function("get_image_num_channels"),
    *function("normalize", [0.5, 0.25, 0.1], [0.5, 2.5, 0.3], on=("floats", lambda: floats(2, 3, 4, 5))),
    *function("normalize", [0.5], [0.25], on=("floats",)),
    *function("hflip"),
    *function("vflip"),
]
for dtype in ("float32", "uint8", "int16", "int32", "int64", "float64", "float16"):
    for source in (
        rgb(),
        floats(),
        T(3, 4, 5, dtype="float64", fill="unit"),
        T(3, 4, 5, dtype="int32", fill="order"),
        T(3, 4, 5, dtype="int64", fill="order"),
    ):
        if (source.dtype, dtype) not in (("float32", "int32"), ("float32", "int64"), ("float64", "int64")):
            CASES.append(
                code(
                    "convert_image_dtype",
                    f"return require('vision.transforms.functional').convert_image_dtype(x, '{dtype}')",
                    lambda x, dtype=dtype: F_.convert_image_dtype(x, getattr(torch, dtype)),
                    x=source,
                )
            )

for size, options in (
    ([5, 11], {}),
    (4, {}),
    ([4], {}),
    (12, {"max_size": 14}),
    ([5, 11], {"antialias": False}),
    ([3, 3], {"interpolation": "nearest"}),
    ([20, 4], {"interpolation": "nearest-exact"}),
    ([5, 11], {"interpolation": "bicubic"}),
    (5, {"interpolation": "bicubic", "antialias": False}),
):
    CASES += function("resize", size, on=("rgb", "gray"), _=LEVEL, **options)
    CASES += function("resize", size, on=("floats", lambda: floats(2, 3, 6, 5)), **options)

for padding in (2, [1, 2], [1, 2, 3, 0]):
    CASES += function("pad", padding)
    for mode in ("edge", "reflect", "symmetric"):
        CASES += function("pad", padding, 0, mode)
CASES += [
    *function("pad", 2, fill=7),
    *function("pad", [-1, 2, 1, -2]),
    *function("pad", [-1, -2], 0, "symmetric"),
    *function("crop", 1, 2, 4, 3),
    *function("crop", -2, -1, 5, 6),
    *function("crop", 6, 4, 5, 6),
    *function("crop", 40, 0, 5, 6),
    *function("center_crop", 4),
    *function("center_crop", [12, 3]),
    *function("center_crop", [12, 14]),
    *function("resized_crop", 1, 1, 6, 5, [8, 9], _=LEVEL, on=("rgb",)),
    *function("resized_crop", 1, 1, 6, 5, [8, 9], "bicubic", on=("floats",)),
    *function("five_crop", 3),
    *function("ten_crop", [3, 4]),
    *function("ten_crop", [3, 4], True, on=("rgb",)),
    *function("rgb_to_grayscale", on=("rgb", "floats", "gray")),
    *function("rgb_to_grayscale", 3),
    *function("adjust_gamma", 0.7),
    *function("adjust_gamma", 2, 1.5),
    *function("invert", on=("rgb", "gray", "floats")),
    *function("posterize", 0, on=("rgb",)),
    *function("posterize", 3, on=("rgb", "gray")),
    *function("posterize", 8, on=("rgb",)),
    *function("solarize", 100, on=("rgb",)),
    *function("solarize", 127.5, on=("gray",)),
    *function("solarize", 0.5, on=("floats",)),
    *function("autocontrast", on=("rgb", "floats", lambda: T(2, 1, 4, 4, dtype="uint8", fill="ones"))),
    *function(
        "equalize", on=("rgb", "gray", lambda: rgb(2, 3, 30, 40), lambda: T(1, 40, 40, dtype="uint8", fill="count"))
    ),
    *function("gaussian_blur", 3, on=("floats",)),
    *function("gaussian_blur", [5, 3], [0.5, 1.5], on=("floats",)),
    *function("gaussian_blur", 3, on=("rgb",), _=LEVEL),
    *function("gaussian_blur", 5, 2, on=("gray",), _=LEVEL),
    *function("rotate", 90),
    *function("rotate", 30),
    *function("rotate", -100.5, expand=True),
    *function("rotate", 30, "bilinear", on=("floats",)),
    *function("rotate", 30, "bilinear", on=("rgb",), _=LEVEL),
    *function("rotate", 20, center=[0, 2], fill=[9]),
    *function("rotate", 20, "bilinear", True, fill=[0.25, 0.5, 1], on=("floats",)),
    *function("affine", 15, [2, -1], 1.2, [10, 5]),
    *function("affine", 15, [0, 0], 0.5, 7, fill=[3]),
    *function("affine", -30, [1, 1], 1, [5], "bilinear", [0.5], [0, 0], on=("floats",)),
    *function("affine", -30, [1, 1], 1, [5], "bilinear", on=("rgb",), _=LEVEL),
    *function("perspective", [[0, 0], [6, 0], [6, 8], [0, 8]], [[1, 2], [5, 1], [6, 6], [0, 7]], on=("floats",)),
    *function(
        "perspective", [[0, 0], [6, 0], [6, 8], [0, 8]], [[1, 2], [5, 1], [6, 6], [0, 7]], "nearest", [5], on=("rgb",)
    ),
    code(
        "elastic_transform",
        "return require('vision.transforms.functional').elastic_transform(x, d, {fill = {0.5}})",
        lambda x, d: F_.elastic_transform(x, d, fill=[0.5]),
        x=floats(),
        d=T(1, 9, 7, 2, fill="signed_unit"),
    ),
    code(
        "erase",
        "return require('vision.transforms.functional').erase(x, 1, 2, 3, 4, v)",
        lambda x, v: F_.erase(x, 1, 2, 3, 4, v),
        x=floats(),
        v=T(3, 3, 4),
    ),
]
for factor in (0, 0.4, 1, 1.7, 2):
    CASES += function("adjust_brightness", factor, on=("rgb", "gray", "floats"))
    CASES += function("adjust_contrast", factor, on=("rgb", "gray"), _=LEVEL) + function(
        "adjust_contrast", factor, on=("floats",)
    )
    CASES += function("adjust_saturation", factor, on=("rgb", "gray", "floats"))
    CASES += function("adjust_sharpness", factor, on=("rgb", "gray"), _=LEVEL) + function(
        "adjust_sharpness", factor, on=("floats",)
    )
for factor in (-0.5, -0.1, 0, 0.25):
    CASES += function("adjust_hue", factor, on=("rgb", "gray"), _=LEVEL) + function(
        "adjust_hue", factor, on=("floats",)
    )


def texts(value):
    """Returns a Lua literal; a string that begins with = is Lua text."""
    return value[1:] if isinstance(value, str) and value.startswith("=") else lua(value)


def python_of(value):
    """Returns the Python value for texts(): a string =T.Name(…) is evaluated with T_."""
    if isinstance(value, (list, tuple)):
        return [python_of(item) for item in value]
    if isinstance(value, str) and value.startswith("="):
        return eval(value[1:].replace("{", "[").replace("}", "]"), {"T": T_})
    return python_value(value)


def made(name, *args, on=("rgb", "floats"), times=3, _=None, **kwargs):
    """Returns the cases of T.name(…): its text, and its results when it is applied `times` times in sequence to each
    image, with the same random numbers.
    """
    python = getattr(T_, name)(
        *map(python_of, args), **{k: v if k == "padding_mode" else python_of(v) for k, v in kwargs.items()}
    )
    keywords = [f"{k} = {texts(v)}" for k, v in kwargs.items()]
    given = ", ".join(
        [texts(a) if not isinstance(a, list) else "{" + ", ".join(map(texts, a)) + "}" for a in args]
        + (["{" + ", ".join(keywords) + "}"] if keywords else [])
    )
    text = (
        f"local T = require 'vision.transforms' local t = T.{name}({given}) local out = {{}} "
        f"for i = 1, {times} do out[i] = t(x) end return out, torch.rand(2)"
    )
    return [
        code(
            name,
            text,
            lambda x: ([python(x) for _ in range(times)], torch.rand(2)),
            _={"same": False, **(_ or {})},
            x=image(make),
        )
        for make in on
    ]


RGB, FLOATS = ("rgb",), ("floats",)
CASES += [
    *made("CenterCrop", [4, 3]),
    *made("Resize", [5, 4], on=FLOATS),
    *made("Resize", 12, max_size=14, on=RGB, _=LEVEL),
    *made("Pad", [1, 2], 3, "constant"),
    *made("Pad", 2, padding_mode="symmetric"),
    *made("Normalize", [0.5], [2], on=FLOATS),
    *made("RandomCrop", [5, 6]),
    *made("RandomCrop", 9, [2, 1], fill=3),
    *made("RandomCrop", 12, pad_if_needed=True),
    *made("RandomCrop", [9, 7]),
    *made("RandomCrop", 4, 1, padding_mode="reflect"),
    *made("RandomHorizontalFlip", times=6),
    *made("RandomVerticalFlip", 0.3, times=6),
    *made("RandomResizedCrop", 6, on=FLOATS, times=5),
    *made("RandomResizedCrop", [4, 8], [0.5, 1], [1, 3], "bicubic", on=FLOATS),
    *made("RandomResizedCrop", 6, scale=[0.9, 1], ratio=[4, 5], on=FLOATS),
    *made("RandomResizedCrop", 6, on=RGB, _=LEVEL),
    *made("FiveCrop", 4),
    *made("TenCrop", 4, True, on=RGB),
    *made("RandomRotation", 30),
    *made("RandomRotation", [10, 80], "bilinear", True, on=FLOATS),
    *made("RandomRotation", 30, center=[1, 2], fill=4, on=RGB),
    *made("RandomAffine", 10, [0.2, 0.3], [0.5, 1.5], 10),
    *made("RandomAffine", [5, 6], shear=[1, 2, 3, 20], on=FLOATS),
    *made("RandomAffine", 0, [0.5, 0], interpolation="bilinear", fill=0.5, center=[0, 0], on=FLOATS),
    *made("RandomPerspective", 0.6, 0.8, on=FLOATS),
    *made("RandomPerspective", 0.5, 1, "nearest", 7, on=RGB),
    *made("ColorJitter", 0.4, 0.4, 0.4, 0.1, on=FLOATS),
    *made("ColorJitter", 0.4, [0.5, 2], 0, 0, on=RGB, _=LEVEL),
    *made("ColorJitter", hue=[-0.2, 0.3], on=FLOATS),
    *made("Grayscale"),
    *made("Grayscale", 3, on=FLOATS),
    *made("RandomGrayscale", 0.5, times=6),
    *made("GaussianBlur", 3, on=FLOATS),
    *made("GaussianBlur", [3, 5], 1.5, on=FLOATS),
    *made("RandomErasing", 0.7, times=6),
    *made("RandomErasing", 1, [0.1, 0.5], [0.5, 2], "random", on=FLOATS),
    *made("RandomErasing", 1, value=[1, 0.5, 0.25], on=FLOATS),
    *made("RandomInvert", times=6),
    *made("RandomPosterize", 3, on=RGB, times=6),
    *made("RandomSolarize", 0.5, 0.7, on=FLOATS, times=6),
    *made("RandomAutocontrast", times=6),
    *made("RandomEqualize", on=RGB, times=6),
    *made("RandomAdjustSharpness", 2, on=FLOATS, times=6),
    *made("ElasticTransform", 50.0, 1.0, on=(lambda: floats(1, 30, 30),)),
    *made("RandomApply", ["=T.RandomCrop(4)", "=T.RandomInvert(0.5)"], 0.6, times=6),
    *made(
        "Compose",
        [
            "=T.RandomCrop(8, 2)",
            "=T.RandomHorizontalFlip()",
            "=T.RandomInvert()",
            "=T.Normalize({0.5}, {0.5})",
            "=T.RandomErasing()",
        ],
        on=FLOATS,
        times=6,
    ),
]
for name, args in (
    ("AutoAugment", ()),
    ("AutoAugment", ("=T.AutoAugmentPolicy.CIFAR10",)),
    ("AutoAugment", ("=T.AutoAugmentPolicy.SVHN", "bilinear", [9])),
    ("RandAugment", ()),
    ("RandAugment", (3, 20)),
    ("TrivialAugmentWide", ()),
    ("AugMix", ()),
    ("AugMix", (5, 2, 2, 0.5, False)),
):
    CASES += made(name, *args, on=(lambda: rgb(3, 40, 33),), times=12, _=LEVEL)
for name, args in (
    ("Compose", ["=T.ToTensor()", "=T.Normalize([0.5], [0.25])"]),
    ("RandomApply", ["=T.RandomHorizontalFlip(0.25)"]),
    ("RandomOrder", ["=T.ToTensor()"]),
    ("RandomChoice", ["=T.PILToTensor()"]),
):
    CASES += [
        code(
            f"print_{name}",
            f"local T = require 'vision.transforms' return tostring(T.{name}{{"
            + ", ".join(a[1:].replace("[", "{").replace("]", "}") for a in args)
            + "})",
            lambda name=name, args=args: repr(getattr(T_, name)(python_of(args))),
        )
    ]
PRINTED = [
    "Normalize([0.5, 0.25], [0.5, 0.25])",
    "Resize(32)",
    "Resize([32, 16], 'bicubic', antialias=False)",
    "CenterCrop(4)",
    "Pad(2)",
    "Pad([1, 2], padding_mode='edge')",
    "RandomCrop(32)",
    "RandomCrop(32, 4)",
    "RandomHorizontalFlip()",
    "RandomVerticalFlip(0.25)",
    "RandomResizedCrop(224)",
    "FiveCrop(4)",
    "TenCrop(4)",
    "ColorJitter(0.5, 0.25, 0, 0.1)",
    "RandomRotation(10)",
    "RandomRotation([5, 10], 'bilinear', center=[1, 2])",
    "RandomAffine(10)",
    "Grayscale()",
    "RandomGrayscale()",
    "RandomPerspective()",
    "RandomInvert()",
    "RandomPosterize(2)",
    "RandomSolarize(128)",
    "RandomAdjustSharpness(2)",
    "RandomAutocontrast()",
    "RandomEqualize(0.25)",
    "AutoAugment()",
    "RandAugment()",
    "TrivialAugmentWide()",
    "AugMix()",
    "ToTensor()",
    "PILToTensor()",
    "ConvertImageDtype('uint8')",
]


def listed(text):
    """torchvision prints lists and tuples as they were given; rtrain does not distinguish them."""
    return text.replace("[", "(").replace("]", ")")


def printed(text):
    name, given = text[:-1].split("(", 1)
    modes = {"'bicubic'": "T.InterpolationMode.BICUBIC", "'bilinear'": "T.InterpolationMode.BILINEAR"}
    python = text
    for mode, value in modes.items():
        python = python.replace(mode, value)
    plain = given.replace("[", "{").replace("]", "}").replace("False", "false")
    for word in ("antialias", "padding_mode", "center"):
        if f"{word}=" in plain:
            positional, value = plain.split(f", {word}=") if f", {word}=" in plain else ("", plain.split(f"{word}=")[1])
            plain = f"{positional}, {{{word} = {value}}}" if positional else f"{{{word} = {value}}}"
    return code(
        f"print_{name}",
        f"local T = require 'vision.transforms' local s = tostring(T.{name}({plain})) "
        "return (s:gsub('%[', '('):gsub('%]', ')'))",
        lambda: listed(repr(eval("T." + python, {"T": T_}))),
    )


CASES += [printed(text) for text in PRINTED]


def pil(x):
    """Returns the PIL image of an array (h, w) or (h, w, c)."""
    return PIL.Image.fromarray(x.numpy())


def tensor_of(value):
    return value if isinstance(value, torch.Tensor) else F_.pil_to_tensor(value)


def on_images(lua_list, python, times=4, _=None):
    """Returns the case of a pipeline on images as datasets give them; torchvision's pipeline runs on PIL images."""
    text = (
        f"local T = require 'vision.transforms' local t = T.Compose{{{lua_list}}} local out = {{}} "
        f"for i = 1, {times} do out[i] = t(x) end return out, torch.rand(2)"
    )
    return [
        code("image", text, lambda x: ([tensor_of(python(pil(x))) for _ in range(times)], torch.rand(2)), _=_, x=x)
        for x in (T(20, 16, 3, dtype="uint8", fill="index:256"), T(20, 16, dtype="uint8", fill="index:256"))
    ]


CASES += [
    *on_images("T.ToTensor()", T_.ToTensor(), 1),
    *on_images("T.PILToTensor()", T_.PILToTensor(), 1),
    *on_images(
        "T.RandomCrop(16, {padding = 4}), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(0.5, 0.25)",
        T_.Compose(
            [T_.RandomCrop(16, padding=4), T_.RandomHorizontalFlip(), T_.ToTensor(), T_.Normalize([0.5], [0.25])]
        ),
    ),
    *on_images(
        "T.RandomCrop(16, {padding = {1, 2, 3, 4}, fill = 99, padding_mode = 'constant'}), T.PILToTensor()",
        T_.Compose([T_.RandomCrop(16, [1, 2, 3, 4], fill=99), T_.PILToTensor()]),
    ),
    *on_images(
        "T.Pad({3, 2}, {padding_mode = 'reflect'}), T.RandomVerticalFlip(), T.CenterCrop(18), T.PILToTensor()",
        T_.Compose(
            [T_.Pad([3, 2], padding_mode="reflect"), T_.RandomVerticalFlip(), T_.CenterCrop(18), T_.PILToTensor()]
        ),
    ),
    *on_images("T.Resize(12), T.PILToTensor()", T_.Compose([T_.Resize(12), T_.PILToTensor()]), 1, LEVEL),
    *on_images(
        "T.RandomResizedCrop(10), T.RandomHorizontalFlip(), T.PILToTensor()",
        T_.Compose([T_.RandomResizedCrop(10), T_.RandomHorizontalFlip(), T_.PILToTensor()]),
        4,
        LEVEL,
    ),
    *on_images(
        "T.RandomInvert(), T.RandomPosterize(3), T.RandomSolarize(128), T.PILToTensor()",
        T_.Compose([T_.RandomInvert(), T_.RandomPosterize(3), T_.RandomSolarize(128), T_.PILToTensor()]),
        8,
    ),
    *on_images(
        "T.ColorJitter(0.4, 0.4, 0.4), T.PILToTensor()",
        T_.Compose([T_.ColorJitter(0.4, 0.4, 0.4), T_.PILToTensor()]),
        8,
        {"tol": (0, 3)},
    ),
    code(
        "to_pil_image",
        "return require('vision.transforms.functional').to_pil_image(x)",
        lambda x: torch.from_numpy(numpy.array(F_.to_pil_image(x))),
        x=floats(3, 4, 5),
    ),
]
